"""Figure of a task kernel: the tree on the left, the heat map beside it, one row per leaf.

The layout is in inches and uses the measured width of the names, so that none is cut off or
overlaps another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.evaluation.figures import PALETTE, figure_style, new_figure, plain_text
from seqmtl.similarity import Distances, TaskKernel, Tree
from seqmtl.similarity.distances import linkage_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ROWS, _CLADES = 200, 100
_MOST_NUMBERS = 15
_MOST_PANELS = 12
_MARGIN, _GAP = 0.2, 0.12
_BAR, _BAR_LABELS = 0.13, 0.55
_HEADING, _LINE, _SMALL_LINE = 0.32, 0.18, 0.13
_PANEL, _PITCH = 1.5, 1.74
_SMALL = 7.5
_BOLD = 1.15  # width relative to regular letters
_LONGEST = 1000
_INK, _GREY, _FAINT = "#333333", "#777777", "#aaaaaa"


def draw_kernel(
    kernel: TaskKernel, tree: Tree | None = None, others: TaskKernel | None = None
) -> Figure:
    """Draw a task kernel beside a tree of its tasks.

    Parameters
    ----------
    kernel : TaskKernel
        The cells show numbers for up to 15 tasks. With several K_m their mean is large, and up
        to 12 of them are small below it. More than 200 tasks are drawn as 100 clades.
    tree : Tree, optional
        Tree with all tasks among its leaves, in whose order rows are drawn. Default: average
        linkage of 1 - K[s, t] / sqrt(K[s, s] K[t, t]).
    others : TaskKernel, optional
        Kernels of the same tasks to draw small below it, to compare it with; it holds cosines
        then. Default: its own K_m, if several.

    Raises
    ------
    UnknownTaskError
        If the tree lacks a task.
    ImportError
        If matplotlib is not installed.
    """
    tree = _joined(kernel) if tree is None else tree.prune(kernel.names)
    what = f"{len(kernel)} task{'s' * (len(kernel) > 1)}"
    if len(kernel) > _MOST_ROWS:
        clades, of_clades = collapse(kernel, tree, _CLADES)
        if len(clades) > 1:  # else the tree has no clades
            others = others and collapse(others, tree, _CLADES)[0]
            kernel, tree = clades, of_clades
            what += f" in {len(kernel)} clades (means)"
    with figure_style():
        return _Sheet(kernel, tree, what, others).draw()


class _Sheet:
    """The layout in inches from the upper left corner, and the drawing."""

    def __init__(
        self, kernel: TaskKernel, tree: Tree, what: str, others: TaskKernel | None
    ) -> None:
        self.kernel, self.tree, self.layout = kernel, tree, lay_out(tree)
        self.small = kernel if others is None else others
        self.what = what
        order = [kernel.names.index(name) for name in self.layout.leaves]
        self.matrix = kernel.matrix[np.ix_(order, order)]
        self.panels = self.small.matrices[:_MOST_PANELS, order][:, :, order]
        if self.small is kernel and kernel.n_kernels == 1:
            self.panels = self.panels[:0]
        T = len(order)
        self.cell = max(min(0.42, 9.0 / T), 0.075, 1.3 / T)
        self.side = T * self.cell
        self.font = min(9.0, 0.7 * 72 * self.cell)
        self.names = [plain_text(name, _LONGEST) for name in self.layout.leaves]
        self.name_width = max(_width(name, self.font) for name in self.names)
        self.slanted = T <= _MOST_NUMBERS
        self.label_font = min(7.0, 0.5 * 72 * self.cell)
        self.tree_width, self.tree_end = self._fit_tree()
        left = _MARGIN + (self.tree_width + _GAP if self.tree_width else 0.0)
        self.map_left = left + self.name_width + _GAP
        self.bar_left = self.map_left + self.side + _GAP
        self.width = self.bar_left + _BAR + _BAR_LABELS + _MARGIN

    def draw(self) -> Figure:
        """Draw the whole figure."""
        title = f"Similarity of {self.what}: {self.kernel.source}"
        title_lines = _wrap(title, (self.width - 2 * _MARGIN) / _BOLD, 10.5)
        tree_title = f"Tree: {self.tree.source}" if self.tree_width else ""
        tree_lines = _wrap(tree_title, self.width - 2 * _MARGIN, _SMALL)
        tree_top = _MARGIN + len(title_lines) * _LINE + 0.08
        top = tree_top + len(tree_lines) * _SMALL_LINE + _HEADING
        below = self.name_width * (0.72 if self.slanted else 1.0) + 0.15
        bottom = top + self.side + max(below, 0.6)
        titles, rows = self._arrange_panels()
        height = bottom + sum(row for _, row in rows) + (_HEADING + _LINE) * bool(rows)
        self.height = height + _MARGIN
        self.figure = new_figure(self.width, self.height)
        self.figure.set_layout_engine("none")
        self._text(_MARGIN, _MARGIN, title_lines, 10.5, weight="bold")
        self._text(_MARGIN, tree_top, tree_lines, _SMALL, color=_GREY)
        self._draw_tree(top)
        self._draw_map(top)
        if rows:
            self._draw_panels(bottom + _LINE, titles, rows)
        return self.figure

    def _axes(self, left: float, top: float, width: float, height: float) -> Axes:
        box = (left / self.width, 1 - (top + height) / self.height)
        return self.figure.add_axes((*box, width / self.width, height / self.height))

    def _text(self, left: float, top: float, lines: list[str], size: float, **look: Any) -> None:
        place = (left / self.width, 1 - top / self.height)
        self.figure.text(*place, "\n".join(lines), fontsize=size, va="top", **look)

    def _fit_tree(self) -> tuple[float, float]:
        """Return the width of the tree and the x of its right end that leave room for labels."""
        if len(self.names) == 1:
            return 0.0, 0.0
        deepest = max(self.layout.tips) or 1.0
        if self.label_font < 5.0:
            self.layout.labels.clear()
        labels = [
            (x / deepest, _width(text, self.label_font) + 0.1) for x, _, text in self.layout.labels
        ]
        needed = [size / (1 - x / 1.3) for x, size in labels]
        width = max(min(max([2.6, *needed]), 7.0), *(1.1 * size for _, size in labels), 0.0)
        end = max([1.03, *(x / max(1 - size / width, 0.1) for x, size in labels)])
        return width, end * deepest

    def _draw_tree(self, top: float) -> None:
        if not self.tree_width:
            return
        axes = self._axes(_MARGIN, top, self.tree_width, self.side)
        rows = range(len(self.names))
        axes.hlines(rows, self.layout.tips, self.tree_end, _FAINT, linewidth=0.7, linestyle=":")
        left, right, y = zip(*self.layout.branches, strict=True)
        axes.hlines(y, left, right, _INK, linewidth=1.2)
        x, upper, lower = zip(*self.layout.joints, strict=True)
        axes.vlines(x, upper, lower, _INK, linewidth=1.2, capstyle="projecting")
        shift = 0.05 / self.tree_width * self.tree_end
        look: Any = {"fontsize": self.label_font, "va": "center", "color": PALETTE[0]}
        for at, row, text in self.layout.labels:
            axes.text(at + shift, row, plain_text(text, _LONGEST), **look)
        axes.set(xlim=(0, self.tree_end), ylim=(len(self.names) - 0.5, -0.5), yticks=[])
        axes.spines[["left", "top", "right"]].set_visible(False)
        deepest = max(self.layout.tips)
        if not (self.layout.has_lengths and deepest):
            axes.spines["bottom"].set_visible(False)
            axes.set_xticks([])
            return
        axes.locator_params(axis="x", nbins=4)
        axes.set_xticks([x for x in axes.get_xticks() if 0 <= x <= deepest])
        axes.spines["bottom"].set_bounds(0, deepest)
        axes.set_xlabel("Path length from the root", x=0.5 * deepest / self.tree_end)

    def _draw_map(self, top: float) -> None:
        axes = self._axes(self.map_left, top, self.side, self.side)
        image = _heat_map(axes, self.matrix, self.matrix)
        places = range(len(self.names))
        axes.set_yticks(places, self.names)
        rotation = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(places, self.names, **(rotation if self.slanted else {"rotation": 90}))
        axes.tick_params(length=0, labelsize=self.font)
        M = self.kernel.n_kernels
        is_compared = self.small is not self.kernel
        axes.set_title("Cosines" if is_compared else f"Mean of {M} kernels" if M > 1 else "K")
        if len(self.names) <= _MOST_NUMBERS:
            _write_numbers(axes, self.matrix, image)
        self._draw_bar(image, self.bar_left, top, min(self.side, 2.6))

    def _draw_bar(self, image: Any, left: float, top: float, height: float) -> None:
        bar = self.figure.colorbar(image, cax=self._axes(left, top, _BAR, height))
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=_SMALL, length=2)
        bar.ax.locator_params(axis="y", nbins=5)

    def _arrange_panels(self) -> tuple[list[list[str]], list[tuple[list[int], float]]]:
        """Return the lines of every title, and the panels and height of every row."""
        columns = max(int((self.bar_left - _MARGIN) / _PITCH), 1)
        titles = [_wrap(label, _PANEL + 0.1, _SMALL) for label in self.small.labels]
        rows = []
        for first in range(0, len(self.panels), columns):
            members = list(range(first, min(first + columns, len(self.panels))))
            lines = max(len(titles[m]) for m in members)
            rows.append((members, lines * _SMALL_LINE + _PANEL + 1.5 * _GAP))
        return titles, rows

    def _draw_panels(
        self, top: float, titles: list[list[str]], rows: list[tuple[list[int], float]]
    ) -> None:
        n, M = len(self.panels), self.small.n_kernels
        heading = f"{n} kernels" if n == M else f"The first {n} of {M} kernels"
        if self.small is not self.kernel:
            heading = "Beside it (r: correlation over all pairs)"
        self._text(_MARGIN, top, [heading], 10.5, weight="bold")
        top += _HEADING
        for row, (members, height) in enumerate(rows):
            panel_top = top + height - _PANEL - 1.5 * _GAP
            for column, m in enumerate(members):
                left = _MARGIN + column * _PITCH
                axes = self._axes(left, panel_top, _PANEL, _PANEL)
                image = _heat_map(axes, self.panels[m], self.panels)
                axes.set(xticks=[], yticks=[])
                title_top = panel_top - len(titles[m]) * _SMALL_LINE - 0.03
                self._text(left, title_top, titles[m], _SMALL)
            if row == 0:
                self._draw_bar(image, _MARGIN + len(members) * _PITCH, panel_top, _PANEL)
            top += height


def _heat_map(axes: Axes, matrix: NDArray[np.float64], scale: NDArray[np.float64]) -> Any:
    """Draw a matrix with colours over the range of `scale`: blue above 0, red below."""
    high = float(np.abs(scale).max())
    low = -high if scale.min() < -1e-9 * high else 0.0
    colours = "RdBu" if low else "Blues"
    image = axes.imshow(matrix, cmap=colours, vmin=low, vmax=high, aspect="auto")
    axes.spines[:].set(visible=True, color="#cccccc", linewidth=0.6)
    return image


def _write_numbers(axes: Axes, matrix: NDArray[np.float64], image: Any) -> None:
    """Write every number into its cell, light on dark."""
    form = ".2f" if np.abs(matrix).max() < 100 else ".2g"
    for (row, column), value in np.ndenumerate(matrix):
        red, green, blue, _ = image.to_rgba(value)
        is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        axes.text(
            column, row, format(value, form), ha="center", va="center", fontsize=_SMALL,
            color="white" if is_dark else "#222222",
        )  # fmt: skip


def _joined(kernel: TaskKernel) -> Tree:
    """Cluster tasks by similarity."""
    scale = np.sqrt(np.diagonal(kernel.matrix))
    D = np.maximum(1.0 - kernel.matrix / np.outer(scale, scale), 0.0)
    np.fill_diagonal(D, 0.0)
    return linkage_tree(Distances(kernel.names, D, "1 - K"))


def _width(text: str, size: float) -> float:
    """Return the width of a text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    path = TextPath((0, 0), text, prop=FontProperties(family="DejaVu Sans", size=size))
    return float(path.get_extents().width) / 72 if len(path.vertices) else 0.0


def _wrap(text: str, width: float, size: float) -> list[str]:
    """Break a text after blanks, dots and underscores, or anywhere if it has none."""
    lines = [""]
    for piece in re.findall(r"[^\s_.]{1,20}[\s_.]*|[\s_.]+", text):
        if lines[-1] and _width(lines[-1] + piece.rstrip(), size) > width:
            lines.append("")
        lines[-1] += piece
    return [plain_text(line.rstrip(), _LONGEST) for line in lines]


def collapse(kernel: TaskKernel, tree: Tree, most: int) -> tuple[TaskKernel, Tree]:
    """Return the mean similarity within and between clades, and the tree of the clades.

    The clade with the most organisms is opened until there would be more than `most`. A clade has
    the name of its node, or of its first and last organism, and their number.

    Parameters
    ----------
    kernel : TaskKernel
        K of the leaves of the tree, in any order.
    tree : Tree
        Its leaves are the tasks.
    most : int
        Number of clades, at least 1.
    """
    below = tree.membership()
    n_children = np.bincount(tree.parents[1:], minlength=len(tree))
    clades, size = {0}, below.sum(axis=1)
    while True:
        widest = max(sorted(clades), key=lambda node: size[node])
        if size[widest] == 1 or len(clades) - 1 + n_children[widest] > most:
            break
        clades.remove(widest)
        clades |= set(np.flatnonzero(tree.parents == widest).tolist())
    nodes = sorted(clades)
    names = [
        tree.node_name(node) + (f" ({size[node]})" if size[node] > 1 else "") for node in nodes
    ]
    first = [tree.leaf_names[int(below[node].argmax())] for node in nodes]
    place = [kernel.names.index(name) for name in tree.leaf_names]
    share = np.zeros((len(nodes), len(kernel)))
    share[:, place] = below[nodes] / size[nodes, None]
    matrices = share @ kernel.matrices @ share.T
    pruned, new_name = tree.prune(first), dict(zip(first, names, strict=True))
    labels = [new_name.get(label, label) for label in pruned.labels]
    shown = Tree(pruned.parents, pruned.lengths, tuple(labels), tree.source)
    return TaskKernel(tuple(names), matrices, kernel.source, labels=kernel.labels), shown


@dataclass(frozen=True)
class TreeLayout:
    """A tree from left to right: x is the distance from the root, leaf i is at height i.

    Attributes
    ----------
    leaves : list of str
        Leaves from top to bottom.
    tips : list of float
        x of every leaf.
    branches : list of (x0, x1, y)
        Horizontal lines.
    joints : list of (x, y0, y1)
        Vertical lines at inner nodes.
    labels : list of (x, y, text)
        Labels of inner nodes; the row to the right of (x, y) has no lines and no other label.
    has_lengths : bool
        Whether x is a path length; otherwise all leaves are at the same x.
    """

    leaves: list[str]
    tips: list[float]
    branches: list[tuple[float, float, float]]
    joints: list[tuple[float, float, float]]
    labels: list[tuple[float, float, str]]
    has_lengths: bool


def lay_out(tree: Tree) -> TreeLayout:
    """Place the nodes of a tree; without lengths all leaves are at the same x."""
    n = len(tree)
    children: list[list[int]] = [[] for _ in range(n)]
    for i in range(1, n):
        children[tree.parents[i]].append(i)
    has_lengths = bool(np.isfinite(tree.lengths[1:]).any())
    x = _path_lengths(tree) if has_lengths else _levels(tree)
    first, end = tree.leaf_ranges
    y = first.astype(np.float64)  # of leaves, which have a row each
    layout = TreeLayout(list(tree.leaf_names), x[tree.leaves].tolist(), [], [], [], has_lengths)
    for i in range(n - 1, -1, -1):
        below = children[i]
        if not below:
            continue
        y[i] = (y[below[0]] + y[below[-1]]) / 2
        layout.joints.append((x[i], y[below[0]], y[below[-1]]))
        layout.branches.extend((x[i], x[child], y[child]) for child in below)
        if tree.labels[i]:
            # between the rows of two children, where neither has a line
            gaps = [end[child] - 0.5 for child in below[:-1]] or [y[i]]
            gap = min(gaps, key=lambda value: abs(value - y[i]))
            layout.labels.append((x[i], float(gap), tree.labels[i]))
    return layout


def _path_lengths(tree: Tree) -> NDArray[np.float64]:
    """Return the distance of every node from the root; missing lengths count as 1."""
    x = np.where(np.isnan(tree.lengths), 1.0, tree.lengths)
    x[0] = 0.0
    for i in range(1, len(x)):
        x[i] += x[tree.parents[i]]
    return x


def _levels(tree: Tree) -> NDArray[np.float64]:
    """Return how far left every node must be for leaves to align on the right."""
    height = np.zeros(len(tree))
    for i in range(len(tree) - 1, 0, -1):
        height[tree.parents[i]] = max(height[tree.parents[i]], height[i] + 1)
    return height[0] - height
