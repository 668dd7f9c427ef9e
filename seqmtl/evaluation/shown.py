"""The result of an evaluation: a dictionary that shows itself in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seqmtl._html import element, join, picture, table
from seqmtl.evaluation.cells import MEAN, draw_dots, metric_cells


class Evaluation(dict[str, Any]):
    """The metrics of tasks and their means, as JSON values: an ordinary dictionary.

    Its text is one line, and notebooks show a table, and dots with the intervals of the AUPRC or
    of the first of other metrics.
    """

    def __repr__(self) -> str:
        if not ("tasks" in self and MEAN in self):
            return super().__repr__()
        means = ", ".join(f"{key} {_number(self[MEAN][key])}" for key in self._metrics())
        n = len(self["tasks"])
        return f"Evaluation of {n} task{'s' * (n != 1)}: mean {means}"

    def _repr_html_(self) -> str:
        if not ("tasks" in self and MEAN in self):
            return element("pre", super().__repr__())
        metrics = self._metrics()
        rows: list[list[object]] = [
            [name, f"{task['n']:,}", *(_with_interval(task, key) for key in metrics)]
            for name, task in self["tasks"].items()
        ]
        rows.append([MEAN, "", *(_number(self[MEAN][key]) for key in metrics)])
        shown = table(["task", "n", *metrics], rows, repr(self), has_total=True)
        drawn = next((metric for metric in metrics if metric.startswith("auprc")), metrics[0])
        if self[MEAN][drawn] is None:
            return shown
        try:
            figure = draw_dots({drawn: metric_cells({"": self}, drawn)})
        except ImportError:  # without matplotlib
            return shown
        return join([shown, picture(figure, f"{drawn} by task", "")])

    def _metrics(self) -> list[str]:
        return [key for key in self[MEAN] if key != "n_tasks"]


def _number(value: float | None) -> str:
    return "NA" if value is None else f"{value:.4f}"


def _with_interval(task: Mapping[str, Any], metric: str) -> str:
    interval = task.get(f"{metric}_interval")
    shown = _number(task.get(metric))
    return f"{shown} ({interval[0]:.4f}-{interval[1]:.4f})" if interval else shown
