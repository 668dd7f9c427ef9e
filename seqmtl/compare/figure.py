"""Bar charts of organisms and methods, with deviations over the splits or intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqmtl.compare.results import METRICS, Document, summarize
from seqmtl.evaluation.figures import PALETTE, figure_style, new_figure, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CHANCE = {"auroc": 0.5, "auprc_windows": 0.0}


def draw_comparison(document: Document) -> Figure:
    """Draw one panel per metric, with a group of bars per organism and one for the mean.

    The groups are stacked vertically, so that any number of organisms is readable. Bars are means
    over the splits, lines extend one standard deviation to either side, or over the interval of a
    single split. The AUROC axis begins at chance level, 0.5, unless a value is lower.
    """
    methods = list(document["methods"])
    names = list(summarize(document, "auroc"))
    with figure_style():
        height = 1.2 + len(names) * max(0.10 + 0.11 * len(methods), 0.24)
        figure = new_figure(9.5, height)
        panels = figure.subplots(1, len(METRICS), sharey=True)
        for axes, metric in zip(panels, METRICS, strict=True):
            places = _draw_panel(axes, document, metric)
        panels[0].set_yticks(places, [plain_text(name, 30) for name in names])
        panels[0].get_yticklabels()[-1].set_fontweight("bold")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper center", ncols=len(methods), frameon=False
        )
    return figure


def _draw_panel(axes: Axes, document: Document, metric: str) -> NDArray[np.float64]:
    """Draw the bars of one metric, the first organism on top; return the y positions of groups."""
    table, methods = summarize(document, metric), list(document["methods"])
    thickness = 0.8 / len(methods)
    lowest = _CHANCE[metric]
    places = np.arange(len(table), dtype=np.float64)
    places[-1] += 0.3  # the mean is set apart
    for m, method in enumerate(methods):
        means = np.array([cells[method].mean for cells in table.values()])
        low, high = np.array([cells[method].bounds for cells in table.values()]).T
        y = places + (m - (len(methods) - 1) / 2) * thickness
        axes.barh(y, means, 0.92 * thickness, label=plain_text(method), color=PALETTE[m % 7])
        shown = high > low
        axes.hlines(y[shown], low[shown], high[shown], color="#222222", linewidth=1.1)
        lowest = min(lowest, float(low.min()))
    axes.axhline(places[-1] - 0.65, color="#999999", linewidth=0.8)
    axes.set(ylim=(places[-1] + 0.55, -0.55), xlim=(max(np.floor(10 * lowest) / 10, 0.0), 1.0))
    axes.set(title=METRICS[metric])
    axes.grid(axis="x", color="#e5e5e5")
    axes.tick_params(axis="y", length=0)
    return places
