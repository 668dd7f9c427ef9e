"""Dots of organisms and methods, with deviations over the splits or intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqmtl._style import GREY, PALE, WIDTH, figure_style, new_figure, plain_text, point_look
from seqmtl.compare.results import METRICS, Cell, Document, summarize

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Cells = Mapping[str, Mapping[str, Cell]]
_UNKNOWN = Cell(np.nan, None)


def draw_comparison(document: Document) -> Figure:
    """Draw one panel per metric, see :func:`draw_dots`."""
    return draw_dots({METRICS[metric]: summarize(document, metric) for metric in METRICS})


def draw_dots(tables: Mapping[str, Cells]) -> Figure:
    """Draw a panel per table, with a row of dots per organism and one for the mean.

    A row is as high as its methods need, so that any number of organisms is readable. Lines extend
    over the bounds of the cells. The scale is that of the values, not from zero.

    Parameters
    ----------
    tables : mapping of str to mapping
        By title, the cells of every organism, the mean last, and method. A method may lack some.
    """
    first = next(iter(tables.values()))
    methods = list(dict.fromkeys(method for cells in first.values() for method in cells))
    with figure_style():
        height = 1.1 + len(first) * max(0.14 * len(methods), 0.26)
        figure = new_figure(WIDTH, height)
        panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
        for axes, (title, table) in zip(panels, tables.items(), strict=True):
            places = _draw_panel(axes, table, methods)
            axes.set(title=title)
        panels[0].set_yticks(places, [plain_text(name, 30) for name in first])
        panels[0].get_yticklabels()[-1].set_fontweight("bold")
        handles, labels = panels[0].get_legend_handles_labels()
        if len(methods) > 1:
            columns = min(len(methods), 4)
            figure.legend(handles, labels, loc="outside upper center", ncols=columns)
    return figure


def _draw_panel(axes: Axes, table: Cells, methods: list[str]) -> NDArray[np.float64]:
    """Draw the dots of one metric, the first organism on top; return the y positions of rows."""
    apart = 0.72 / len(methods)
    places = np.arange(len(table), dtype=np.float64)
    for m, method in enumerate(methods):
        cells = [row.get(method, _UNKNOWN) for row in table.values()]
        low, high = np.array([cell.bounds for cell in cells]).T
        y = places + (m - (len(methods) - 1) / 2) * apart
        look = point_look(m)
        shown = high > low
        axes.hlines(y[shown], low[shown], high[shown], color=look["color"], linewidth=1.3)
        means = [cell.mean for cell in cells]
        axes.plot(means, y, linestyle="none", label=plain_text(method), **look)
    for place in places[1:-1]:
        axes.axhline(place - 0.5, color="white", linewidth=3, zorder=0.6)
    axes.axhspan(places[-1] - 0.5, places[-1] + 0.5, color=PALE, zorder=0.5)
    axes.set(ylim=(places[-1] + 0.5, -0.5))
    axes.margins(x=0.04)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_color(GREY)
    return places
