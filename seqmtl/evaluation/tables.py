"""Tables of text: columns with their headings, keys and formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from seqmtl._html import Markup, table
from seqmtl.evaluation.metrics import AUPRC_TITLES, RECALLS


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


def as_html(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], caption: str) -> Markup:
    """Return rows as a table of HTML, without columns that are empty in all of them."""
    filled = [column for column in columns if any(column.cell(row) for row in rows)]
    return table([column.head for column in filled], cells(filled, rows), caption)


def stacked(tables: Sequence[str]) -> str:
    """Return tables of the same columns as one."""
    return "".join([tables[0], *(table.partition("\n")[2] for table in tables[1:])])


def metrics_table(metrics: Mapping[str, Any], **labels: str) -> str:
    """Format metrics, with those of genomes and of probabilities if there are any.

    Parameters
    ----------
    metrics : mapping
        Result of :func:`~seqmtl.evaluation.evaluate`.
    **labels : str
        Further columns before the others: headings, and the text of every row.
    """
    label_columns = [Column(label, label) for label in labels]
    rows = _named({**metrics["tasks"], "mean": metrics["mean"]})
    columns = [Column("organism", "name"), *_metric_columns(metrics["mean"], rows[0])]
    return tab_separated([*label_columns, *columns], [{**labels, **row} for row in rows])


def _metric_columns(mean: Mapping[str, Any], task: Mapping[str, Any]) -> list[Column]:
    """Return the columns of metrics that the mean or a task has."""
    auprc = next(key for key in AUPRC_TITLES if key in mean)
    columns = [Column("n", "n"), Column("positive", "n_positive")]
    for metric in ("auroc", auprc):
        columns += [
            Column(metric, metric, ".4f"),
            Column(f"{metric}_95", f"{metric}_interval", ".4f"),
        ]
    if "genome" in task:
        columns.append(Column("prevalence", ("genome", "prevalence"), ".2g"))
        columns += [
            Column(f"precision_{100 * r:.0f}", ("genome", "precision_at_recall", str(r)), ".4f")
            for r in RECALLS
        ]
    if "expected" in task:
        columns += [
            Column("expected", "expected", ".1f"),
            Column("error_0.1", "error_likely", ".4f"),
            Column("holds", ("reliability", 0, "holds")),
        ]
    return columns


def reliability_table(tasks: Mapping[str, Mapping[str, Any]], **labels: str) -> str:
    """Format the rows of :func:`~seqmtl.evaluation.expected_sites`.

    Parameters
    ----------
    tasks : mapping of str to mapping
        Entries by task; those without "reliability" have no rows.
    **labels
        See :func:`metrics_table`.
    """
    columns = [Column(label, label) for label in labels]
    columns += [
        Column("organism", "name"),
        Column("probability", "probability"),
        Column("candidates", "n", ".0f"),
        Column("expected", "expected", ".1f"),
        Column("true", "true", ".0f"),
        Column("true_95", "true_interval", ".1f"),
        Column("holds", "holds"),
    ]
    return tab_separated(columns, [{**labels, **row} for row in reliability_rows(tasks)])


def thresholds_table(tasks: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the thresholds of calibrated organisms with the calibration of the organisms."""
    columns = [
        Column("organism", "name"),
        Column("method", "method"),
        Column("n", "n"),
        Column("positive", "n_positive"),
        Column("prevalence", "prevalence", ".2g"),
        Column("expected", "expected", ".1f"),
        Column("error_0.1", "error_likely", ".3f"),
        Column("error", "calibration_error", ".2g"),
        Column("recall", "recall", ".2f"),
        Column("precision", "precision", ".3f"),
        Column("score", "score", ".4f"),
        Column("probability", "probability", ".4g"),
    ]
    return tab_separated(columns, threshold_rows(tasks))


def threshold_rows(tasks: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for every threshold of every organism, with the entry of the organism."""
    return [{**task, **row} for task in _named(tasks) for row in task["thresholds"]]


def reliability_rows(tasks: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for every bin of the probability of every organism."""
    rows = []
    for name, task in tasks.items():
        rows += [{"name": name, **row} for row in task.get("reliability", [])]
    return rows


def _named(entries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return entries as rows with their names."""
    return [{"name": name, **entry} for name, entry in entries.items()]
