"""Values of the sections about one signal: data, similarity, accuracy, calibration, features."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from seqmtl.evaluation.cells import Cells, best_of, draw_dots, metric_cells
from seqmtl.evaluation.curves import draw_reliability
from seqmtl.evaluation.expected import failures
from seqmtl.evaluation.metrics import RECALLS
from seqmtl.evaluation.tables import Column, cells, reliability_rows
from seqmtl.explanation import draw_kmers, draw_logo, draw_poim, poim, top_kmers
from seqmtl.files.streams import read_bytes
from seqmtl.io.dataset import SUMMARY
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.reporting.contents import Signal
from seqmtl.reporting.html import data_url, embedded

_POIM_ORDER = 6
_MAX_LOGOS = 12
_MAX_REASONS = 12
_SPLITS = ("train", "valid", "test")

#: Values of the template of a section; none for a section without content.
Values = dict[str, Any]
Table = dict[str, Any]


def table(columns: list[Column], rows: list[Any]) -> Table:
    """Return the headings and rows of a table, without empty columns."""
    filled = [column for column in columns if any(column.cell(row) for row in rows)]
    return {"head": [column.head for column in filled], "rows": cells(filled, rows)}


def data(signal: Signal) -> Values:
    """Return sites and decoys by organism and split, exclusions, and the check for leakage."""
    summary = signal.dataset
    if not summary:
        return {}
    rows = []
    for name, entry in summary["organisms"].items():
        counts = [entry["splits"].get(split, {}) for split in _SPLITS]
        sites, decoys = ([count.get(key, 0) for count in counts] for key in ("sites", "decoys"))
        numbers = [summary["genomes"][name]["n_bases"], sum(sites), sum(decoys)]
        of_splits = [f"{p:,} / {n:,}" for p, n in zip(sites, decoys, strict=True)]
        rows.append([name, *(f"{n:,}" for n in numbers), *of_splits])
    excluded = sorted(summary["excluded"].items(), key=lambda item: -item[1])[:_MAX_REASONS]
    return {
        "head": ["Organism", "Genome (bases)", "Sites", "Decoys"]
        + [f"{split}: sites / decoys" for split in _SPLITS],
        "rows": rows,
        "window": summary["window"],
        "sites": signal.text,
        "excluded": [[reason, f"{n:,}"] for reason, n in excluded],
        "leakage": [[name, f"{n:,}"] for name, n in _nested(summary["leakage"])],
        "files": [os.path.join(signal.folder, SUMMARY)],
    }


def _nested(entries: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Yield the names and values of a mapping, which may be nested."""
    for name, value in entries.items():
        label = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _nested(value, f"{label}: ")
        else:
            yield label, value


def accuracy(signal: Signal) -> Values:
    """Return the metrics of all models that were evaluated, and the curves of the main one."""
    if not signal.metrics:
        return {}
    metrics = signal.ordered_metrics()
    files = [signal.metric_files[name] for name in metrics]
    curves = [(name, data_url(read_bytes(path), path[-3:])) for name, path in signal.curves.items()]
    over = "AUPRC over every candidate in the test regions"
    values = {**results(metrics, signal.main), "over": over, "curves": curves, "files": files}
    return {"metrics": values}


def results(methods: Mapping[str, Mapping[str, Any]], shown: str) -> Values:
    """Return metrics by organism as tables and pictures.

    Parameters
    ----------
    methods : mapping of str to mapping
        Results of ``seqmtl evaluate`` by method; the organisms are those of the first.
    shown : str
        The method whose probabilities are shown, if it has any.
    """
    bootstrap = next(iter(methods.values()))["bootstrap"]
    auroc, auprc = (metric_cells(methods, metric) for metric in ("auroc", "auprc_genome"))
    tasks = methods.get(shown, {}).get("tasks", {})
    bins = reliability_rows(tasks)
    interval = (
        f"{100 * bootstrap['confidence']:g} % intervals ({bootstrap['n_resamples']} resamples)"
    )
    return {
        "warnings": failures(tasks),
        "interval": interval if bootstrap["n_resamples"] else "",
        "has_rivals": len(methods) > 1,
        "auroc": _best_in_bold(auroc),
        "auprc": _best_in_bold(auprc),
        "dots": embedded(lambda: draw_dots({"AUROC": auroc, "AUPRC (genome)": auprc})),
        "reliability": embedded(lambda: draw_reliability(tasks)) if bins else "",
        "precision": _precision(methods),
        "expected": _expected(bins),
        "curves": [],
    }


def _best_in_bold(table: Cells) -> Table:
    """Return the table of one metric; the best of a row is bold."""
    from markupsafe import Markup

    rows = []
    for name, row in table.items():
        best = best_of(row)
        texts = [Markup("<b>{}</b>").format(c) if m in best else str(c) for m, c in row.items()]
        rows.append([name, *texts])
    return {"head": ["Organism", *next(iter(table.values()))], "rows": rows}


def _precision(methods: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the precision over the whole genome at several recalls, and expected sites."""
    columns = [
        Column("Organism", "name"),
        Column("Model", "method"),
        Column("Prevalence", ("genome", "prevalence"), ".2g"),
        Column("AUPRC (genome)", ("genome", "auprc"), ".3f"),
    ]
    columns += [
        Column(f"Precision at {r:.0%} recall", ("genome", "precision_at_recall", str(r)), ".3f")
        for r in RECALLS
    ]
    columns += [Column("True sites", "n_positive", ","), Column("Expected", "expected", ",.1f")]
    rows = [
        {"name": name, "method": method, **task}
        for method, metrics in methods.items()
        for name, task in metrics["tasks"].items()
    ]
    rows.sort(key=lambda row: str(row["name"]))
    return table(columns, rows)


def _expected(bins: list[dict[str, Any]]) -> Table:
    """Return the expected and the true number of sites by probability."""
    columns = [
        Column("Organism", "organism"),
        Column("Probability", "probability"),
        Column("Candidates", "n", ",.0f"),
        Column("Expected", "expected", ",.1f"),
        Column("True sites", "true", ",.0f"),
        Column("95 % interval", "true_interval", ",.1f"),
        Column("Calibrated", "calibrated"),
    ]
    return table(columns, bins)


def features(signal: Signal) -> Values:
    """Return logos and the importance of k-mers of the organisms of the main model.

    Without a site, return the weights of k-mers.
    """
    if not signal.models:
        return {}
    path = signal.files[signal.main]
    model = MultiTaskModel.load(path)
    names = model.tasks[:_MAX_LOGOS]
    values: Values = {"n_others": len(model.tasks) - len(names), "files": [path]}
    values |= {"kmers": [], "poims": []}
    if model.is_sliding:
        drawn = [embedded(partial(draw_kmers, top_kmers(model, name), name)) for name in names]
        return {**values, "kmers": list(zip(names, drawn, strict=True))} if all(drawn) else {}
    order = min(_POIM_ORDER, model.length)
    poims = [poim(model, name, max_order=order) for name in names]
    logo = embedded(lambda: draw_logo(*poims))
    if not logo:
        return {}
    return {
        **values,
        "logo": logo,
        "organisms": [each.label for each in poims],
        "poims": [(each.label, embedded(partial(draw_poim, each))) for each in poims],
    }
