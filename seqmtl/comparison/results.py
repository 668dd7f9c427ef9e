"""Results of a comparison: a JSON document, tables of means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl._version import __version__
from seqmtl.comparison.protocol import PARTS
from seqmtl.evaluation.cells import BOLD, MEAN, Cell, Cells, best_of, draw_dots, metric_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA_VERSION = 2
METRICS = {"auroc": "AUROC", "auprc_windows": "AUPRC (windows)"}
#: What the AUPRC of a comparison is over.
OVER_WINDOWS = (
    "AUPRC (windows) is over the test windows, with the decoys that were drawn. Over a genome true "
    "sites are rarer, and AUPRC (genome) of seqmtl evaluate is lower."
)

Document = Mapping[str, Any]

#: Values of an organism after a run.
VALUES = (*METRICS, *(f"{metric}_interval" for metric in METRICS))


@dataclass(frozen=True)
class Result:
    """The result of one method on one split; JSON values only.

    Attributes
    ----------
    split : int
        Index of the split, from 0.
    method : str
        Name of the method.
    tasks : dict of str to dict
        "auroc" and "auprc_windows" of every organism on its test windows, and their bootstrap
        intervals ("auroc_interval", ...).
    chosen : dict
        Selected hyperparameters of every organism.
    converged : bool
        Whether training reached the tolerance.
    """

    split: int
    method: str
    tasks: Mapping[str, Mapping[str, Any]]
    chosen: Mapping[str, Any]
    converged: bool


def make_document(
    results: Sequence[Result],
    settings: Mapping[str, Any],
    sizes: Mapping[str, Any],
    drawn: Sequence[str] = PARTS,
) -> dict[str, Any]:
    """Return the JSON document of a comparison.

    Parameters
    ----------
    results : sequence of Result
        Every method on every split.
    settings : mapping
        Command and options, as JSON values.
    sizes : mapping
        Windows and positives by organism and part, equal for all splits.
    drawn : sequence of str
        Parts that are drawn anew for every split.

    Returns
    -------
    dict
        ``{"schema_version", "version", "settings", "splits": [number, ...], "drawn",
        "sizes": {organism: {part: {"n", "n_positive"}}}, "methods": {method: {"tasks":
        {organism: {"auroc": [one per split], "auroc_interval": [...], "auprc_windows": [...],
        "auprc_windows_interval": [...]}}, "chosen": [one per split], "converged": [one per
        split]}}}``.
    """
    splits = sorted({result.split for result in results})
    methods: dict[str, Any] = {}
    for method in dict.fromkeys(result.method for result in results):
        runs = sorted((r for r in results if r.method == method), key=lambda r: r.split)
        methods[method] = {
            "tasks": {
                name: {key: [r.tasks[name][key] for r in runs] for key in VALUES}
                for name in runs[0].tasks
            },
            "chosen": [dict(r.chosen) for r in runs],
            "converged": [r.converged for r in runs],
        }
    return {
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "settings": dict(settings),
        "splits": splits,
        "drawn": list(drawn),
        "sizes": dict(sizes),
        "methods": methods,
    }


def summarize(document: Document, metric: str) -> Cells:
    """Return mean and deviation by organism and method, and for the mean over the organisms.

    The deviation of the mean over the organisms is that from split to split.
    """
    methods = document["methods"]
    if len(document["splits"]) == 1:
        of_split = {
            method: {
                "tasks": {
                    name: {key: values[0] for key, values in task.items()}
                    for name, task in entry["tasks"].items()
                }
            }
            for method, entry in methods.items()
        }
        return metric_cells(of_split, metric)
    names = list(next(iter(methods.values()))["tasks"])
    table: dict[str, dict[str, Cell]] = {name: {} for name in [*names, MEAN]}
    for method, entry in methods.items():
        values = np.array([entry["tasks"][name][metric] for name in names], dtype=np.float64)
        for cells, row in zip(table.values(), [*values, values.mean(axis=0)], strict=True):
            cells[method] = Cell(float(np.mean(row)), float(np.std(row, ddof=1)))
    return table


def draw_comparison(document: Document) -> Figure:
    """Draw one panel per metric, see :func:`~seqmtl.evaluation.cells.draw_dots`."""
    note = spread_text(document)
    return draw_dots({METRICS[metric]: summarize(document, metric) for metric in METRICS}, note)


def to_markdown(document: Document) -> str:
    """Return a table per metric, organisms by methods, with those that lead a row in bold."""
    parts = []
    for metric, title in METRICS.items():
        rows = [[title, *document["methods"]]]
        for name, cells in summarize(document, metric).items():
            best = best_of(cells)
            texts = [f"**{cell}**" if m in best else str(cell) for m, cell in cells.items()]
            rows.append([name.replace("|", r"\|"), *texts])
        parts.append(_aligned(rows))
    return "\n".join([*parts, f"{spread_text(document)}; {BOLD}.\n{OVER_WINDOWS}\n"])


def spread_text(document: Document) -> str:
    """Tell what the numbers beside the means are."""
    n_splits = len(document["splits"])
    if n_splits == 1:
        return "One split, with 95 % bootstrap intervals of its test windows"
    over = f"Mean ± standard deviation over {n_splits} splits"
    return (
        over
        if "test" in document["drawn"]
        else (
            f"{over}, which differ in their training windows; the test windows are the same in all"
        )
    )


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [[text.ljust(n) for text, n in zip(row, widths, strict=True)] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"
