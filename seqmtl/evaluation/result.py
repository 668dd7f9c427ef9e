"""The result of an evaluation: a dictionary with a display in notebooks."""

from __future__ import annotations

from typing import Any

from seqmtl._html import notebook, picture, table
from seqmtl.evaluation.cells import MEAN, draw_dots, metric_cells


class Evaluation(dict[str, Any]):
    """The metrics of tasks and their means, as JSON values: an ordinary dictionary.

    Its text is one line, and notebooks show a table, and dots with the intervals of the AUPRC.
    """

    def __repr__(self) -> str:
        if not ("tasks" in self and MEAN in self):
            return super().__repr__()
        means = ", ".join(f"{key} {_number(self[MEAN][key])}" for key in self._metrics())
        n = len(self["tasks"])
        return f"Evaluation of {n} task{'s' * (n != 1)}: mean {means}"

    def _repr_html_(self) -> str:
        if not ("tasks" in self and MEAN in self):
            return notebook(super().__repr__())
        tables = {metric: metric_cells({"": self}, metric) for metric in self._metrics()}
        sizes = {name: f"{task['n']:,}" for name, task in self["tasks"].items()} | {MEAN: ""}
        rows = [
            [name, n, *(str(cells[name][""]) for cells in tables.values())]
            for name, n in sizes.items()
        ]
        parts = [table(["task", "n", *tables], rows, has_total=True)]
        drawn = next(name for name in tables if name.startswith("auprc"))
        if self[MEAN][drawn] is not None:
            parts.append(picture(lambda: draw_dots({drawn: tables[drawn]}), f"{drawn} by task"))
        return notebook(repr(self), *parts)

    def _metrics(self) -> list[str]:
        return [key for key in self[MEAN] if key != "n_tasks"]


def _number(value: float | None) -> str:
    return "NA" if value is None else f"{value:.4f}"
