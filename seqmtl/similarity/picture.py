"""A task kernel beside a tree of its tasks, as SVG, for notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqmtl._html import Markup, box, line, svg, words
from seqmtl._style import INK, PALETTE
from seqmtl.similarity.layout import collapse, joined, lay_out

_MOST_ROWS, _MOST_NUMBERS = 40, 12
_ROW, _CELL, _TREE, _LETTER = 20, 30, 90, 6.6  # CSS pixels


def draw_kernel_svg(kernel: Any) -> Markup:
    """Return the cosines of a task kernel beside the tree that joins the most similar tasks first.

    Parameters
    ----------
    kernel : TaskKernel
        Of more than 40 tasks, 40 clades are drawn. The cells show numbers for up to 12.
    """
    kernel = kernel.scaled()
    tree, what = joined(kernel), f"similarity of {len(kernel)} tasks"
    if len(kernel) > _MOST_ROWS:
        kernel, tree = collapse(kernel, tree, _MOST_ROWS)
    layout, T = lay_out(tree), len(kernel)
    order = [kernel.names.index(name) for name in layout.leaves]
    matrix = kernel.matrix[np.ix_(order, order)]
    deepest = max(layout.tips) or 1.0

    def x(length: float) -> float:
        return 4 + (_TREE - 8) * length / deepest

    def y(row: float) -> float:
        return _ROW * (row + 0.5)

    parts = [line(x(a), y(row), x(b), y(row)) for a, b, row in layout.branches]
    parts += [line(x(at), y(up), x(at), y(down)) for at, up, down in layout.joints]
    left = _TREE + 8
    map_left = left + _LETTER * max(map(len, layout.leaves)) + 6
    cell = _CELL if T <= _MOST_NUMBERS else _ROW / 2
    for row, name in enumerate(layout.leaves):
        parts.append(words(left, y(row) + 4, name))
        for column, value in enumerate(matrix[row]):
            at = map_left + cell * column
            strength = f"{min(abs(value), 1.0):.3f}"
            colour = PALETTE[0] if value >= 0 else PALETTE[1]
            parts.append(box(at, _ROW * row, cell - 1, _ROW - 1, colour, fill_opacity=strength))
            if T <= _MOST_NUMBERS:
                ink = "white" if abs(value) > 0.55 else INK
                look: Any = {"text_anchor": "middle", "font_size": 9, "fill": ink}
                parts.append(words(at + cell / 2, y(row) + 3, f"{value:.2f}", **look))
    return svg(map_left + cell * T + 4, _ROW * T + 4, parts, what)
