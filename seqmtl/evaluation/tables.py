"""Tables of text: columns with their headings, keys and formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from seqmtl.evaluation.metrics import AUPRC_TITLES

_RECALL = 0.8  # of the precision in a table: most sites


class Column(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    head : str
        Heading.
    key : str or tuple
        Key of the value in a row, or the keys that lead to it.
    form : str
        Format of the value, such as ".4f"; of a list, that of its entries, joined by "-".
    """

    head: str
    key: str | tuple[str | int, ...]
    form: str = ""

    def cell(self, row: Mapping[str, Any]) -> str:
        """Format the value of a row: NA if it is None, and nothing if the row has none."""
        value: Any = row
        for key in self.key if isinstance(self.key, tuple) else (self.key,):
            if isinstance(value, Mapping) and key not in value:
                return ""
            value = value[key]
        if value is None:
            return "NA"
        values = value if isinstance(value, list | tuple) else [value]
        return "-".join(format(one, self.form) for one in values)


def cells(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Format every row."""
    return [[column.cell(row) for column in columns] for row in rows]


def tab_separated(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> str:
    """Format rows as a table with a header line."""
    lines = [[column.head for column in columns], *cells(columns, rows)]
    return "".join("\t".join(line) + "\n" for line in lines)


def metrics_table(metrics: Mapping[str, Any], **labels: str) -> str:
    """Format AUPRC, AUROC and, over genomes, the precision at 80 % recall.

    Parameters
    ----------
    metrics : mapping
        Result of :func:`~seqmtl.evaluation.evaluate`.
    **labels : str
        Further columns before the others: headings, and the text of every row.
    """
    auprc = next(key for key in AUPRC_TITLES if key in metrics["mean"])
    columns = [Column(name, name) for name in (*labels, "organism")]
    columns += [Column(metric, metric, ".4f") for metric in (auprc, "auroc")]
    rows = _named({**metrics["tasks"], "mean": metrics["mean"]})
    if "genome" in rows[0]:
        keys = ("genome", "precision_at_recall", str(_RECALL))
        columns.append(Column(f"precision_{100 * _RECALL:.0f}", keys, ".4f"))
    return tab_separated(columns, [{**labels, **row} for row in rows])


def reliability_table(tasks: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the rows of :func:`~seqmtl.evaluation.expected_sites`.

    Parameters
    ----------
    tasks : mapping of str to mapping
        Entries by task; those without "reliability" have no rows.
    """
    columns = [
        Column("organism", "organism"),
        Column("probability", "probability"),
        Column("candidates", "n", ".0f"),
        Column("expected", "expected", ".1f"),
        Column("true", "true", ".0f"),
        Column("true_ci95", "true_interval", ".1f"),
        Column("calibrated", "calibrated"),
    ]
    return tab_separated(columns, reliability_rows(tasks))


def thresholds_table(tasks: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the score thresholds of calibrated organisms."""
    columns = [
        Column("organism", "organism"),
        Column("recall", "recall", ".2f"),
        Column("precision", "precision", ".3f"),
        Column("score", "score", ".4f"),
        Column("probability", "probability", ".4g"),
    ]
    rows = [{**task, **row} for task in _named(tasks) for row in task["thresholds"]]
    return tab_separated(columns, rows)


def reliability_rows(tasks: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for every bin of the probability of every organism."""
    rows = []
    for name, task in tasks.items():
        rows += [{"organism": name, **row} for row in task.get("reliability", [])]
    return rows


def _named(entries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return entries as rows with their names."""
    return [{"organism": name, **entry} for name, entry in entries.items()]
