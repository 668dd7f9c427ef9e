"""Figures of the report: convergence and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl._style import GREY, WIDTH, figure_style, line_style, new_figure, plain_text
from seqmtl.comparison.results import METRICS, summarize
from seqmtl.evaluation.cells import MEAN

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_convergence(
    runs: Mapping[str, Sequence[Mapping[str, float]]], tolerance: float | None
) -> Figure:
    """Draw the relative duality gap of training runs against their work, on a log scale.

    Parameters
    ----------
    runs : mapping of str to sequence of mapping
        ``training["history"]`` of every model by name: work (coordinate steps so far, in
        passes over all training windows) and gap (duality gap divided by the objective).
    tolerance : float or None
        Relative duality gap at which training stops.
    """
    with figure_style():
        figure = new_figure(WIDTH, 3.0)
        axes = figure.subplots()
        for index, (name, history) in enumerate(runs.items()):
            work = np.array([step["work"] for step in history], dtype=np.float64)
            gap = np.array([step["gap"] for step in history], dtype=np.float64)
            is_positive = gap > 0
            axes.plot(
                work[is_positive],
                gap[is_positive],
                marker=".",
                label=plain_text(name),
                **line_style(index),
            )
        if tolerance is not None:
            axes.axhline(tolerance, color=GREY, linewidth=1, linestyle="--", label="tolerance")
        axes.set(yscale="log", xlabel="Passes over the training windows")
        axes.set(ylabel="Relative duality gap", xlim=(0, None))
        axes.grid()
        figure.legend(loc="outside right upper")
    return figure


def draw_learning_curves(documents: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw mean AUROC and AUPRC over the organisms by training windows, a line per method.

    Parameters
    ----------
    documents : sequence of mapping
        Results of ``seqmtl compare``, each for another size of the training set.
    """
    by_size = sorted(documents, key=training_windows)
    methods = list(dict.fromkeys(m for document in by_size for m in document["methods"]))
    with figure_style():
        figure = new_figure(WIDTH, 3.2)
        for axes, metric in zip(figure.subplots(1, 2), METRICS, strict=True):
            for index, method in enumerate(methods):
                points = [
                    (training_windows(d), summarize(d, metric)[MEAN][method])
                    for d in by_size
                    if method in d["methods"]
                ]
                x = [size for size, _ in points]
                mean = np.array([cell.mean for _, cell in points])
                low, high = np.array([cell.bounds for _, cell in points]).T
                style = line_style(index)
                axes.fill_between(x, low, high, color=style["color"], alpha=0.12)
                axes.plot(x, mean, marker="o", label=plain_text(method), **style)
            axes.set(xscale="log", xlabel="Training windows per organism", ylabel=METRICS[metric])
            sizes = sorted({training_windows(document) for document in by_size})
            axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
            axes.set_xticks([], minor=True)
            axes.grid()
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(methods), 4))
    return figure


def draw_rounds(rounds: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the expected sites, and the lengths of introns, by round of self-training.

    Parameters
    ----------
    rounds : sequence of mapping
        ``training["unlabelled"][NAME]["rounds"]`` of a paired model.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    lengths = {
        "99.5 % are shorter": "longest",
        "median predicted": "median",
        "shortest": "shortest",
    }
    panels: dict[str, dict[str, list[float]]] = {
        "Donors and acceptors": {
            "expected": [sum(round_["expected"]) for round_ in rounds],
            "p \N{GREATER-THAN OR EQUAL TO} 0.9": [sum(round_["n_p90"]) for round_ in rounds],
        },
        "Intron length (bases)": {
            name: [round_[key] for round_ in rounds] for name, key in lengths.items()
        },
    }
    with figure_style():
        figure = new_figure(WIDTH, 3.0)
        for axes, (title, lines) in zip(figure.subplots(1, 2), panels.items(), strict=True):
            for index, (name, values) in enumerate(lines.items()):
                axes.plot(values, marker="o", label=name, **line_style(index))
            axes.set(xlabel="Round of self-training", ylabel=title)
            axes.set_xticks(range(len(rounds)))
            axes.grid()
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=len(lines) - 1)
        figure.axes[0].set_ylim(0, None)
        figure.axes[0].yaxis.set_major_formatter("{x:,.0f}")
        figure.axes[1].set_yscale("log")
        figure.axes[1].yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        figure.axes[1].yaxis.set_major_formatter("{x:,.0f}")
        figure.axes[1].yaxis.set_minor_locator(NullLocator())
    return figure


def training_windows(document: Mapping[str, Any]) -> float:
    """Return the mean number of training windows per organism in a comparison."""
    return float(np.mean([parts["train"]["n"] for parts in document["sizes"].values()]))
