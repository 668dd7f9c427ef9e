"""Bar charts of organisms and methods, with deviations over the splits or intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqmtl.compare.results import METRICS, Cell, Document, summarize
from seqmtl.evaluation.figures import PALETTE, figure_style, new_figure, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Cells = Mapping[str, Mapping[str, Cell]]
_CHANCE = {"auroc": 0.5, "auprc_windows": 0.0}
_UNKNOWN = Cell(np.nan, None)


def draw_comparison(document: Document) -> Figure:
    """Draw one panel per metric, see :func:`draw_bars`.

    The AUROC axis begins at chance level, 0.5, unless a value is lower.
    """
    tables = {METRICS[metric]: summarize(document, metric) for metric in METRICS}
    return draw_bars(tables, [_CHANCE[metric] for metric in METRICS])


def draw_bars(tables: Mapping[str, Cells], lowest: list[float]) -> Figure:
    """Draw a panel per table, with a group of bars per organism and one for the mean.

    The groups are stacked vertically, so that any number of organisms is readable. Lines extend
    over the bounds of the cells.

    Parameters
    ----------
    tables : mapping of str to mapping
        By title, the cells of every organism, the mean last, and method. A method may lack some.
    lowest : list of float
        Start of every axis, if no value is lower.
    """
    first = next(iter(tables.values()))
    methods = list(dict.fromkeys(method for cells in first.values() for method in cells))
    with figure_style():
        height = 1.2 + len(first) * max(0.10 + 0.11 * len(methods), 0.24)
        figure = new_figure(9.5, height)
        panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
        for axes, (title, table), least in zip(panels, tables.items(), lowest, strict=True):
            places = _draw_panel(axes, table, methods, least)
            axes.set(title=title)
        panels[0].set_yticks(places, [plain_text(name, 30) for name in first])
        panels[0].get_yticklabels()[-1].set_fontweight("bold")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper center", ncols=len(methods), frameon=False
        )
    return figure


def _draw_panel(axes: Axes, table: Cells, methods: list[str], lowest: float) -> NDArray[np.float64]:
    """Draw the bars of one metric, the first organism on top; return the y positions of groups."""
    thickness = 0.8 / len(methods)
    places = np.arange(len(table), dtype=np.float64)
    places[-1] += 0.3  # the mean is set apart
    for m, method in enumerate(methods):
        cells = [row.get(method, _UNKNOWN) for row in table.values()]
        low, high = np.array([cell.bounds for cell in cells]).T
        y = places + (m - (len(methods) - 1) / 2) * thickness
        axes.barh(
            y,
            [cell.mean for cell in cells],
            0.92 * thickness,
            label=plain_text(method),
            color=PALETTE[m % 7],
        )
        shown = high > low
        axes.hlines(y[shown], low[shown], high[shown], color="#222222", linewidth=1.1)
        lowest = float(np.nanmin([lowest, *low]))
    axes.axhline(places[-1] - 0.65, color="#999999", linewidth=0.8)
    axes.set(ylim=(places[-1] + 0.55, -0.55), xlim=(max(np.floor(10 * lowest) / 10, 0.0), 1.0))
    axes.grid(axis="x", color="#e5e5e5")
    axes.tick_params(axis="y", length=0)
    return places
