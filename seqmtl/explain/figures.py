"""Figures that explain a model; positions are relative to the first base of the site."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.evaluation.figures import GREY, figure_style, new_figure, plain_text
from seqmtl.explain.poim import Poim
from seqmtl.models.site import Site

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

_PER_ROW = 75  # positions in a row of a logo
_SITE_COLOUR = "#f1e7c6"
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.85, 0.85, 0.32, 0.52  # inches around all panels
_X_LABEL = "position relative to the first base of the site"


def draw_poim(found: Poim) -> Figure:
    """Draw a POIM (11 inches wide): importance by position and order, and of single letters.

    Top: max over z of abs(Q_{k,j}(z)) for k = 1..K from bottom to top, at the first base of the
    oligomer, as in Sonnenburg et al. (2008). Bottom: Q_{1,j} of the four letters.
    """
    with figure_style():
        figure = new_figure(11, 4.2 + 0.27 * found.max_order, arrange=False)
        whole = _panels(figure, 1, gap=0)[0]
        ratios = (0.9 + 0.27 * found.max_order, 2.4)
        grid = whole.subgridspec(
            2, 2, hspace=0.09, wspace=0.03, width_ratios=(70, 1), height_ratios=ratios
        )
        heat = figure.add_subplot(grid[0, 0])
        image = heat.imshow(
            found.importance(), cmap="viridis", aspect="auto", origin="lower", vmin=0,
            interpolation="none", extent=(*_limits(found.positions), 0.5, found.max_order + 0.5),
        )  # fmt: skip
        heat.set_facecolor("#dddddd")
        heat.set(ylabel="order k", title=plain_text(found.label, 80))
        heat.set_yticks(range(1, found.max_order + 1))
        heat.tick_params(labelbottom=False)
        bar = figure.colorbar(image, cax=figure.add_subplot(grid[0, 1]))
        bar.set_label("max |Q| over oligomers")
        lines = figure.add_subplot(grid[1, 0], sharex=heat)
        _mark_site(lines, found.site)
        lines.axhline(0, color=GREY, linewidth=0.6)
        for code, letter in enumerate("ACGT"):
            q = found.Q[0][:, code]
            lines.plot(found.positions, q, color=LETTER_COLOURS[code], linewidth=1.3, label=letter)
        lines.set(ylabel="Q of single letters", xlabel=_X_LABEL)
        lines.legend(loc="upper left", ncols=4)
        lines.grid(color="#eeeeee")
        _ticks(lines, found.positions.size)
    return figure


def draw_logo(found: Poim) -> Figure:
    """Draw Q_{1,j} as a sequence logo (12 inches wide), in rows of at most about 75 positions."""
    q, positions = found.Q[0], found.positions
    bounds = _rows(positions.size, found.site)
    size = int(np.diff(bounds).max())
    with figure_style():
        n_rows = len(bounds) - 1
        figure = new_figure(12, 0.9 + 1.9 * n_rows, arrange=False)
        rows = _panels(figure, n_rows, gap=0.32, right=0.08).subplots(squeeze=False, sharey=True)[
            :, 0
        ]
        for axes, (begin, end) in zip(rows, pairwise(bounds), strict=True):
            first = positions[begin]
            _logo_panel(axes, q[begin:end], positions[begin:end], found.site)
            axes.set(xlim=(first - 0.5, first + size - 0.5), ylim=extent(q))
            _ticks(axes, size)
        rows[0].set_title(plain_text(found.label, 80))
        rows[-1].set_xlabel(_X_LABEL)
        figure.supylabel("Q of single letters", fontsize=9.5)
    return figure


def _rows(length: int, site: Site) -> list[int]:
    """Return the ends of rows of about equal length that do not split the site."""
    n_rows = -(-length // _PER_ROW)
    bounds = [round(row * length / n_rows) for row in range(n_rows + 1)]
    after = site.offset + site.length
    return [after if site.offset < bound < min(after, length) else bound for bound in bounds]


def draw_contributions(
    letters: NDArray[np.uint8],
    parts: NDArray[np.float64],
    changes: NDArray[np.float64],
    titles: Sequence[str],
    site: Site,
) -> Figure:
    """Draw contributions and mutagenesis of windows (16 inches wide), one below the other.

    Parameters
    ----------
    letters : ndarray of uint8, shape (n, L)
        Codes of the windows, in reading direction.
    parts : ndarray of float64, shape (n, L)
        From :func:`~seqmtl.explain.contributions`.
    changes : ndarray of float64, shape (n, L, 4)
        From :func:`~seqmtl.explain.mutagenesis`.
    titles : sequence of str, length n
        Title of each window.
    site : Site
        Position of the signal.
    """
    n, L = letters.shape
    positions = np.arange(L) - site.offset
    heights = np.where(letters[..., None] == np.arange(4), parts[..., None], 0.0)
    most = float(np.abs(changes).max()) or 1.0
    with figure_style():
        figure = new_figure(16, 0.5 + 2.9 * n, arrange=False)
        whole = _panels(figure, n, gap=0.55)
        heat = None
        for i in range(n):
            grid = whole[i].subgridspec(
                2, 2, hspace=0.11, wspace=0.02, width_ratios=(110, 1), height_ratios=(1.6, 1)
            )
            logo = figure.add_subplot(grid[0, 0])
            _logo_panel(logo, heights[i], positions, site)
            logo.set(xlim=_limits(positions), ylim=extent(heights.reshape(-1, 4)))
            logo.set(ylabel="contribution", title=plain_text(titles[i], 120))
            logo.tick_params(labelbottom=False)
            heat = figure.add_subplot(grid[1, 0], sharex=logo)
            image = heat.imshow(
                changes[i].T, cmap="RdBu_r", aspect="auto", vmin=-most, vmax=most,
                interpolation="none", extent=(*_limits(positions), 3.5, -0.5),
            )  # fmt: skip
            heat.set_yticks(range(4), "ACGT")
            heat.set_ylabel("changed to")
            _ticks(heat, L)
            bar = figure.colorbar(image, cax=figure.add_subplot(grid[1, 1]))
            bar.set_label("change")
        if heat is not None:
            heat.set_xlabel(_X_LABEL)
    return figure


def _panels(figure: Figure, n: int, *, gap: float, right: float = _RIGHT) -> GridSpec:
    """Return the positions of n stacked panels, with gaps and margins in inches.

    Fixed margins need no layout pass, and make figures of several organisms match.
    """
    width, height = figure.get_size_inches()
    panel = (height - _TOP - _BOTTOM - gap * (n - 1)) / n
    return figure.add_gridspec(
        n, 1, left=_LEFT / width, right=1 - right / width, bottom=_BOTTOM / height,
        top=1 - _TOP / height, hspace=gap / panel,
    )  # fmt: skip


def _logo_panel(
    axes: Axes, values: NDArray[np.float64], positions: NDArray[Any], site: Site
) -> None:
    _mark_site(axes, site)
    draw_letters(axes, values, positions)
    axes.axhline(0, color=GREY, linewidth=0.6)


def _mark_site(axes: Axes, site: Site) -> None:
    axes.axvspan(-0.5, site.length - 0.5, color=_SITE_COLOUR, linewidth=0, zorder=0)


def _limits(positions: NDArray[Any]) -> tuple[float, float]:
    return float(positions[0]) - 0.5, float(positions[-1]) + 0.5


def _ticks(axes: Axes, n: int) -> None:
    """Put ticks at round positions, at most about fifteen for n positions."""
    from matplotlib.ticker import MultipleLocator

    step = next((step for step in (1, 2, 5, 10, 20, 50, 100, 200) if n <= 15 * step), 500)
    axes.xaxis.set_major_locator(MultipleLocator(step))


#: Colours of A, C, G, T from the house palette, safe for colour-blind readers.
LETTER_COLOURS = ("#009E73", "#0072B2", "#E69F00", "#D55E00")
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
            whole = Path.make_compound_path(*paths)
            axes.add_artist(PathPatch(whole, facecolor=colour, linewidth=0))


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
