"""Figure of a task kernel: the tree on the left, the heat map beside it, one row per leaf."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._style import (
    DIVERGING,
    FAINT,
    INK,
    PALETTE,
    SEQUENTIAL,
    SMALL,
    figure_style,
    new_figure,
    plain_text,
)
from seqmtl.relations.layout import TreeLayout, joined, lay_out
from seqmtl.relations.trees import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Plain choices, for legible figures on a page.
_MAX_ROWS = 200
_MAX_NUMBERS = 15
_MAX_PANELS = 12
_MIN_PER_ROW = 3
_LEGIBLE = 5.0  # points
_LETTER = 0.0086  # inches of the width of a letter, by its size in points
_TREE, _BAR, _PANEL, _LINE, _NARROWEST = 1.7, 0.8, 2.0, 0.17, 3.0  # inches
_LONGEST = 1000
_PLAIN: Any = {"fontsize": SMALL, "fontweight": "normal"}
_BESIDE = "Beside it (r: correlation over all pairs)"


def draw_kernel(kernel: Any, tree: Tree | None = None, others: Any = None) -> Figure:
    """Draw a task kernel beside a tree of its tasks.

    Parameters
    ----------
    kernel : TaskKernel
        The cells show numbers for up to 15 tasks. With several K_m their mean is large, and up
        to 12 of them are small below it.
    tree : Tree, optional
        Tree with all tasks among its leaves, in whose order rows are drawn. Default: average
        linkage of 1 - K[s, t] / sqrt(K[s, s] K[t, t]).
    others : TaskKernel, optional
        Kernels of the same tasks to draw small below it, to compare it with; it holds cosines
        then. Default: the K_m of the kernel, if several.

    Raises
    ------
    ValueError
        If there are more than 200 tasks.
    UnknownTaskError
        If the tree lacks a task.
    ImportError
        If matplotlib is not installed.
    """
    if len(kernel) > _MAX_ROWS:
        raise ValueError(
            f"a picture has room for {_MAX_ROWS} tasks, got {len(kernel)}; name some "
            "(--organisms, TaskKernel.restrict)"
        )
    tree = joined(kernel) if tree is None else tree.prune(kernel.names)
    what = f"{len(kernel)} task{'s' * (len(kernel) > 1)}"
    several = f"mean of {kernel.n_kernels} kernels, " * (kernel.n_kernels > 1)
    title = f"{'Cosines' if others else 'Similarity'} of {what}: {several}{kernel.source}"
    with figure_style():
        return _draw(kernel, tree, others, title)


def _draw(kernel: Any, tree: Tree, others: Any, title: str) -> Figure:
    """Draw the tree and the heat map, and small ones below them."""
    layout, T = lay_out(tree), len(kernel)
    order = [kernel.names.index(name) for name in layout.leaves]
    matrix = kernel.matrix[np.ix_(order, order)]
    small = others or kernel
    is_one = small is kernel and kernel.n_kernels == 1
    panels = small.matrices[: 0 if is_one else _MAX_PANELS, order][:, :, order]
    cell = max(min(0.42, 9.0 / T), 0.075, 1.3 / T)
    size = min(9.0, 50 * cell)
    side = T * cell
    names = _LETTER * size * max(map(len, layout.leaves))
    label_size = min(SMALL - 1, 36 * cell)
    if label_size < _LEGIBLE:
        layout.labels.clear()
    widths = [_LETTER * label_size * len(text) + 0.1 for *_, text in layout.labels]
    branches = max([_TREE, *(width + 0.8 for width in widths)]) * (T > 1)
    needed = [
        x / (1 - width / branches) for (x, *_), width in zip(layout.labels, widths, strict=True)
    ]
    width = max(side + names + _BAR + branches, _NARROWEST)
    title = _wrapped(title, int(9.5 * width))
    below = names * (0.75 if T <= _MAX_NUMBERS else 1.0)
    columns = max(int(width / _PANEL), _MIN_PER_ROW)
    heights = [side + below + _LINE * (title.count("\n") + 4), _PANEL * -(-len(panels) // columns)]
    figure = new_figure(width, sum(heights))
    parts: Any = figure.subfigures(2, 1, height_ratios=heights) if len(panels) else [figure]
    parts[0].suptitle(title, x=0.01, ha="left")
    *beside, axes = parts[0].subplots(
        1, 1 + (T > 1), sharey=True, squeeze=False, width_ratios=[branches, side][T == 1 :]
    )[0]
    image = _heat_map(axes, matrix, matrix)
    _write_names(axes, [plain_text(name, _LONGEST) for name in layout.leaves], size)
    if T <= _MAX_NUMBERS:
        _write_numbers(axes, matrix, image)
    for tree_axes in beside:  # none for one task
        _draw_tree(tree_axes, layout, label_size, max([max(layout.tips), *needed]))
        tree_axes.set_title(_wrapped(f"Tree: {tree.source}", 34), **_PLAIN)
    _draw_bar(parts[0], image, [axes])
    if len(panels):
        _draw_panels(parts[1], small, panels, columns, _BESIDE if others else "")
    return figure


def _draw_tree(axes: Axes, layout: TreeLayout, size: float, end: float) -> None:
    """Draw the branches from the root on the left, and the labels of inner nodes."""
    end = 1.02 * end or 1.0
    axes.hlines(range(len(layout.tips)), layout.tips, end, FAINT, linewidth=0.7, linestyle=":")
    left, right, y = zip(*layout.branches, strict=True)
    axes.hlines(y, left, right, INK, linewidth=1.2)
    x, upper, lower = zip(*layout.joints, strict=True)
    axes.vlines(x, upper, lower, INK, linewidth=1.2, capstyle="projecting")
    style: Any = {"textcoords": "offset points", "va": "center", "color": PALETTE[0]}
    for at, row, text in layout.labels:
        axes.annotate(plain_text(text, _LONGEST), (at, row), (3, 0), fontsize=size, **style)
    axes.set_xlim(0, end)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", left=False, labelleft=False)
    if layout.has_lengths:
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel("Path length from the root")
    else:
        axes.spines["bottom"].set_visible(False)
        axes.set_xticks([])


def _write_names(axes: Axes, names: list[str], size: float) -> None:
    """Write the names to the left of the rows, and below the columns."""
    positions = range(len(names))
    style: Any = {"rotation": 90}
    if len(names) <= _MAX_NUMBERS:
        style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_yticks(positions, names)
    axes.set_xticks(positions, names, **style)
    axes.tick_params(length=0, labelsize=size)
    axes.yaxis.set_tick_params(labelleft=True)


def _draw_panels(
    part: Any, small: Any, panels: NDArray[np.float64], columns: int, heading: str
) -> None:
    """Draw the matrices of several kernels small, with their labels."""
    title = f"{len(panels)} kernels"
    if len(panels) < small.n_kernels:
        title = f"The first {len(panels)} of {small.n_kernels} kernels"
    part.suptitle(heading or title, x=0.01, ha="left")
    grid = part.subplots(-(-len(panels) // columns), columns, squeeze=False)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_axis_off()
    for axes, label, K in zip(grid.ravel(), small.labels, panels, strict=False):
        image = _heat_map(axes, K, panels)
        axes.set(xticks=[], yticks=[])
        axes.set(aspect="equal", anchor="NW")
        axes.set_title(_wrapped(label, 26), **_PLAIN)
    _draw_bar(part, image, grid[:, : len(panels)])


def _wrapped(text: str, width: int) -> str:
    return plain_text("\n".join(textwrap.wrap(text, width)), _LONGEST)


def _draw_bar(part: Any, image: Any, axes: Any) -> None:
    bar = part.colorbar(image, ax=axes, pad=0.02, aspect=25)
    bar.outline.set_visible(False)
    bar.ax.locator_params(axis="y", nbins=5)


def _heat_map(axes: Axes, matrix: NDArray[np.float64], scale: NDArray[np.float64]) -> Any:
    """Draw a matrix with colours over the range of `scale`: blue above 0, red below."""
    high = float(np.abs(scale).max())
    low = -high if scale.min() < -1e-9 * high else 0.0
    colours = DIVERGING if low else SEQUENTIAL
    image = axes.imshow(matrix, cmap=colours, vmin=low, vmax=high, aspect="auto")
    axes.spines[:].set(visible=True, color=FAINT, linewidth=0.6)
    return image


def _write_numbers(axes: Axes, matrix: NDArray[np.float64], image: Any) -> None:
    """Write every number into its cell, light on dark."""
    form = ".2f" if np.abs(matrix).max() < 100 else ".2g"
    for (row, column), value in np.ndenumerate(matrix):
        red, green, blue, _ = image.to_rgba(value)
        is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        ink = "white" if is_dark else INK
        axes.text(column, row, f"{value:{form}}", ha="center", va="center", color=ink, size=SMALL)
