"""Figures that explain a model; positions are relative to the first base of the site."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._style import (
    DIVERGING,
    GREY,
    LETTER_COLOURS,
    PALETTE,
    SEQUENTIAL,
    SHADE,
    WIDTH,
    figure_style,
    new_figure,
    title_text,
)
from seqmtl.explanation.kmers import CountedKmer
from seqmtl.explanation.poim import Poim
from seqmtl.linear_model.site import Site

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLANK = 20  # bases to either side of the site
_MAX_FLANK, _MIN_TALL = 40, 0.3  # bases, for stacks that are as tall as this share of the tallest
_FLAT = 0.04  # of the tallest stack: what is lower at the ends is cut off
_BARS = 20  # k-mers of positive and of negative weights
_X_LABEL = "Position relative to the site (bases; 0: its first base)"
_EFFECT = "Change of the score"


def draw_poim(poim: Poim) -> Figure:
    """Draw a POIM: the largest effect of an oligomer by length and position, and of each letter.

    Top: max over z of abs(Q_{k,j}(z)) for k = 1..K from bottom to top, at the first base of the
    oligomer, as in Sonnenburg et al. (2008). Bottom: Q_{1,j} of the four letters.
    """
    with figure_style():
        figure = new_figure(WIDTH, 3.1 + 0.2 * poim.max_order)
        heat, lines = figure.subplots(
            2, 1, sharex=True, height_ratios=(0.6 + 0.2 * poim.max_order, 1.7)
        )
        limits = float(poim.positions[0]) - 0.5, float(poim.positions[-1]) + 0.5
        image = heat.imshow(
            poim.importance(),
            cmap=SEQUENTIAL,
            aspect="auto",
            origin="lower",
            vmin=0,
            interpolation="none",
            extent=(*limits, 0.5, poim.max_order + 0.5),
        )
        heat.set(ylabel="k-mer length", title=title_text(f"{poim.label}: importance of k-mers"))
        heat.set_yticks(range(1, poim.max_order + 1))
        bar = figure.colorbar(image, ax=heat, pad=0.01, aspect=12)
        bar.set_label("Largest\nchange", fontsize="small")
        bar.outline.set_visible(False)
        _mark_site(lines, poim.site)
        lines.axhline(0, color=GREY, linewidth=0.6)
        for code, letter in enumerate("ACGT"):
            q = poim.Q[0][:, code]
            lines.plot(poim.positions, q, color=LETTER_COLOURS[code], label=letter)
        lines.set(ylabel=_EFFECT, xlabel=_X_LABEL, title="Single bases", xlim=limits)
        lines.legend(
            loc="lower right", bbox_to_anchor=(1, 0.98), ncols=4, handlelength=1, borderpad=0
        )
        lines.grid()
        _ticks(lines)
    return figure


def draw_logo(*poims: Poim) -> Figure:
    """Draw Q_{1,j} as sequence logos, one row for each POIM, on the same scales.

    A row is from 20 bases before the site to 20 after it, or as far as stacks nearly as tall as the
    tallest are. Ends in which all stacks are low are cut off.
    """
    heights = [poim.Q[0] for poim in poims]
    begin, end = visible_range(np.abs(np.stack(heights)).sum(axis=2).max(axis=0), poims[0].site)
    positions = poims[0].positions[begin:end]
    limits = extent(np.concatenate([q[begin:end] for q in heights]))
    with figure_style():
        figure = new_figure(WIDTH, 0.75 + 1.2 * len(poims))
        rows = figure.subplots(len(poims), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
        for axes, poim in zip(rows, poims, strict=True):
            _logo_panel(axes, poim.Q[0][begin:end], positions, poim.site)
            axes.set(xlim=(positions[0] - 0.6, positions[-1] + 0.6), ylim=limits)
            axes.set_title(title_text(poim.label), pad=3)
        rows[-1].set_xlabel(_X_LABEL)
        _ticks(rows[-1])
        figure.supylabel(_EFFECT, fontsize="medium")
    return figure


def visible_range(stacks: NDArray[np.float64], site: Site) -> tuple[int, int]:
    """Return the first position of a window to show, and the first after those.

    Parameters
    ----------
    stacks : ndarray of float64, shape (L,)
        How much there is to see at every position of the window.
    site : Site
        Position of the signal; always in the range.
    """
    stacks = stacks / (stacks.max() or 1.0)
    after = site.offset + site.length
    tall = np.flatnonzero(stacks >= _MIN_TALL)
    tall = tall[(tall >= site.offset - _MAX_FLANK) & (tall < after + _MAX_FLANK)]
    first = min([site.offset - _FLANK, *(tall - 2)])
    last = max([site.offset + _FLANK, after - 1, *(tall + 2)])
    high = np.flatnonzero(stacks >= _FLAT)
    first = max(first, min([site.offset - 3, *(high - 1)]), 0)
    last = min(last, max([after + 2, *(high + 1)]), stacks.size - 1)
    return int(first), int(last) + 1


def draw_contributions(
    letters: NDArray[np.uint8],
    parts: NDArray[np.float64],
    changes: NDArray[np.float64],
    titles: Sequence[str],
    site: Site,
) -> Figure:
    """Draw contributions and mutagenesis of windows, one below the other.

    Bases are chosen as in :func:`draw_logo`; without a site, all of the longest window are drawn.

    Parameters
    ----------
    letters : ndarray of uint8, shape (n, L)
        Codes of the windows, in reading direction.
    parts : ndarray of float64, shape (n, L)
        From :func:`~seqmtl.explanation.contributions`.
    changes : ndarray of float64, shape (n, L, 4)
        From :func:`~seqmtl.explanation.mutagenesis`.
    titles : sequence of str, length n
        Title of each window.
    site : Site
        Position of the signal.
    """
    begin, end = 0, 1 + int(np.flatnonzero((letters < 4).any(axis=0)).max(initial=0))
    if site.length:
        begin, end = visible_range(np.abs(parts).max(axis=0, initial=0.0), site)
    letters, parts, changes = letters[:, begin:end], parts[:, begin:end], changes[:, begin:end]
    positions = np.arange(begin, end) - (site.offset if site.length else 0)
    heights = np.where(letters[..., None] == np.arange(4), parts[..., None], 0.0)
    limit = float(np.abs(changes).max()) or 1.0
    with figure_style():
        figure = new_figure(WIDTH, 0.5 + 2.3 * len(letters))
        for part, stacks, change, title in zip(
            figure.subfigures(len(letters), 1, squeeze=False)[:, 0],
            heights,
            changes,
            titles,
            strict=True,
        ):
            logo, heat = part.subplots(2, 1, sharex=True, height_ratios=(1.6, 1))
            _logo_panel(logo, stacks, positions, site)
            logo.set(ylabel="Contribution\nto the score", title=title_text(title))
            logo.set(xlim=(positions[0] - 0.6, positions[-1] + 0.6))
            logo.set(ylim=extent(heights.reshape(-1, 4)))
            image = heat.imshow(
                change.T,
                cmap=DIVERGING,
                aspect="auto",
                vmin=-limit,
                vmax=limit,
                interpolation="none",
                extent=(positions[0] - 0.5, positions[-1] + 0.5, 3.5, -0.5),
            )
            heat.set_yticks(range(4), "ACGT")
            heat.set_ylabel("Mutated to")
            _ticks(heat)
            bar = part.colorbar(image, ax=heat, pad=0.01, aspect=6)
            bar.set_label("Change")
            bar.outline.set_visible(False)
        if len(letters):
            heat.set_xlabel(_X_LABEL if site.length else "Position in the window (bases)")
    return figure


def draw_kmers(kmers: Sequence[CountedKmer], label: str) -> Figure:
    """Draw the weights of the first 20 k-mers above 0, and of the last 20 below, as bars.

    Parameters
    ----------
    kmers : sequence of CountedKmer
        From :func:`~seqmtl.explanation.top_kmers`.
    label : str
        Whose k-mers these are.
    """
    drawn = [row for row in kmers if row.weight > 0][:_BARS]
    drawn += [row for row in kmers if row.weight < 0][-_BARS:]
    names = [" / ".join(dict.fromkeys([row.kmer, row.other_strand])) for row in drawn]
    with figure_style():
        figure = new_figure(WIDTH, 0.9 + 0.19 * len(drawn))
        axes = figure.subplots()
        at = np.arange(len(drawn))
        colours = [PALETTE[0 if row.weight > 0 else 1] for row in drawn]
        axes.barh(at, [row.weight for row in drawn], color=colours, height=0.7)
        axes.set_yticks(at, [name.removesuffix(" / .") for name in names], family="monospace")
        axes.set(ylim=(len(drawn) - 0.4, -0.6), xlabel="Weight", title=title_text(label))
        axes.axvline(0, color=GREY, linewidth=0.6)
        axes.grid(axis="x")
    return figure


def draw_motifs(motifs: Sequence[NDArray[np.float64]], label: str) -> Figure:
    """Draw motifs of k-mers as logos, one below the other.

    Parameters
    ----------
    motifs : sequence of ndarray, shapes (l, 4)
        From :func:`~seqmtl.explanation.align_kmers`, at least one.
    label : str
        Whose motifs these are.
    """
    longest = max(map(len, motifs))
    with figure_style():
        figure = new_figure(WIDTH, 0.75 + 1.2 * len(motifs))
        rows = figure.subplots(len(motifs), 1, squeeze=False, sharex=True)[:, 0]
        for axes, heights in zip(rows, motifs, strict=True):
            draw_letters(axes, heights, np.arange(len(heights)))
            axes.set(xlim=(-0.6, longest - 0.4), ylim=(0, extent(heights)[1]))
        rows[0].set_title(title_text(label), pad=3)
        rows[-1].set_xlabel("Position in the motif (bases)")
        _ticks(rows[-1])
        figure.supylabel("Weight of k-mers", fontsize="medium")
    return figure


def _logo_panel(
    axes: Axes, values: NDArray[np.float64], positions: NDArray[Any], site: Site
) -> None:
    """Draw a logo, and the letters of the site at the top of the marked stretch."""
    _mark_site(axes, site)
    for position, letter in enumerate(site.letters if len(site.letters) == site.length else ""):
        axes.text(
            position,
            0.99,
            letter,
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="top",
            color=GREY,
            fontsize="small",
        )
    draw_letters(axes, values, positions)
    axes.axhline(0, color=GREY, linewidth=0.6)


def _mark_site(axes: Axes, site: Site) -> None:
    axes.axvspan(-0.5, site.length - 0.5, color=SHADE, linewidth=0, zorder=0)


def _ticks(axes: Axes) -> None:
    """Put ticks at round positions, at most about ten."""
    axes.locator_params(axis="x", nbins=10, steps=(1, 2, 5, 10), integer=True)


_WIDTH = 0.94  # of a letter, relative to its column


def draw_letters(axes: Axes, values: NDArray[np.float64], positions: NDArray[Any]) -> None:
    """Draw a column of letters at every position, the largest farthest from the zero line.

    Parameters
    ----------
    axes : Axes
        Axes to draw on; their limits are not changed.
    values : ndarray of float64, shape (n, 4)
        Height of A, C, G, T at each position; negative letters are below the zero line.
    positions : ndarray, shape (n,)
        Centre of every column.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    bottoms = _bottoms(values)
    for code, letter in enumerate("ACGT"):
        outline = _outline(letter)
        paths = [
            Path(
                outline.vertices * (_WIDTH, abs(height)) + (position - _WIDTH / 2, bottom),
                outline.codes,
            )
            for position, height, bottom in zip(
                positions, values[:, code], bottoms[:, code], strict=True
            )
            if height
        ]
        if paths:
            colour = LETTER_COLOURS[code]
            outline = Path.make_compound_path(*paths)
            axes.add_artist(PathPatch(outline, facecolor=colour, linewidth=0))


def extent(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the lowest and highest point of :func:`draw_letters`, with a margin."""
    low = float(np.minimum(values, 0).sum(axis=1).min())
    high = float(np.maximum(values, 0).sum(axis=1).max())
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin


def _bottoms(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower edge of every letter, shape (n, 4)."""
    order = np.argsort(np.abs(values), axis=1, kind="stable")
    ranked = np.take_along_axis(values, order, axis=1)
    up, down = np.maximum(ranked, 0), np.minimum(ranked, 0)
    edges = np.where(ranked > 0, np.cumsum(up, axis=1) - up, np.cumsum(down, axis=1))
    bottoms = np.empty_like(values)
    np.put_along_axis(bottoms, order, edges, axis=1)
    return bottoms


@cache
def _outline(letter: str) -> Any:
    """Return the outline of a letter, scaled to the unit square."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.path import Path
    from matplotlib.textpath import TextPath

    path = TextPath((0, 0), letter, 1, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    low, high = path.get_extents().get_points()
    return Path((path.vertices - low) / (high - low), path.codes)
