"""Figure of the report: scores along a chromosome, true sites marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqmtl.evaluation.figures import PALETTE, figure_style, new_figure, plain_text
from seqmtl.report.contents import GenomeScan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_POINTS = 20_000
_N_STRETCHES = 4_000
_ZOOM = 16


def draw_track(scan: GenomeScan) -> Figure:
    """Draw the scores along the chromosome, and below them its stretch richest in true sites."""
    sites = np.asarray(scan.site_positions, dtype=np.int64)
    start, end = richest_stretch(sites, scan.length_bp)
    unit, unit_name = (1e6, "Mb") if scan.length_bp >= 5_000_000 else (1e3, "kb")
    with figure_style():
        figure = new_figure(11.0, 5.4)
        whole, zoom = figure.subplots(2, 1)
        _draw_panel(whole, scan, 0, scan.length_bp, unit)
        _draw_panel(zoom, scan, start, end, unit)
        whole.axvspan(start / unit, end / unit, color="#fff0c2", zorder=0, linewidth=0)
        zoom.set_facecolor("#fffaf0")
        zoom.set_xlabel(f"Position on {plain_text(scan.contig)} ({unit_name})")
        handles, labels = whole.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=6, frameon=False)
    return figure


def _draw_panel(axes: Axes, scan: GenomeScan, start: int, end: int, unit: float) -> None:
    """Draw candidates, true sites and threshold between two positions, in units of `unit` bases."""
    positions = np.asarray(scan.positions, dtype=np.int64)
    strands = np.asarray(scan.strands, dtype=np.int64)
    scores = np.asarray(scan.scores, dtype=np.float64)
    sites = np.asarray(scan.site_positions, dtype=np.int64)
    is_site = np.isin(_keys(positions, strands), _keys(sites, np.asarray(scan.site_strands)))
    is_called = scores >= scan.threshold
    looks = (
        ("other candidate", ~is_site & ~is_called, "#bdbdbd", 8.0),
        ("other candidate, called", ~is_site & is_called, "#555555", 12.0),
        ("true site, called", is_site & is_called, PALETTE[0], 20.0),
        ("true site, missed", is_site & ~is_called, PALETTE[1], 20.0),
    )
    inside = (positions >= start) & (positions < end)
    for label, chosen, color, size in looks:
        rows = _highest(positions, scores, np.flatnonzero(chosen & inside))
        _draw_points(axes, positions[rows] / unit, scores[rows], strands[rows], color, size)
        axes.scatter([], [], s=22, color=color, marker="^", linewidths=0, label=label)
    axes.axhline(scan.threshold, color="#333333", linewidth=0.9, linestyle="--", label="threshold")
    shown = sites[(sites >= start) & (sites < end)]
    axes.plot(
        shown / unit,
        np.full(shown.size, 1.03),
        color="#333333",
        linestyle="",
        marker="|",
        markersize=6,
        markeredgewidth=0.7,
        transform=axes.get_xaxis_transform(),
        clip_on=False,
        label="all true sites",
    )
    axes.set(xlim=(start / unit, end / unit), ylabel="Score")


def richest_stretch(sites: NDArray[np.int64], length_bp: int) -> tuple[int, int]:
    """Return the sixteenth of the contig that holds most sites, as a half-open interval."""
    size = max(length_bp // _ZOOM, 1)
    if sites.size == 0:
        return 0, size
    ordered = np.sort(sites)
    held = np.searchsorted(ordered, ordered + size) - np.arange(ordered.size)
    first = int(np.argmax(held))
    middle = (ordered[first] + ordered[first + held[first] - 1]) // 2
    start = int(np.clip(middle - size // 2, 0, length_bp - size))
    return start, start + size


def _keys(positions: NDArray[np.int64], strands: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one number for each position and strand."""
    return np.asarray(2 * positions + (strands < 0))


def _highest(
    positions: NDArray[np.int64], scores: NDArray[np.float64], rows: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return `rows`, or where they are too many to draw the highest score of each short stretch."""
    if rows.size <= _MOST_POINTS:
        return rows
    start, end = int(positions[rows].min()), int(positions[rows].max()) + 1
    stretch = (positions[rows] - start) * _N_STRETCHES // (end - start)
    order = np.lexsort((scores[rows], stretch))
    is_last = np.append(np.diff(stretch[order]) != 0, True)
    return np.asarray(rows[order[is_last]])


def _draw_points(
    axes: Axes,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    strands: NDArray[np.int64],
    color: str,
    size: float,
) -> None:
    """Draw candidates as triangles that point up on the plus strand and down on the minus."""
    for marker, rows in (("^", strands > 0), ("v", strands < 0)):
        axes.scatter(
            x[rows], y[rows], s=size, color=color, marker=marker, linewidths=0, rasterized=True
        )
