"""Plot the scores of a model along a held-out stretch of a chromosome, with the true sites."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqmtl.evaluation.figures import PALETTE, figure_style, new_figure, plain_text
from seqmtl.io.dataset_regions import SplitGenome, read_split_genome
from seqmtl.models.model import MultiTaskModel
from seqmtl.sequences.sites import Sites

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LONGEST = 2_000_000
_MOST_POINTS = 20_000
_N_STRETCHES = 4_000
_ZOOM = 16


@dataclass(frozen=True, eq=False)
class Track:
    """Scored candidates of the test regions in a stretch of a contig.

    Attributes
    ----------
    organism, contig : str
        Organism and contig.
    start, end : int
        Bounds of the stretch, 0-based half-open.
    regions : ndarray of int64, shape (m, 2)
        Test regions in the stretch; only these are scored.
    positions : ndarray of int64, shape (n,)
        First base of each candidate on the forward strand.
    is_reverse : ndarray of bool, shape (n,)
        Whether a candidate is on the minus strand.
    scores : ndarray of float64, shape (n,)
        Scores of the candidates.
    is_site : ndarray of bool, shape (n,)
        Whether a candidate is a true site; all others are false.
    """

    organism: str
    contig: str
    start: int
    end: int
    regions: NDArray[np.int64]
    positions: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]
    scores: NDArray[np.float64]
    is_site: NDArray[np.bool_]

    def counts(self, threshold: float) -> tuple[int, int]:
        """Return the number of candidates called at a threshold, and of true sites among them."""
        is_called = self.scores >= threshold
        return int(is_called.sum()), int((is_called & self.is_site).sum())


def score_track(
    model: MultiTaskModel, dataset: str | os.PathLike[str], organism: str
) -> Track | None:
    """Score the test regions of the contig with the most true sites in them.

    On a contig of more than two million bases, the stretch of that length with the most true sites
    is used.

    Parameters
    ----------
    model : MultiTaskModel
        Trained model.
    dataset : path-like
        Folder written by ``seqmtl dataset``.
    organism : str
        Organism of the dataset and the model.

    Returns
    -------
    Track or None
        None if there is no true site in the test regions.

    Raises
    ------
    InputFormatError, SeqmtlError
        As in :func:`seqmtl.scan.held_out.score_held_out`.
    """
    held = read_split_genome(dataset, organism, "test")
    genome = held.genome
    sites = _tested(held)
    if not sites.size:
        return None
    contigs = genome.contigs.contig_of(sites)
    contig = int(np.argmax(np.bincount(contigs, minlength=len(genome))))
    first, length = int(genome.starts[contig]), int(genome.lengths[contig])
    start, end = richest_stretch(sites[contigs == contig] - first, length, min(length, _LONGEST))
    regions = np.clip(held.regions, first + start, first + end)
    regions = regions[regions[:, 0] < regions[:, 1]]
    from seqmtl.scan.held_out import candidate_finder, find_candidates  # loads compiled loops

    finder = candidate_finder(model, dataset, organism)
    found = Sites.join(find_candidates(finder, replace(held, regions=regions)))
    # annotated sites excluded from the dataset are neither true nor false
    found = found.take((found["labels"] != 0) & found["is_clean"])
    return Track(
        organism, genome.names[contig], start, end, regions - first, found.starts - first,
        found.is_reverse, found["scores"].astype(np.float64), found["labels"] > 0,
    )  # fmt: skip


def _tested(held: SplitGenome) -> NDArray[np.int64]:
    """Return the true sites inside the regions."""
    sites = held.sites[held.is_true]
    region = np.searchsorted(held.regions[:, 0], sites, side="right") - 1
    return sites[(region >= 0) & (sites < held.regions[region, 1])]


def draw_track(track: Track, threshold: float) -> Figure:
    """Plot the scores along the stretch, and below them its part richest in true sites."""
    sites = track.positions[track.is_site]
    length = track.end - track.start
    start, end = richest_stretch(sites - track.start, length, max(length // _ZOOM, 1))
    unit, unit_name = (1e6, "Mb") if length >= 5_000_000 else (1e3, "kb")
    with figure_style():
        figure = new_figure(11.0, 5.4)
        whole, zoom = figure.subplots(2, 1)
        _draw_panel(whole, track, threshold, (track.start, track.end), unit)
        _draw_panel(zoom, track, threshold, (track.start + start, track.start + end), unit)
        yellow = ((track.start + start) / unit, (track.start + end) / unit)
        whole.axvspan(*yellow, color="#fff0c2", zorder=0, linewidth=0)
        zoom.set_facecolor("#fffaf0")
        zoom.set_xlabel(f"Position on {plain_text(track.contig)} ({unit_name})")
        handles, labels = whole.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=6, frameon=False)
    return figure


def _draw_panel(
    axes: Axes, track: Track, threshold: float, stretch: tuple[int, int], unit: float
) -> None:
    """Draw candidates, true sites and threshold of a stretch, in units of `unit` bases."""
    start, end = stretch
    is_called = track.scores >= threshold
    looks = (
        ("other candidate", ~track.is_site & ~is_called, "#bdbdbd", 8.0),
        ("other candidate, called", ~track.is_site & is_called, "#555555", 12.0),
        ("true site, called", track.is_site & is_called, PALETTE[0], 20.0),
        ("true site, missed", track.is_site & ~is_called, PALETTE[1], 20.0),
    )
    inside = (track.positions >= start) & (track.positions < end)
    for label, chosen, color, size in looks:
        rows = _highest(track.positions, track.scores, np.flatnonzero(chosen & inside))
        for marker, strand in (("^", False), ("v", True)):
            own = rows[track.is_reverse[rows] == strand]
            axes.scatter(
                track.positions[own] / unit, track.scores[own], s=size, color=color,
                marker=marker, linewidths=0, rasterized=True,
            )  # fmt: skip
        axes.scatter([], [], s=22, color=color, marker="^", linewidths=0, label=label)
    axes.axhline(threshold, color="#333333", linewidth=0.9, linestyle="--", label="threshold")
    shown = track.positions[track.is_site & inside]
    axes.plot(
        shown / unit, np.full(shown.size, 1.03), color="#333333", linestyle="", marker="|",
        markersize=6, markeredgewidth=0.7, transform=axes.get_xaxis_transform(), clip_on=False,
        label="all true sites",
    )  # fmt: skip
    for a, b in _gaps(track.regions.tolist(), start, end):
        axes.axvspan(a / unit, b / unit, color="#eeeeee", zorder=0.5, linewidth=0)
    axes.set(xlim=(start / unit, end / unit), ylabel="Score")


def _gaps(regions: Sequence[Sequence[int]], start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of a stretch that are outside all regions."""
    edges = [start, *(edge for region in regions for edge in region), end]
    edges = [min(max(edge, start), end) for edge in edges]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def richest_stretch(sites: NDArray[np.int64], length: int, size: int) -> tuple[int, int]:
    """Return the stretch of `size` bases of a contig with the most sites, half-open."""
    if sites.size == 0:
        return 0, size
    ordered = np.sort(sites)
    held = np.searchsorted(ordered, ordered + size) - np.arange(ordered.size)
    first = int(np.argmax(held))
    middle = (ordered[first] + ordered[first + held[first] - 1]) // 2
    start = int(np.clip(middle - size // 2, 0, length - size))
    return start, start + size


def _highest(
    positions: NDArray[np.int64], scores: NDArray[np.float64], rows: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return `rows` or, if they are too many to draw, the highest score per short stretch."""
    if rows.size <= _MOST_POINTS:
        return rows
    start, end = int(positions[rows].min()), int(positions[rows].max()) + 1
    stretch = (positions[rows] - start) * _N_STRETCHES // (end - start)
    order = np.lexsort((scores[rows], stretch))
    is_last = np.append(np.diff(stretch[order]) != 0, True)
    return np.asarray(rows[order[is_last]])
