"""The result of an evaluation: a dictionary that shows itself in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seqmtl._html import Markup, element, join, line, svg, table, words
from seqmtl._style import GREY, GRID, PALETTE

_LEFT, _WIDTH, _ROW = 150, 480, 22  # CSS pixels
_MEAN = "mean"


class Evaluation(dict[str, Any]):
    """The metrics of tasks and their means, as JSON values: an ordinary dictionary.

    Its text is one line, and notebooks show a table, and dots with the intervals of the AUPRC or
    of the first of other metrics.
    """

    def __repr__(self) -> str:
        if not ("tasks" in self and _MEAN in self):
            return super().__repr__()
        means = ", ".join(f"{key} {_number(self[_MEAN][key])}" for key in self._metrics())
        n = len(self["tasks"])
        return f"Evaluation of {n} task{'s' * (n != 1)}: mean {means}"

    def _repr_html_(self) -> str:
        if not ("tasks" in self and _MEAN in self):
            return element("pre", super().__repr__())
        metrics = self._metrics()
        rows: list[list[object]] = [
            [name, f"{task['n']:,}", *(_with_interval(task, key) for key in metrics)]
            for name, task in self["tasks"].items()
        ]
        rows.append([_MEAN, "", *(_number(self[_MEAN][key]) for key in metrics)])
        shown = table(["task", "n", *metrics], rows, repr(self), has_total=True)
        drawn = next((metric for metric in metrics if metric.startswith("auprc")), metrics[0])
        return join([shown, self._dots(drawn)])

    def _metrics(self) -> list[str]:
        return [key for key in self[_MEAN] if key != "n_tasks"]

    def _dots(self, metric: str) -> Markup:
        """Return a row for each task: its value and its interval."""
        found = {
            name: (task[metric], *(task.get(f"{metric}_interval") or ()))
            for name, task in {**self["tasks"], _MEAN: self[_MEAN]}.items()
            if task.get(metric) is not None
        }
        if not found:
            return Markup()
        values = [value for own in found.values() for value in own]
        low, high = min(values), max(values)
        scale = (_WIDTH - _LEFT - 60) / ((high - low) or 1.0)
        parts = [words(_LEFT, 14, metric, font_weight="bold")]
        for row, (name, own) in enumerate(found.items()):
            y = _ROW * (row + 1.5)
            x = [_LEFT + 5 + scale * (value - low) for value in own]
            parts += [line(_LEFT, y, _WIDTH - 50, y, GRID), words(4, y + 4, name)]
            parts += [line(x[1], y, x[2], y, PALETTE[0], stroke_width=2)] if len(x) > 1 else []
            parts.append(element("circle", "", cx=x[0], cy=y, r=4, fill=PALETTE[0]))
            parts.append(words(_WIDTH - 42, y + 4, _number(own[0]), fill=GREY))
        return svg(_WIDTH, _ROW * (len(found) + 1.5), parts, f"{metric} by task")


def _number(value: float | None) -> str:
    return "NA" if value is None else f"{value:.4f}"


def _with_interval(task: Mapping[str, Any], metric: str) -> str:
    interval = task.get(f"{metric}_interval")
    shown = _number(task.get(metric))
    return f"{shown} ({interval[0]:.4f}-{interval[1]:.4f})" if interval else shown
