"""Calibration error and reliability diagrams of predicted probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from seqmtl.evaluation._groups import check_labels, check_probabilities, check_scores
from seqmtl.evaluation.curves import MOST_IN_PANEL, MOST_PER_COLUMN, unit_square
from seqmtl.evaluation.figures import (
    GREY,
    extremes,
    figure_style,
    line_look,
    new_figure,
    plain_text,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SMALLEST = 1e-5


def calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, n_bins: int = 10, weights: ArrayLike | None = None
) -> float:
    """Return the expected calibration error over equal-width bins.

    This is the mean over the examples of ``|share of positives - mean probability|`` in their
    bin (Naeini, Cooper and Hauskrecht, AAAI 2015).

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    probabilities : array-like of float, shape (n,)
        Probability of the positive class, in [0, 1].
    n_bins : int, default 10
        Number of bins of equal width; a boundary belongs to the upper bin, 1 to the last.
    weights : array-like of float, shape (n,), optional
        Number of positions that each example represents.

    Raises
    ------
    ValueError
        If lengths differ, a probability lies outside [0, 1] or `n_bins` is below 1.

    Examples
    --------
    >>> round(calibration_error([1, 0, 1, 0], [0.9, 0.9, 0.1, 0.1]), 3)
    0.4
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}; 10 is usual")
    positive = check_labels(labels)
    p = check_probabilities(probabilities, positive.size)
    weight = np.ones(p.size) if weights is None else check_scores(weights, p.size, "weights")
    bins = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    return float(np.abs(np.bincount(bins, weight * (positive - p))).sum() / weight.sum())


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
    columns = -(-len(drawn) // MOST_PER_COLUMN)
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
        unit_square(linear, "Predicted probability", "Share of true sites", "Reliability")
        unit_square(logarithmic, "Predicted probability", "Share of true sites", "Logarithmic")
        limits = (_SMALLEST, 1.2)
        logarithmic.set(xscale="log", yscale="log", xlim=limits, ylim=limits)
        figure.legend(
            lines,
            names,
            loc="outside right upper",
            title="Error above 0.1",
            ncols=columns,
            alignment="left",
            fontsize=8.5 if len(drawn) <= MOST_IN_PANEL else 7.5,
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
