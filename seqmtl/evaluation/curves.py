"""Draw ROC and precision-recall curves, and reliability diagrams, one line per task."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.evaluation.figures import (
    GREY,
    extremes,
    figure_style,
    line_look,
    new_figure,
    plain_text,
    write_title,
)
from seqmtl.evaluation.metrics import AUPRC_TITLES, RankedScores, group_by_task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

logger = logging.getLogger(__name__)

_MOST_IN_PANEL = 8
_MOST_PER_COLUMN = 24
_STEPS = 1000
_SMALLEST = 1e-5  # probability on logarithmic axes
_POOREST_ENLARGED = 0.95  # AUROC from which the corner of the ROC curve is also drawn enlarged


class _Curves(NamedTuple):
    """The curves of a task, with the areas under them."""

    name: str
    share: float
    ranked: RankedScores
    auroc: float
    auprc: float


def draw_curves(
    labels: ArrayLike,
    scores: ArrayLike,
    tasks: ArrayLike,
    counts: ArrayLike | None = None,
    *,
    auprc: str = "auprc",
    title: str | None = None,
) -> Figure:
    """Draw the ROC and the precision-recall curve of every task.

    The figure is 11 x 4.9 inches, wider with a legend outside. Of more than 48 tasks, those with
    the lowest and the highest AUPRC are drawn.

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
    title : str, optional
        Title above both panels.

    Raises
    ------
    ValueError
        If `evaluate` would reject the input, or no task has both classes.
    ImportError
        If matplotlib is not installed.
    """
    every = []
    for group in group_by_task(labels, scores, tasks, counts):
        if not group.has_both_classes:
            logger.warning("task %r has one class only: no curve", group.name)
            continue
        ranked = RankedScores(group.positive, group.scores, group.counts)
        share = float(np.average(group.positive, weights=group.counts))
        every.append(_Curves(group.name, share, ranked, *ranked.metrics()))
    if not every:
        raise ValueError(
            "labels must hold both classes in at least one task, got none; nothing to draw"
        )
    shown = [every[i] for i in extremes([curves.auprc for curves in every])]
    columns = -(-len(shown) // _MOST_PER_COLUMN) if len(shown) > _MOST_IN_PANEL else 0
    with figure_style():
        figure = new_figure(11 + 2.4 * max(columns - 1, 0), 4.9)
        roc_axes, pr_axes = figure.subplots(1, 2)
        roc_lines = _draw_roc(roc_axes, shown)
        pr_lines = _draw_precision_recall(pr_axes, shown)
        areas = {"AUROC": [c.auroc for c in shown], AUPRC_TITLES[auprc]: [c.auprc for c in shown]}
        if columns:
            look = {"ncols": columns, "fontsize": 7.5, "handlelength": 2.6}
            _add_legend(figure, shown, roc_lines, areas, loc="outside right upper", **look)
        else:
            first, second = ({title: values} for title, values in areas.items())
            _add_legend(roc_axes, shown, roc_lines, first, loc="lower right")
            _add_legend(pr_axes, shown, pr_lines, second, loc="lower left")
        write_title(figure, title, len(shown), len(every), "the lowest and the highest AUPRC")
    return figure


def _draw_roc(axes: Axes, shown: Sequence[_Curves]) -> list[Any]:
    """Draw one ROC curve per task; return the lines."""
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    points = [_thin(*curves.ranked.roc()) for curves in shown]
    lines = _draw_lines(axes, points)
    _unit_square(axes, "False positive rate", "True positive rate", "ROC")
    if min(curves.auroc for curves in shown) >= _POOREST_ENLARGED:
        inset = axes.inset_axes((0.36, 0.52, 0.52, 0.34))
        _draw_lines(inset, points)
        inset.set(xlim=(0, 0.1), ylim=(0.75, 1.005), xticks=(0, 0.05, 0.1), yticks=(0.8, 0.9, 1))
        inset.tick_params(labelsize=7.5)
        inset.set_title("top left corner", fontsize=8, fontweight="normal", pad=3)
        inset.grid(color="#eeeeee")
    return lines


def _draw_precision_recall(axes: Axes, shown: Sequence[_Curves]) -> list[Any]:
    """Draw a baseline and a precision-recall curve per task; return the lines of the curves."""
    for index, curves in enumerate(shown):
        color = line_look(index)["color"]
        axes.axhline(curves.share, color=color, linewidth=0.9, linestyle=":", alpha=0.8)
    points = [_thin(*curves.ranked.precision_recall()) for curves in shown]
    lines = _draw_lines(axes, points, drawstyle="steps-pre")
    _unit_square(axes, "Recall", "Precision", "Precision and recall (dotted: prevalence)")
    return lines


def _draw_lines(axes: Axes, points: Sequence[Any], **look: Any) -> list[Any]:
    """Draw a line for the points of every task, each with its own look."""
    return [
        axes.plot(x, y, linewidth=1.5, **line_look(index), **look)[0]
        for index, (x, y) in enumerate(points)
    ]


def _unit_square(axes: Axes, xlabel: str, ylabel: str, title: str) -> None:
    """Label axes that both run from 0 to 1."""
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.015), xlabel=xlabel, ylabel=ylabel, title=title)
    axes.grid(color="#eeeeee")


def _add_legend(
    place: Axes | Figure,
    shown: Sequence[_Curves],
    lines: Sequence[Any],
    areas: dict[str, list[float]],
    **look: Any,
) -> None:
    """Name the tasks, after their areas."""
    names = [
        "  ".join([*(f"{area:.3f}" for area in values), plain_text(curves.name)])
        for curves, *values in zip(shown, *areas.values(), strict=True)
    ]
    place.legend(lines, names, title="  ".join(areas), alignment="left", **look)


def _thin(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Drop points of a curve within 1/1000 of the previous point; keep the ends."""
    cells = np.stack([x, y]) * _STEPS
    moved = np.any(np.diff(np.floor(cells), axis=1) != 0, axis=0)
    keep = np.concatenate([[True], moved])
    keep[-1] = True
    return x[keep], y[keep]


def draw_reliability(tasks: Mapping[str, Mapping[str, Any]], *, title: str | None = None) -> Figure:
    """Draw the share of true sites against the probability, on linear and logarithmic axes.

    Parameters
    ----------
    tasks : mapping of str to mapping
        Result of :func:`~seqmtl.evaluation.expected_sites`. A point is a bin of the probability,
        and the line through it is where the share would be by chance. Tasks without rows are left
        out.
    title : str, optional
        Title above both panels.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    every = [(name, task) for name, task in tasks.items() if task.get("reliability")]
    drawn = [every[i] for i in extremes([task.get("error_likely") or 0.0 for _, task in every])]
    columns = -(-len(drawn) // _MOST_PER_COLUMN)
    names = []
    for name, task in drawn:
        error = task.get("error_likely")
        names.append(f"{'NA' if error is None else f'{error:.3f}'}  {plain_text(name)}")
    with figure_style():
        figure = new_figure(9.5 + 2.4 * (columns - 1), 4.9)
        linear, logarithmic = figure.subplots(1, 2)
        for axes in (linear, logarithmic):
            axes.plot([_SMALLEST, 1], [_SMALLEST, 1], color=GREY, linewidth=0.8, linestyle=":")
            lines = [_draw_bins(axes, task["reliability"], i) for i, (_, task) in enumerate(drawn)]
        _unit_square(linear, "Predicted probability", "Share of true sites", "Reliability")
        _unit_square(logarithmic, "Predicted probability", "Share of true sites", "Logarithmic")
        limits = (_SMALLEST, 1.2)
        logarithmic.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
        figure.legend(
            lines,
            names,
            loc="outside right upper",
            title="Error above 0.1",
            ncols=columns,
            alignment="left",
            fontsize=8.5 if len(drawn) <= _MOST_IN_PANEL else 7.5,
        )
        write_title(figure, title, len(drawn), len(every), "the smallest and the largest error")
    return figure


def _draw_bins(axes: Axes, rows: Sequence[Mapping[str, Any]], index: int) -> Any:
    """Draw the bins of a task with their intervals; return the line."""
    bins = [row for row in rows if "-" in row["probability"] and row["n"] > 0]
    n = np.array([row["n"] for row in bins])
    expected, true = (np.array([row[key] for row in bins]) / n for key in ("expected", "true"))
    low, high = np.array([row["true_interval"] for row in bins]).reshape(-1, 2).T / n
    look = line_look(index)
    axes.vlines(expected, low, high, color=look["color"], linewidth=0.8, alpha=0.6)
    return axes.plot(expected, true, marker="o", markersize=4, linewidth=1.3, **look)[0]
