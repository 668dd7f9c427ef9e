"""Sequence logos with positive and negative letter heights."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
