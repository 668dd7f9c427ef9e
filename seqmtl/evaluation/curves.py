"""Draw ROC and precision-recall curves, and reliability diagrams, one line per task."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl._style import (
    GREY,
    MARKERS,
    PALETTE,
    SMALL,
    WIDTH,
    extremes,
    figure_style,
    line_style,
    new_figure,
    plain_text,
    write_title,
)
from seqmtl.evaluation.metrics import AUPRC_TITLES, RankedScores, group_by_task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

logger = logging.getLogger(__name__)

_SHORT, _LONG = 18, 54  # letters of a name in a legend of two columns, and of one
_PER_ROW, _NARROW = 3, 16  # panels of the reliability of organisms, and letters above one
_STEPS = 1000
_SMALLEST, _LARGEST = 1e-4, 1 - 1e-2  # probability at the ends of the axes
_POOREST_ENLARGED = 0.95  # AUROC from which only the upper left corner of the ROC curve is drawn


def draw_curves(
    labels: ArrayLike,
    scores: ArrayLike,
    tasks: ArrayLike,
    counts: ArrayLike | None = None,
    *,
    auprc: str = "auprc",
) -> Figure:
    """Draw the ROC and the precision-recall curve of every task.

    The legend is below. Of more than 48 tasks, those with the lowest and the highest AUPRC are
    drawn.

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    scores : array-like of float, shape (n,)
        Higher means more likely positive.
    tasks : array-like of str, shape (n,)
        Name of the task of each example. Tasks with one class are skipped, with a warning.
    counts : array-like of int, shape (n,), optional
        Number of examples that each row represents. Default: 1.
    auprc : str
        Name of the AUPRC, see :func:`~seqmtl.evaluation.metrics.evaluate`.

    Raises
    ------
    ValueError
        If `evaluate` would reject the input, or no task has both classes.
    ImportError
        If matplotlib is not installed.
    """
    all_scores: dict[str, RankedScores] = {}
    for group in group_by_task(labels, scores, tasks, counts):
        if not group.has_both_classes:
            logger.warning("task %r has one class only: no curve", group.name)
            continue
        all_scores[group.name] = RankedScores(group.positive, group.scores, group.counts)
    if not all_scores:
        raise ValueError(
            "labels must hold both classes in at least one task, got none; nothing to draw"
        )
    areas = {name: ranked.metrics() for name, ranked in all_scores.items()}
    names = [[*areas][i] for i in extremes([auprc for _, auprc in areas.values()])]
    drawn = [all_scores[name] for name in names]
    with figure_style():
        columns = 1 if max(map(len, names)) > _SHORT else 2
        rows = -(-len(drawn) // columns)
        figure = new_figure(WIDTH, 3.7 + 0.19 * rows)
        pr_axes, roc_axes = figure.subplots(1, 2)
        lines = _draw_precision_recall(pr_axes, drawn)
        _draw_roc(roc_axes, drawn, min(areas[name][0] for name in names))
        labels = ["{1:.3f}  {0:.3f}  ".format(*areas[n]) + plain_text(n, _LONG) for n in names]
        figure.legend(
            lines,
            labels,
            title=f"{AUPRC_TITLES[auprc]}, AUROC",
            loc="outside lower center",
            ncols=columns,
            alignment="left",
            fontsize=SMALL,
            title_fontsize=SMALL,
        )
        write_title(figure, len(drawn), len(all_scores), "the lowest and the highest AUPRC")
    return figure


def _draw_precision_recall(axes: Axes, drawn: Sequence[RankedScores]) -> list[Any]:
    """Draw a precision-recall curve per task; return the lines."""
    points = [_thin(*ranked.precision_recall()) for ranked in drawn]
    lines = _draw_lines(axes, points, drawstyle="steps-pre")
    _unit_square(axes, "Recall", "Precision")
    axes.set_title("Precision and recall")
    prevalences = [ranked.prevalence for ranked in drawn]
    axes.axhspan(min(prevalences), max(prevalences), color=GREY, alpha=0.25, linewidth=1.5)
    axes.annotate(
        "Random",
        (0.02, max(prevalences)),
        (0, 3),
        textcoords="offset points",
        color=GREY,
        fontsize=SMALL,
    )
    return lines


def _draw_roc(axes: Axes, drawn: Sequence[RankedScores], poorest: float) -> None:
    """Draw one ROC curve per task; if the poorest AUROC is good, the upper left corner."""
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    _draw_lines(axes, [_thin(*ranked.roc()) for ranked in drawn])
    _unit_square(axes, "False positive rate", "True positive rate")
    axes.set_title("ROC")
    if poorest >= _POOREST_ENLARGED:
        axes.set(xlim=(-0.002, 0.2), ylim=(0.5, 1.005), title="ROC, upper left corner")


def _draw_lines(axes: Axes, points: Sequence[Any], **options: Any) -> list[Any]:
    """Draw a line for the points of every task, each in another style."""
    return [
        axes.plot(x, y, **line_style(index), **options)[0] for index, (x, y) in enumerate(points)
    ]


def _unit_square(axes: Axes, xlabel: str, ylabel: str) -> None:
    """Label axes that both run from 0 to 1."""
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.015), xlabel=xlabel, ylabel=ylabel)
    axes.grid()


def _thin(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Drop points of a curve within 1/1000 of the previous point; keep the ends."""
    cells = np.stack([x, y]) * _STEPS
    moved = np.any(np.diff(np.floor(cells), axis=1) != 0, axis=0)
    is_corner = np.concatenate([[True], moved])
    is_corner[-1] = True
    return x[is_corner], y[is_corner]


def draw_reliability(tasks: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Draw the fraction of true sites against the probability, and the numbers, by task.

    Parameters
    ----------
    tasks : mapping of str to mapping
        Result of :func:`~seqmtl.evaluation.expected_sites`. A point is a bin of the probability,
        and the line through it is its 95 % interval. A fraction below 1/10,000 or
        above 99 % is drawn at the edge. Below, the candidates and the true sites of every bin.
        Tasks without rows are left out; of many, those with the smallest and the largest error are
        drawn.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    all_tasks = [(name, task) for name, task in tasks.items() if task.get("reliability")]
    drawn = [
        all_tasks[i]
        for i in extremes([task.get("calibration_error_p10") or 0.0 for _, task in all_tasks])
    ]
    columns = min(_PER_ROW, max(len(drawn), 1))
    rows = max(-(-len(drawn) // columns), 1)
    largest = max((row["n"] for _, t in drawn for row in t["reliability"]), default=1)
    powers = [
        power for power in (10, 1_000, 100_000, 10_000_000, 1_000_000_000) if power <= largest
    ]
    with figure_style():
        figure = new_figure(WIDTH if columns > 1 else WIDTH / 2, 0.7 + 3.1 * rows)
        grid = figure.subplots(
            2 * rows,
            columns,
            squeeze=False,
            sharex=True,
            sharey="row",
            height_ratios=[2.1, 1] * rows,
        )
        for i, (name, task) in enumerate(drawn):
            row, column = divmod(i, columns)
            bins_axes, counts_axes = grid[2 * row : 2 * row + 2, column]
            _draw_bins(bins_axes, counts_axes, task["reliability"])
            counts_axes.set(ylim=(0, 2.5 * largest))
            counts_axes.set_yticks([0, *powers], ["0", *(f"{power:,}" for power in powers)])
            bins_axes.set_title(plain_text(name, _NARROW))
            if column == 0:
                bins_axes.set_ylabel("Fraction of true sites")
                counts_axes.set_ylabel("Number")
            if i + columns >= len(drawn):
                counts_axes.set_xlabel("Predicted probability")
                counts_axes.tick_params(labelbottom=True)
        for axes in grid.T.reshape(columns, rows, 2).swapaxes(0, 1).reshape(-1, 2)[len(drawn) :]:
            for one in axes:
                one.set_axis_off()
        handles = [one for axes in grid[:2, 0] for one in axes.get_legend_handles_labels()[0]]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(columns + 1, 3))
        write_title(figure, len(drawn), len(all_tasks), "the smallest and the largest error")
    return figure


def _draw_bins(bins_axes: Axes, counts_axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw the bins of a task with their intervals, and their numbers below."""
    from matplotlib.ticker import NullLocator

    bins = [row for row in rows if "-" in row["probability"] and row["n"] > 0]
    n, n_true = (np.array([row[key] for row in bins]) for key in ("n", "true"))
    expected = np.array([row["expected"] for row in bins]) / n
    low, high = np.array([row["true_interval"] for row in bins]).reshape(-1, 2).T / n
    x, observed, low, high = (
        np.clip(values, _SMALLEST, _LARGEST) for values in (expected, n_true / n, low, high)
    )
    ends = [0.7 * _SMALLEST, 1 - 0.7 * (1 - _LARGEST)]
    ticks = [0.001, 0.01, 0.1, 0.5, 0.9]
    bins_axes.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":")
    bins_axes.vlines(x, low, high, color=PALETTE[5], linewidth=4, label="95 % interval")
    bins_axes.plot(x, observed, "o", color=PALETTE[0])
    bins_axes.set(xscale="logit", yscale="logit", xlim=ends, ylim=ends)
    names = [f"{tick:g}" for tick in ticks]
    bins_axes.set_yticks(ticks, names)
    for axis in (bins_axes.xaxis, bins_axes.yaxis):
        axis.set_minor_locator(NullLocator())
    counts_axes.plot(x, n, "-", marker=MARKERS[2], color=GREY, linewidth=1, label="Candidates")
    counts_axes.plot(x, n_true, "-o", color=PALETTE[0], linewidth=1, label="True sites")
    counts_axes.set(xscale="logit", yscale="symlog", xlim=ends)
    counts_axes.set_xticks(ticks[::2], names[::2])
    for axis in (counts_axes.xaxis, counts_axes.yaxis):
        axis.set_minor_locator(NullLocator())
    for axes in (bins_axes, counts_axes):
        axes.grid()
