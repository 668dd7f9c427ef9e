"""Figure of a task kernel: the tree on the left, the heat map beside it, one row per leaf.

The layout is in inches and uses the measured width of the names, so that none is cut off or
overlaps another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._style import (
    DIVERGING,
    FAINT,
    GREY,
    INK,
    PALETTE,
    SEQUENTIAL,
    figure_style,
    new_figure,
    plain_text,
)
from seqmtl.similarity import TaskKernel, Tree
from seqmtl.similarity.layout import collapse, joined, lay_out

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
    tree = joined(kernel) if tree is None else tree.prune(kernel.names)
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
        self._text(_MARGIN, tree_top, tree_lines, _SMALL, color=GREY)
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
        axes.hlines(rows, self.layout.tips, self.tree_end, FAINT, linewidth=0.7, linestyle=":")
        left, right, y = zip(*self.layout.branches, strict=True)
        axes.hlines(y, left, right, INK, linewidth=1.2)
        x, upper, lower = zip(*self.layout.joints, strict=True)
        axes.vlines(x, upper, lower, INK, linewidth=1.2, capstyle="projecting")
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
        axes.set_title(
            "Cosines" if is_compared else f"Mean of {M} kernels" if M > 1 else "Similarity"
        )
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
        axes.text(
            column, row, format(value, form), ha="center", va="center", fontsize=_SMALL,
            color="white" if is_dark else INK,
        )  # fmt: skip


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
