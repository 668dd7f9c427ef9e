"""Calibration error and reliability diagrams of predicted probabilities."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.evaluation._groups import check_labels, check_probabilities, check_scores, group_by_task
from seqmtl.evaluation.curves import MOST_IN_PANEL, MOST_PER_COLUMN, unit_square
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SMALLEST = 1e-5
_BINS_PER_FACTOR_OF_TEN = 2
_Z = 1.96  # standard deviations of a 95 % interval
_LEAST = 10  # minimum number of examples in a bin shown for weighted data


def reliability_bins(
    positive: NDArray[np.bool_],
    probabilities: NDArray[np.float64],
    n_bins: int,
    weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]:
    """Average probabilities and labels over equal-width bins of [0, 1]; omit empty bins.

    Returns
    -------
    predicted, observed : ndarray of float64, shape (n_filled,)
        Mean probability and share of positives of each bin.
    counts : ndarray, shape (n_filled,)
        Number of examples in each bin, or their total weight.
    """
    ones = np.ones(positive.size, dtype=np.int64) if weights is None else weights
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
    predicted, observed, counts = reliability_bins(positive, values, n_bins, weight)
    return float(np.dot(counts, np.abs(observed - predicted)) / counts.sum())


def plot_reliability(
    labels: ArrayLike,
    probabilities: ArrayLike,
    tasks: ArrayLike,
    path: str | os.PathLike[str],
    *,
    weights: ArrayLike | None = None,
    n_bins: int = 10,
    title: str | None = None,
) -> None:
    """Plot a reliability diagram: share of positives against predicted probability, by task.

    Vertical lines are 95 % intervals of the shares (Wilson).

    Parameters
    ----------
    labels : array-like, shape (n,)
        -1/+1, 0/1 or bool.
    probabilities : array-like of float, shape (n,)
        Probability of the positive class, in [0, 1].
    tasks : array-like of str, shape (n,)
        Name of the task of each example.
    path : path-like
        Output file: .png, .svg or .pdf; written atomically.
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
        If lengths differ, a probability lies outside [0, 1] or the suffix is unknown.
    ImportError
        If matplotlib is not installed.
    SeqmtlError
        If the file cannot be written.
    """
    figure_format(path)
    figure = draw_reliability(
        labels, probabilities, tasks, weights=weights, n_bins=n_bins, title=title
    )
    save_figure(figure, path)


def draw_reliability(
    labels: ArrayLike,
    probabilities: ArrayLike,
    tasks: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    n_bins: int = 10,
    title: str | None = None,
) -> Figure:
    """Return the figure of `plot_reliability`: the diagram, and the examples per bin."""
    check_probabilities(probabilities, check_labels(labels).size)
    groups = group_by_task(labels, probabilities, tasks)
    parts: list[Any] = [None] * len(groups)
    least = 1 if weights is None else _LEAST
    if weights is not None:
        parts = [part.scores for part in group_by_task(labels, weights, tasks)]
    errors = [
        calibration_error(group.positive, group.scores, n_bins, part)
        for group, part in zip(groups, parts, strict=True)
    ]
    drawn = extremes(errors)
    if len(drawn) < len(groups):
        few = f"{len(drawn)} of {len(groups)} tasks: the smallest and the largest error"
        title = few if title is None else f"{title}; {few}"
    groups, parts = [groups[i] for i in drawn], [parts[i] for i in drawn]
    errors = [errors[i] for i in drawn]
    columns = -(-len(groups) // MOST_PER_COLUMN)
    with figure_style():
        figure = new_figure(9.5 + 2.4 * (columns - 1), 4.9)
        axes, second = figure.subplots(1, 2)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
        lines, names = [], []
        for index, (group, weight, error) in enumerate(zip(groups, parts, errors, strict=True)):
            look = {"marker": "o", "markersize": 4, "linewidth": 1.3, **line_look(index)}
            bins = reliability_bins(group.positive, group.scores, n_bins, weight)
            full = reliability_bins(group.positive, group.scores, n_bins)[2] >= least
            lines += axes.plot(bins[0][full], bins[1][full], **look)
            ends = _wilson(bins[1][full], bins[2][full])
            axes.vlines(bins[0][full], *ends, color=look["color"], linewidth=0.8, alpha=0.6)
            if weight is None:
                second.plot(bins[0], bins[2], **look)
            else:
                second.plot(*_small_bins(group.positive, group.scores, weight), **look)
            shown = f"{error:.3f}" if weight is None else f"{error:.2g}"
            names.append(f"{shown}  {plain_text(group.name)}")
        unit_square(axes, "Predicted probability", "Share of positives", "Reliability")
        if weights is None:
            second.set(xlim=(-0.01, 1.01), yscale="log", xlabel="Predicted probability")
            second.set(ylabel="Examples in the bin", title="Examples per bin")
        else:
            second.plot([_SMALLEST, 1], [_SMALLEST, 1], color=GREY, linewidth=0.8, linestyle=":")
            second.set(xscale="log", yscale="log", xlim=(_SMALLEST, 1.2), ylim=(_SMALLEST, 1.2))
            second.set(xlabel="Predicted probability", ylabel="Share of positives")
            second.set_title("Small probabilities (logarithmic)")
        second.grid(color="#eeeeee")
        figure.legend(
            lines,
            names,
            loc="outside right upper",
            title="Calibration error",
            ncols=columns,
            alignment="left",
            fontsize=8.5 if len(groups) <= MOST_IN_PANEL else 7.5,
        )
        if title:
            figure.suptitle(plain_text(title, 120), fontsize=12, fontweight="bold")
    return figure


def _wilson(
    share: NDArray[np.float64], n: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of Wilson's 95 % intervals of shares of n."""
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + (_Z / (2 * n)) ** 2) / (1 + _Z**2 / n)
    return middle - half, middle + half


def _small_bins(
    positive: NDArray[np.bool_], probabilities: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average as `reliability_bins` does, over logarithmic bins, none too small."""
    bins = np.log10(np.maximum(probabilities, _SMALLEST)) * _BINS_PER_FACTOR_OF_TEN
    number = -np.floor(bins).astype(np.int64)
    weight = np.bincount(number, weights)
    share = np.bincount(number, weights * positive)
    seen = (share > 0) & (np.bincount(number) >= _LEAST)
    predicted = np.bincount(number, weights * probabilities)[seen] / weight[seen]
    return predicted, share[seen] / weight[seen]
