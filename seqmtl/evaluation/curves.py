"""Plot ROC and precision-recall curves, one line per task."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.evaluation._groups import TaskGroup, group_by_task
from seqmtl.evaluation.figures import (
    GREY,
    extremes,
    figure_format,
    figure_style,
    line_look,
    new_figure,
    plain_text,
    save_figure,
)
from seqmtl.evaluation.metrics import AUPRC_TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

logger = logging.getLogger(__name__)

MOST_IN_PANEL = 8
MOST_PER_COLUMN = 24
_STEPS = 1000


def plot_curves(
    labels: ArrayLike,
    scores: ArrayLike,
    tasks: ArrayLike,
    path: str | os.PathLike[str],
    *,
    counts: ArrayLike | None = None,
    auprc: str = "auprc",
    title: str | None = None,
) -> None:
    """Plot the ROC and the precision-recall curve of every task.

    Of more than 48 tasks, those with the lowest and the highest AUPRC are drawn.

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    scores : array-like of float, shape (n,)
        Higher means more likely positive.
    tasks : array-like of str, shape (n,)
        Name of the task of each example. Tasks with one class are skipped, with a warning.
    path : path-like
        Output file: .png, .svg or .pdf; written atomically.
    counts : array-like of int, shape (n,), optional
        Number of examples that each row represents. Default: 1.
    auprc : str
        Name of the AUPRC, see :func:`~seqmtl.evaluation.metrics.evaluate`.
    title : str, optional
        Title above both panels.

    Raises
    ------
    ValueError
        If `evaluate` would reject the input, no task has both classes, or the suffix is
        unknown.
    ImportError
        If matplotlib is not installed.
    SeqmtlError
        If the file cannot be written.
    """
    figure_format(path)
    save_figure(draw_curves(labels, scores, tasks, counts, auprc=auprc, title=title), path)


def draw_curves(
    labels: ArrayLike,
    scores: ArrayLike,
    tasks: ArrayLike,
    counts: ArrayLike | None = None,
    *,
    auprc: str = "auprc",
    title: str | None = None,
) -> Figure:
    """Return the figure of `plot_curves` (11 x 4.9 inches, wider with an outside legend)."""
    groups, rows = [], []
    of_task = group_by_task(labels, np.ones(np.size(labels)) if counts is None else counts, tasks)
    for group, part in zip(group_by_task(labels, scores, tasks), of_task, strict=True):
        if group.has_both_classes:
            groups.append(group)
            rows.append(part.scores)
        else:
            logger.warning("task %r has one class only: no curve", group.name)
    if not groups:
        raise ValueError(
            "labels must hold both classes in at least one task, got none; nothing to draw"
        )
    n_groups = len(groups)
    drawn = extremes([_auprc(*pair) for pair in zip(groups, rows, strict=True)])
    groups, rows = [groups[i] for i in drawn], [rows[i] for i in drawn]
    if len(groups) < n_groups:
        few = f"{len(groups)} of {n_groups} tasks: the lowest and the highest AUPRC"
        title = few if title is None else f"{title}; {few}"
    columns = -(-len(groups) // MOST_PER_COLUMN) if len(groups) > MOST_IN_PANEL else 0
    with figure_style():
        figure = new_figure(11 + 2.4 * max(columns - 1, 0), 4.9)
        roc_axes, pr_axes = figure.subplots(1, 2)
        roc_lines = _draw_roc(roc_axes, groups, rows)
        pr_lines = _draw_precision_recall(pr_axes, groups, rows)
        if columns:
            _legend_outside(figure, groups, roc_lines, pr_lines, columns, AUPRC_TITLES[auprc])
        else:
            _legend_in_panel(roc_axes, groups, roc_lines, "AUROC", "lower right")
            _legend_in_panel(pr_axes, groups, pr_lines, AUPRC_TITLES[auprc], "lower left")
        if title:
            figure.suptitle(plain_text(title, 120), fontsize=12, fontweight="bold")
    return figure


def _draw_roc(
    axes: Axes, groups: list[TaskGroup], rows: list[NDArray[np.float64]]
) -> list[tuple[Any, float]]:
    """Draw one ROC curve per task; return the lines and the areas under them."""
    from sklearn.metrics import roc_auc_score, roc_curve

    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    curves, lines = [], []
    for index, (group, counts) in enumerate(zip(groups, rows, strict=True)):
        x, y, _ = roc_curve(group.positive, group.scores, sample_weight=counts)
        curves.append(_thin(x, y))
        line = axes.plot(*curves[-1], linewidth=1.5, **line_look(index))[0]
        area = roc_auc_score(group.positive, group.scores, sample_weight=counts)
        lines.append((line, float(area)))
    unit_square(axes, "False positive rate", "True positive rate", "ROC")
    if min(area for _, area in lines) >= 0.95:
        inset = axes.inset_axes((0.36, 0.52, 0.52, 0.34))
        for index, curve in enumerate(curves):
            inset.plot(*curve, linewidth=1.3, **line_look(index))
        inset.set(xlim=(0, 0.1), ylim=(0.75, 1.005), xticks=(0, 0.05, 0.1), yticks=(0.8, 0.9, 1))
        inset.tick_params(labelsize=7.5)
        inset.set_title("top left corner", fontsize=8, fontweight="normal", pad=3)
        inset.grid(color="#eeeeee")
    return lines


def _draw_precision_recall(
    axes: Axes, groups: list[TaskGroup], rows: list[NDArray[np.float64]]
) -> list[tuple[Any, float]]:
    """Draw one precision-recall curve and baseline per task; return the lines and areas."""
    from sklearn.metrics import precision_recall_curve

    lines = []
    for index, (group, counts) in enumerate(zip(groups, rows, strict=True)):
        look = line_look(index)
        prevalence = float(np.average(group.positive, weights=counts))
        axes.axhline(prevalence, color=look["color"], linewidth=0.9, linestyle=":", alpha=0.8)
        precision, recall, _ = precision_recall_curve(
            group.positive, group.scores, sample_weight=counts, drop_intermediate=True
        )
        x, y = _thin(recall[::-1], precision[::-1])
        line = axes.plot(x, y, linewidth=1.5, drawstyle="steps-pre", **look)[0]
        lines.append((line, _auprc(group, counts)))
    unit_square(axes, "Recall", "Precision", "Precision and recall (dotted: prevalence)")
    return lines


def _auprc(group: TaskGroup, counts: NDArray[np.float64]) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(group.positive, group.scores, sample_weight=counts))


def unit_square(axes: Axes, xlabel: str, ylabel: str, title: str) -> None:
    """Label axes that both run from 0 to 1."""
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.015), xlabel=xlabel, ylabel=ylabel, title=title)
    axes.grid(color="#eeeeee")


def _legend_in_panel(
    axes: Axes, groups: list[TaskGroup], lines: list[tuple[Any, float]], metric: str, place: Any
) -> None:
    """Add a legend inside the panel: tasks with their areas."""
    names = [
        f"{area:.3f}  {plain_text(group.name)}"
        for group, (_, area) in zip(groups, lines, strict=True)
    ]
    axes.legend([line for line, _ in lines], names, loc=place, title=metric, alignment="left")


def _legend_outside(
    figure: Figure,
    groups: list[TaskGroup],
    roc_lines: list[tuple[Any, float]],
    pr_lines: list[tuple[Any, float]],
    columns: int,
    auprc: str,
) -> None:
    """Add one legend right of both panels: many tasks, with both areas."""
    names = [
        f"{auroc:.3f}  {auprc:.3f}  {plain_text(group.name)}"
        for group, (_, auroc), (_, auprc) in zip(groups, roc_lines, pr_lines, strict=True)
    ]
    figure.legend(
        [line for line, _ in roc_lines],
        names,
        loc="outside right upper",
        title=f"AUROC  {auprc}",
        ncols=columns,
        alignment="left",
        fontsize=7.5,
        handlelength=2.6,
    )


def _thin(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Drop points of a curve within 1/1000 of the previous point; keep the ends."""
    cells = np.stack([x, y]) * _STEPS
    moved = np.any(np.diff(np.floor(cells), axis=1) != 0, axis=0)
    keep = np.concatenate([[True], moved])
    keep[-1] = True
    return x[keep], y[keep]
