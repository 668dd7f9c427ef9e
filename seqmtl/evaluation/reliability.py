"""Calibration error and reliability diagrams of predicted probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.evaluation._groups import (
    TaskGroup,
    check_labels,
    check_probabilities,
    check_scores,
    group_by_task,
)
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
_BINS_PER_FACTOR_OF_TEN = 2
_Z = 1.96  # standard deviations of a 95 % interval
_LEAST = 10  # minimum number of examples in a bin shown for weighted data

_Bins = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]


def reliability_bins(
    positive: NDArray[np.bool_],
    probabilities: NDArray[np.float64],
    n_bins: int,
    weights: NDArray[np.float64] | None = None,
) -> _Bins:
    """Average probabilities and labels over equal-width bins of [0, 1]; omit empty bins.

    Returns
    -------
    predicted, observed : ndarray of float64, shape (n_filled,)
        Mean probability and share of positives of each bin.
    counts : ndarray of float64, shape (n_filled,)
        Number of examples in each bin, or their total weight.
    """
    ones = np.ones(positive.size) if weights is None else weights
    bins = np.minimum((probabilities * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(bins, ones, n_bins)
    filled = counts > 0
    predicted = np.bincount(bins, ones * probabilities, n_bins)[filled] / counts[filled]
    observed = np.bincount(bins, ones * positive, n_bins)[filled] / counts[filled]
    return predicted, observed, counts[filled]


def calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike,
    n_bins: int = 10,
    weights: ArrayLike | None = None,
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
    values = check_probabilities(probabilities, positive.size)
    weight = None if weights is None else check_scores(weights, positive.size, "weights")
    return _error(reliability_bins(positive, values, n_bins, weight))


def _error(bins: _Bins) -> float:
    predicted, observed, counts = bins
    return float(np.dot(counts, np.abs(observed - predicted)) / counts.sum())


def _bins(group: TaskGroup, n_bins: int) -> _Bins:
    return reliability_bins(group.positive, group.scores, n_bins, group.counts)


def draw_reliability(
    labels: ArrayLike,
    probabilities: ArrayLike,
    tasks: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    n_bins: int = 10,
    title: str | None = None,
) -> Figure:
    """Draw a reliability diagram: share of positives against predicted probability, by task.

    Vertical lines are 95 % intervals of the shares (Wilson).

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    probabilities : array-like of float, shape (n,)
        Probability of the positive class, in [0, 1].
    tasks : array-like of str, shape (n,)
        Name of the task of each example.
    weights : array-like of float, shape (n,), optional
        Number of genomic positions that each example represents. The second panel then shows
        small probabilities on logarithmic axes instead of the number of examples.
    n_bins : int, default 10
        Number of bins of equal width on [0, 1].
    title : str, optional
        Title above both panels.

    Raises
    ------
    ValueError
        If lengths differ, or a probability lies outside [0, 1].
    ImportError
        If matplotlib is not installed.
    """
    check_probabilities(probabilities, check_labels(labels).size)
    every = group_by_task(labels, probabilities, tasks, weights)
    is_weighted = weights is not None
    errors = [_error(_bins(group, n_bins)) for group in every]
    drawn = extremes(errors)
    columns = -(-len(drawn) // MOST_PER_COLUMN)
    with figure_style():
        figure = new_figure(9.5 + 2.4 * (columns - 1), 4.9)
        axes, second = figure.subplots(1, 2)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
        lines = []
        for index, group in enumerate(every[i] for i in drawn):
            look = {"marker": "o", "markersize": 4, "linewidth": 1.3, **line_look(index)}
            lines.append(_draw_bins(axes, group, n_bins, _LEAST if is_weighted else 1, look))
            small = _small_bins(group) if is_weighted else _bins(group, n_bins)[::2]
            second.plot(*small, **look)
        unit_square(axes, "Predicted probability", "Share of positives", "Reliability")
        _label_second(second, is_weighted)
        form = ".2g" if is_weighted else ".3f"
        figure.legend(
            lines,
            [f"{format(errors[i], form)}  {plain_text(every[i].name)}" for i in drawn],
            loc="outside right upper",
            title="Calibration error",
            ncols=columns,
            alignment="left",
            fontsize=8.5 if len(drawn) <= MOST_IN_PANEL else 7.5,
        )
        write_title(figure, title, len(drawn), len(every), "the smallest and the largest error")
    return figure


def _draw_bins(axes: Axes, group: TaskGroup, n_bins: int, least: int, look: dict[str, Any]) -> Any:
    """Draw the line of a task with the intervals of its bins of at least so many examples."""
    bins = _bins(group, n_bins)
    full = reliability_bins(group.positive, group.scores, n_bins)[2] >= least
    predicted, observed, counts = (column[full] for column in bins)
    axes.vlines(
        predicted, *_wilson(observed, counts), color=look["color"], linewidth=0.8, alpha=0.6
    )
    return axes.plot(predicted, observed, **look)[0]


def _label_second(axes: Axes, is_weighted: bool) -> None:
    """Label the panel of small probabilities, or that of the numbers of examples."""
    axes.set(xlabel="Predicted probability", yscale="log")
    axes.grid(color="#eeeeee")
    if not is_weighted:
        axes.set(xlim=(-0.01, 1.01), ylabel="Examples in the bin", title="Examples per bin")
        return
    axes.plot([_SMALLEST, 1], [_SMALLEST, 1], color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlim=(_SMALLEST, 1.2), ylim=(_SMALLEST, 1.2))
    axes.set(ylabel="Share of positives", title="Small probabilities (logarithmic)")


def _wilson(
    share: NDArray[np.float64], n: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of Wilson's 95 % intervals of shares of n."""
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + (_Z / (2 * n)) ** 2) / (1 + _Z**2 / n)
    return middle - half, middle + half


def _small_bins(group: TaskGroup) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average as `reliability_bins` does, over logarithmic bins, none too small."""
    bins = np.log10(np.maximum(group.scores, _SMALLEST)) * _BINS_PER_FACTOR_OF_TEN
    number = -np.floor(bins).astype(np.int64)
    weight = np.bincount(number, group.counts)
    share = np.bincount(number, group.counts * group.positive)
    seen = (share > 0) & (np.bincount(number) >= _LEAST)
    predicted = np.bincount(number, group.counts * group.scores)[seen] / weight[seen]
    return predicted, share[seen] / weight[seen]
