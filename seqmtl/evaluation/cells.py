"""Values with intervals, by task and method: their means, which lead, and as dots."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._style import (
    GREY,
    PALE,
    SMALL,
    WIDTH,
    figure_style,
    new_figure,
    plain_text,
    point_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEAN = "mean"
_NOTE = 88  # letters of a line below a picture
#: Explains bold print in a table.
BOLD = "bold: best in its row, and ties within the interval; no bold if all tie"


class Cell(NamedTuple):
    """Mean over the splits, with the standard deviation (n - 1) or, for one split, an interval."""

    mean: float
    sd: float | None
    interval: tuple[float, float] | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the interval, or of one standard deviation to either side."""
        spread = self.sd or 0.0
        return self.interval or (self.mean - spread, self.mean + spread)

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "n/a"
        if self.interval is not None:
            return f"{self.mean:.4f} ({self.interval[0]:.4f}-{self.interval[1]:.4f})"
        return f"{self.mean:.4f}" + ("" if self.sd is None else f" ± {self.sd:.4f}")


Cells = Mapping[str, Mapping[str, Cell]]
_UNKNOWN = Cell(math.nan, None)


def mean_cell(cells: Sequence[Cell]) -> Cell:
    """Return the mean of cells of one split, with the interval that follows from theirs.

    The errors of organisms are independent, so that their squares add up.
    """
    if not cells:
        return _UNKNOWN
    mean = float(np.mean([cell.mean for cell in cells]))
    if any(cell.interval is None for cell in cells):
        return Cell(mean, None)
    below, above = (
        math.sqrt(sum((cell.bounds[k] - cell.mean) ** 2 for cell in cells)) / len(cells)
        for k in (0, 1)
    )
    return Cell(mean, None, (mean - below, mean + above))


def metric_cells(methods: Mapping[str, Mapping[str, Any]], metric: str) -> Cells:
    """Return the values of a metric by organism and method, with the means last."""
    names = list(next(iter(methods.values()))["tasks"])
    cells: dict[str, dict[str, Cell]] = {name: {} for name in [*names, MEAN]}
    for method, metrics in methods.items():
        for name, row in cells.items():
            task = metrics["tasks"].get(name, {})
            value = task.get(metric)
            interval = task.get(f"{metric}_interval")
            row[method] = Cell(np.nan if value is None else value, None, interval)
        of_tasks = [cells[name][method] for name in names]
        cells[MEAN][method] = mean_cell([cell for cell in of_tasks if not np.isnan(cell.mean)])
    return cells


def best_of(cells: Mapping[str, Cell]) -> set[str]:
    """Return the methods that lead: the best mean, and those that tie with it; none if all do.

    Two methods tie if the mean of one is within the interval of the other, or if both means are
    displayed alike.
    """
    measured = {method: cell for method, cell in cells.items() if not math.isnan(cell.mean)}
    best = max(measured.values(), key=lambda cell: cell.mean, default=_UNKNOWN)
    leading = {method for method, cell in measured.items() if tie(cell, best)}
    return leading if len(leading) < len(measured) else set()


def tie(one: Cell, other: Cell) -> bool:
    """Return whether cells differ by no more than an interval of theirs, or not as displayed."""
    worse, better = sorted([one, other], key=lambda cell: cell.mean)
    alike = f"{worse.mean:.4f}" == f"{better.mean:.4f}"
    return alike or worse.bounds[1] >= better.mean or better.bounds[0] <= worse.mean


def draw_dots(tables: Mapping[str, Cells], note: str = "") -> Figure:
    """Draw a panel per table, with a row of dots per organism and one for the mean.

    A row is as high as its methods need, so that any number of organisms is readable. Lines extend
    over the bounds of the cells. The scale is that of the values, not from zero.

    Parameters
    ----------
    tables : mapping of str to mapping
        By title, the cells of every organism, the mean last, and method.
    note : str, optional
        What the lines are, to be written below.
    """
    first = next(iter(tables.values()))
    methods = list(first[MEAN])
    with figure_style():
        lines = textwrap.wrap(note, _NOTE)
        height = 1.1 + 0.2 * len(lines) + len(first) * max(0.14 * len(methods), 0.26)
        figure = new_figure(WIDTH, height)
        panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
        for axes, (title, table) in zip(panels, tables.items(), strict=True):
            rows = _draw_panel(axes, table, methods)
            axes.set(title=title)
        panels[0].set_yticks(rows, [plain_text(name, 30) for name in first])
        panels[0].get_yticklabels()[-1].set_fontweight("bold")
        handles, labels = panels[0].get_legend_handles_labels()
        if len(methods) > 1:
            columns = min(len(methods), 4)
            figure.legend(handles, labels, loc="outside upper center", ncols=columns)
        if lines:
            figure.supxlabel("\n".join(lines), fontsize=SMALL)
    return figure


def _draw_panel(axes: Axes, table: Cells, methods: list[str]) -> NDArray[np.float64]:
    """Draw the dots of one metric, the first organism on top; return the y positions of rows."""
    spacing = 0.72 / len(methods)
    rows = np.arange(len(table), dtype=np.float64)
    for m, method in enumerate(methods):
        cells = [row[method] for row in table.values()]
        low, high = np.array([cell.bounds for cell in cells]).T
        y = rows + (m - (len(methods) - 1) / 2) * spacing
        style = point_style(m)
        has_bounds = high > low
        bounds = y[has_bounds], low[has_bounds], high[has_bounds]
        axes.hlines(*bounds, color=style["color"], linewidth=1.3)
        means = [cell.mean for cell in cells]
        axes.plot(means, y, linestyle="none", label=plain_text(method), **style)
    for row_y in rows[1:-1]:
        axes.axhline(row_y - 0.5, color="white", linewidth=3, zorder=0.6)
    axes.axhspan(rows[-1] - 0.5, rows[-1] + 0.5, color=PALE, zorder=0.5)
    axes.set(ylim=(rows[-1] + 0.5, -0.5))
    axes.margins(x=0.04)
    axes.locator_params(axis="x", nbins=4)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_color(GREY)
    return rows
