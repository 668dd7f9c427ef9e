"""Plot a Pareto path: objectives of the tasks, and kernel weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seqmtl._style import GREY, SMALL, WIDTH, figure_style, line_style, new_figure, plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_NAMED = 12  # lines, as many as a legend beside a panel has room for
_ROOM = (0.14, 0.06)  # space for the p beside a point, relative to the size of the front


def draw_path(
    p: NDArray[np.float64],
    objectives: NDArray[np.float64],
    tasks: Sequence[str],
    theta: NDArray[np.float64],
    kernels: Sequence[str],
) -> Figure:
    """Draw three panels: objectives along the path, the front, and kernel weights.

    Parameters
    ----------
    p : ndarray of float64, shape (P,)
        Trade-offs, rising; infinity is drawn beyond the largest of the others.
    objectives : ndarray of float64, shape (P, T)
        g_t of every solution.
    tasks : sequence of str
        Names of the tasks.
    theta : ndarray of float64, shape (P, M)
        Kernel weights of every solution.
    kernels : sequence of str
        Names of the kernels.
    """
    finite = p[np.isfinite(p)]
    x = np.where(np.isfinite(p), p, 10.0 * finite.max(initial=1.0))
    base = int(np.argmin(np.abs(np.log(x))))
    change = 100.0 * (objectives / objectives[base] - 1.0)
    with figure_style():
        figure = new_figure(WIDTH, 9.6)
        along, front, weights = figure.subplots(3, 1)
        _draw_lines(along, x, change, tasks)
        along.set(title="Objectives of the tasks", ylabel=f"Change from p = {p[base]:g} (%)")
        _draw_front(front, p, objectives, tasks)
        _draw_lines(weights, x, theta, kernels)
        weights.set(title="Kernel weights", ylabel="Weight")
        for axes in (along, weights):
            _mark_trade_offs(axes, finite, x[-1] if np.isinf(p[-1]) else None)
    return figure


def _draw_lines(
    axes: Axes, x: NDArray[np.float64], values: NDArray[np.float64], names: Sequence[str]
) -> None:
    """Draw one line per column along p, with a legend beside them."""
    for index, (column, name) in enumerate(zip(values.T, names, strict=True)):
        label = plain_text(name, 24) if index < _MAX_NAMED else None
        axes.plot(x, column, marker=".", linewidth=1.4, label=label, **line_style(index))
    axes.axvline(1.0, color=GREY, linewidth=0.8, linestyle=":")
    axes.grid()
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=SMALL)


def _mark_trade_offs(axes: Axes, finite: NDArray[np.float64], infinite: float | None) -> None:
    """Label the finite p with powers of ten, and the position of infinity."""
    axes.set(
        xscale="log", xlabel="Trade-off p (below 1: easy tasks first, above 1: hard tasks first)"
    )
    if infinite is None:
        return
    low, high = np.log10([finite.min(initial=1.0), finite.max(initial=1.0)])
    powers = np.arange(np.floor(low), np.floor(high) + 1)
    axes.set_xticks(
        [*10.0**powers, infinite], labels=[*(f"$10^{{{k:.0f}}}$" for k in powers), r"$\infty$"]
    )


def _draw_front(
    axes: Axes, p: NDArray[np.float64], objectives: NDArray[np.float64], tasks: Sequence[str]
) -> None:
    """Draw the solutions: two tasks against each other, more tasks as mean and worst."""
    if len(tasks) == 2:
        x, y = objectives.T
        first, second = (f"Objective of {plain_text(task)}" for task in tasks)
        axes.set(xlabel=first, ylabel=second)
    else:
        x, y = objectives.mean(axis=1), objectives.max(axis=1)
        axes.set(xlabel="Mean objective of the tasks", ylabel="Largest objective of a task")
    axes.plot(x, y, color=GREY, linewidth=0.9)
    axes.scatter(x, y, s=26, zorder=3, **{"color": line_style(0)["color"]})
    for i in _with_room(x, y):
        axes.annotate(
            f"p = {p[i]:.3g}", (x[i], y[i]), (5, 4), textcoords="offset points", fontsize=SMALL
        )
    axes.ticklabel_format(useOffset=False)
    axes.locator_params(axis="x", nbins=6)
    axes.set(title="Pareto front")
    axes.grid()


def _with_room(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[int]:
    """Return points whose labels do not overlap, preferring the ends of the path."""
    spread = np.array([np.ptp(x), np.ptp(y)])
    points = np.column_stack([x, y]) / np.where(spread > 0.0, spread, 1.0)
    chosen: list[int] = []
    for i in [0, len(x) - 1, *range(1, len(x) - 1)]:
        is_apart = np.abs(points[chosen] - points[i]) > _ROOM
        if is_apart.any(axis=1).all():
            chosen.append(i)
    return chosen
