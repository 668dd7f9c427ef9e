"""Sections of the page about one signal: data, similarity, accuracy, calibration, weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from seqmtl._html import Markup, details, element, embed, join, picture, table
from seqmtl.evaluation.cells import BOLD, Cells, best_of, draw_dots, metric_cells
from seqmtl.evaluation.curves import draw_reliability
from seqmtl.evaluation.expected import failures
from seqmtl.evaluation.metrics import RECALLS
from seqmtl.evaluation.tables import Column, as_html, reliability_rows, threshold_rows
from seqmtl.explanation import poim
from seqmtl.explanation.figures import draw_logo, draw_poim
from seqmtl.files.streams import read_bytes
from seqmtl.relations.figure import draw_kernel
from seqmtl.reporting.figures import draw_convergence
from seqmtl.reporting.folder import Signal

_POIM_ORDER = 6
_MOST_ORGANISMS = 12  # with logos
_MOST_REASONS = 12
_SPLITS = ("train", "valid", "test")


def data(signal: Signal) -> Markup:
    """Return sites and decoys by organism and split, items left out, and the leakage check."""
    summary = signal.dataset
    if not summary:
        return Markup()
    head = ["Organism", "Genome (bases)", "Sites", "Decoys"]
    head += [f"{split}: sites / decoys" for split in _SPLITS]
    rows = []
    for name, entry in summary["organisms"].items():
        counts = [entry["splits"].get(split, {}) for split in _SPLITS]
        sites, decoys = ([count.get(key, 0) for count in counts] for key in ("sites", "decoys"))
        numbers = [summary["genomes"][name]["n_bases"], sum(sites), sum(decoys)]
        rows.append(
            [
                name,
                *(f"{n:,}" for n in numbers),
                *(f"{p:,} / {n:,}" for p, n in zip(sites, decoys, strict=True)),
            ]
        )
    caption = f"Windows of {summary['window']} bases around {summary['signal']} sites and decoys."
    reasons = sorted(summary["left_out"].items(), key=lambda item: -item[1])[:_MOST_REASONS]
    left_out = _counts("Left out", reasons, "Number", "What is not in the data, and why")
    leaks = _counts(
        "Check for leaks",
        _nested(summary["leakage"]),
        "Windows",
        "What splits have in common in the end, duplicates left out",
    )
    more = details("Sites left out, and what splits have in common", [left_out, leaks])
    return join([table(head, rows, caption), more])


def _counts(first: str, counts: Any, second: str, caption: str) -> Markup:
    """Return a table of numbers by name."""
    return table([first, second], [[name, f"{n:,}"] for name, n in counts], caption)


def _nested(entries: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Yield the names and values of a mapping, which may be nested."""
    for name, value in entries.items():
        label = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _nested(value, f"{label}: ")
        else:
            yield label, value


def similarity(signal: Signal) -> Markup:
    """Return the task kernel of the main model."""
    if not signal.models or len(signal.organisms) < 2:
        return Markup()
    model = signal.models[signal.main]
    kernel = model.kernel.restrict(model.tasks).scaled()
    beside = "the tree given" if signal.tree else "a tree that joins the most similar first"
    caption = (
        f"Similarity of the organisms ({model.kernel.source}), from 0 (independent) to 1 (the "
        f"same), beside {beside}."
    )
    title = "Tree of the organisms beside the heat map of their similarity"
    return picture(lambda: draw_kernel(kernel, signal.tree), title, caption)


def weights(signal: Signal) -> Markup:
    """Return the kernel weights of the main model (MKL)."""
    kernels = signal.models[signal.main].training.get("mkl", []) if signal.models else []
    columns = [
        Column("Similarity", "label"),
        Column("Kind", "view"),
        Column("Organisms", "n_tasks"),
        Column("Weight", "weight", ".3f"),
    ]
    rows = [{**kernel, "n_tasks": len(kernel["tasks"])} for kernel in kernels]
    return as_html(columns, rows, "Weight of the kernel of every clade, scale or graph")


def hyperparameters(signal: Signal) -> Markup:
    """Return the selected hyperparameters of every organism of the main model."""
    if not signal.models:
        return Markup()
    training = signal.models[signal.main].training
    tasks, added = training.get("selection", {}).get("tasks", {}), training.get("adapted", {})
    columns = [
        Column("Organism", "name"),
        Column("Trust in relatives", "trust", ".2f"),
        Column("C", "C", ".2g"),
    ]
    rows = [{"name": name, **task} for name, task in tasks.items()]
    rows += [
        {"name": name, "trust": sum(float(x) * share for x, share in facts["trust"].items())}
        for name, facts in added.items()
        if "trust" in facts
    ]
    caption = "By cross-validation" + "; without C: added by seqmtl adapt" * (
        len(rows) > len(tasks)
    )
    return as_html(columns, rows, caption)


def accuracy(signal: Signal) -> Markup:
    """Return tables and bars of all models that were evaluated, and the curves of the main one."""
    if not signal.metrics:
        return Markup()
    parts = [results("every candidate in the test regions", signal.rivals(), signal.main)]
    parts += [
        element("p", f"{name} has the weights of {other}, and so its accuracy.")
        for name, other in signal.copies().items()
    ]
    for name, path in signal.curves.items():
        alternative = f"ROC and precision-recall curves of {name}"
        caption = f"Curves of {name} over every candidate in the test regions."
        parts.append(embed(read_bytes(path), path[-3:], alternative, caption))
    return join(parts)


def results(over: str, methods: Mapping[str, Mapping[str, Any]], best: str) -> Markup:
    """Return the metrics of methods by organism as dots and tables, and those over the genome.

    Parameters
    ----------
    over : str
        What the metrics are over.
    methods : mapping of str to mapping
        Results of ``seqmtl evaluate`` by method; the organisms are those of the first.
    best : str
        The method whose probabilities are shown, if it has any.
    """
    first = next(iter(methods.values()))
    caption = f"Over {over}."
    dots = "AUROC and AUPRC (genome). The scales do not begin at 0."
    has_intervals = first["bootstrap"]["n_resamples"] > 0
    if len(methods) > 1:
        caption = f"Over {over}; {BOLD if has_intervals else 'bold: best in its row'}."
    if has_intervals:
        dots = dots.replace(".", " with their intervals.", 1)
        caption += (
            f" Beside each value, the {100 * first['bootstrap']['confidence']:g}"
            f"\N{NO-BREAK SPACE}% interval of {first['bootstrap']['n_resamples']} bootstrap "
            "resamples."
        )
    tables = {
        title: metric_cells(methods, metric)
        for metric, title in (("auroc", "AUROC"), ("auprc_genome", "AUPRC (genome)"))
    }
    title = "AUROC and AUPRC by organism and method"
    tasks = methods.get(best, {}).get("tasks", {})
    bins = reliability_rows(tasks)
    auroc, auprc = (_best_in_bold(title, cells, caption) for title, cells in tables.items())
    return join(
        [
            *(element("p", element("b", f"{line}.")) for line in failures(tasks)),
            picture(lambda: draw_dots(tables), title, dots),
            *([_reliability(tasks)] if bins else []),
            auprc,
            details("AUROC", [auroc]),
            details("Precision by the share of sites found", [_genome_table(methods)]),
            details("Expected and true sites", [_expected(bins)]),
        ]
    )


def _best_in_bold(title: str, cells: Cells, caption: str) -> Markup:
    """Return a table of one metric; the best of a row is bold."""
    rows = []
    for name, row in cells.items():
        best = best_of(row)
        row_cells = [element("b", cell) if method in best else cell for method, cell in row.items()]
        rows.append([name, *row_cells])
    return table([title, *next(iter(cells.values()))], rows, caption, has_total=True)


def _genome_table(methods: Mapping[str, Mapping[str, Any]]) -> Markup:
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
    return as_html(
        columns,
        rows,
        "Over every candidate in the held-out part of the genome: AUPRC, and precision where 50, "
        "80 and 95 % of the sites are found. Expected is the sum of all probabilities.",
    )


def calibration(signal: Signal) -> Markup:
    """Return the thresholds of the main model."""
    model = signal.models.get(signal.main)
    if model is not None and model.kind == "classification" and model.curves:
        columns = [
            Column("Organism", "name"),
            Column("Method", "method"),
            Column("Sites found", "recall", ".0%"),
            Column("Score", "score", ".3f"),
            Column("Probability", "probability", ".3g"),
            Column("Precision", "precision", ".3f"),
        ]
        rows = threshold_rows(model.training["calibration"])
        caption = "Thresholds, from the candidates of the calibration"
        return as_html(columns, rows, caption)
    return Markup()


def _reliability(tasks: Mapping[str, Mapping[str, Any]]) -> Markup:
    """Return a picture of the share of true sites by probability."""
    return picture(
        lambda: draw_reliability(tasks),
        "Share of true sites by predicted probability",
        "Reliability: of the candidates with a probability near 0.9, nine in ten should be true "
        "sites. Dots: the share of true sites; bars: its 95 % interval if the probabilities hold. "
        "Below: numbers of candidates (grey) and of true sites (blue). All are in the test "
        "regions.",
    )


def _expected(bins: Sequence[Mapping[str, Any]]) -> Markup:
    """Return a table of the sites expected and true, by probability."""
    columns = [
        Column("Organism", "name"),
        Column("Probability", "probability"),
        Column("Candidates", "n", ",.0f"),
        Column("Expected", "expected", ",.1f"),
        Column("True sites", "true", ",.0f"),
        Column("95 % interval", "true_interval", ",.1f"),
        Column("Holds", "holds"),
    ]
    caption = (
        "Expected is the sum of the probabilities. The interval is where the number of true sites "
        "would be if the probabilities hold (bootstrap over blocks of the genome, or Poisson, "
        "whichever is wider). Probabilities do not hold where both numbers differ by more than a "
        "factor of 1.25, and by more than chance if sites are independent (Poisson)."
    )
    return as_html(columns, bins, caption)


def training(signal: Signal) -> Markup:
    """Return the convergence of all models; copies of a model count once."""
    runs: dict[str, Any] = {}
    for name, model in signal.models.items():
        history = model.training.get("history")
        if history and history not in runs.values():
            runs[name] = history
    if not runs:
        return Markup()
    tolerances = {signal.models[name].training["settings"]["tol"] for name in runs}
    return picture(
        lambda: draw_convergence(runs, min(tolerances) if len(tolerances) == 1 else None),
        "Distance from the optimum by passes over the training windows",
        "A bound on how far training is from its optimum: the relative duality gap.",
    )


def feature_importance(signal: Signal) -> Markup:
    """Return a logo and the importance of oligomers for each organism of the main model."""
    if not signal.models:
        return Markup()
    model = signal.models[signal.main]
    order = min(_POIM_ORDER, model.length)
    poims = [poim(model, name, max_order=order) for name in model.tasks[:_MOST_ORGANISMS]]
    caption = (
        "What a letter at a position adds to the expected score of a random sequence. The letters "
        "of the site, shaded, are in every candidate, and so add little."
    )
    alternative = f"Logos of {', '.join(p.label for p in poims)}"
    parts = [picture(lambda: draw_logo(*poims), alternative, caption)]
    n_more = len(model.tasks) - _MOST_ORGANISMS
    if n_more > 0:
        parts.append(element("p", f"{n_more} more organisms: see seqmtl explain."))
    caption = (
        "Positional oligomer importance (Sonnenburg 2008): the largest of all oligomers of a "
        "length that start at a position."
    )
    drawings = [
        picture(partial(draw_poim, each), f"Importance of oligomers, {each.label}", caption)
        for each in poims
    ]
    return join(
        filter(None, [*parts, details("Importance of oligomers over the whole window", drawings)])
    )


def models(signal: Signal) -> Markup:
    """Return the provenance of every model."""
    rows, commands = [], []
    for name, model in signal.models.items():
        facts = model.training
        settings = ", ".join(
            f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in facts["settings"].items()
            if value is not None
        )
        gap = f"{facts['duality_gap']:.1e}" + ("" if facts["converged"] else " (stopped)")
        n_windows = sum(task["n"] for task in facts["tasks"].values())
        features = f"{model.features}: {model.W.shape[0]:,} weights"
        rows.append(
            [name, wrapped(features), model.length, f"{n_windows:,}", gap, wrapped(settings)]
        )
        if facts.get("command"):
            commands.append(element("pre", element("code", facts["command"])))
    head = ["Model", "Features", "Window", "Training windows", "Duality gap", "Settings"]
    return details("Settings and commands", [table(head, rows, "Models of this signal"), *commands])


def wrapped(content: str) -> Markup:
    """Return text that may wrap within a cell."""
    return element("span", content, class_="wrap")


#: Sections in the order of the page; those without content are omitted.
OF_A_SIGNAL: dict[str, Callable[[Signal], Markup]] = {
    "Data": data,
    "Similarity": similarity,
    "Kernel weights": weights,
    "Hyperparameters": hyperparameters,
    "Accuracy": accuracy,
    "Calibration": calibration,
    "Training": training,
    "Feature importance": feature_importance,
    "Models": models,
}
