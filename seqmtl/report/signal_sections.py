"""Sections of a page about one signal: data, similarity, accuracy, calibration, weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seqmtl.evaluation import draw_reliability, expected_sites
from seqmtl.evaluation.curves import draw_curves
from seqmtl.explain import poim
from seqmtl.explain.figures import draw_logo, draw_poim
from seqmtl.models.model import MultiTaskModel
from seqmtl.report._html import Markup, element, join, number, picture, table
from seqmtl.report.figures import draw_bars, draw_convergence, draw_weights
from seqmtl.report.folder import Signal
from seqmtl.report.similarity_figure import draw_kernel
from seqmtl.report.track import Track, draw_track, score_track
from seqmtl.similarity import Tree

_POIM_ORDER = 6
_MOST_ORGANISMS = 12  # with logos
_MOST_REASONS = 12


def signal_sections(signal: Signal, tree: Tree | None) -> list[tuple[str, Markup]]:
    """Return the sections of one signal, empty if there is nothing to show."""
    data = ("Data", _data(signal.dataset))
    if not signal.models:
        return [data]
    model = signal.models[signal.main]
    return [
        data,
        ("Similarity", _similarity(model, tree)),
        ("Learnt weights", _weights(model)),
        ("What was chosen", _chosen(model)),
        ("Accuracy", _accuracy(signal)),
        ("Calibration", _calibration(signal)),
        ("Along a chromosome", _track(signal)),
        ("Training", _training(signal)),
        ("What was learnt", _learnt(model)),
        ("Models", _models(signal)),
    ]


def _data(summary: Mapping[str, Any]) -> Markup:
    """Return sites and decoys by organism and split, items left out, and the leakage check."""
    if not summary:
        return Markup()
    splits = ("train", "valid", "test")
    head = ["Organism", "Genome (bases)", "Sites", "Decoys"]
    head += [f"{split}: sites / decoys" for split in splits]
    rows = []
    for name, entry in summary["organisms"].items():
        counts = [entry["splits"].get(split, {}) for split in splits]
        pairs = [(c.get("sites", 0), c.get("decoys", 0)) for c in counts]
        genome = summary["genomes"][name]
        rows.append(
            [
                name,
                f"{genome['n_bases']:,}",
                f"{sum(p for p, _ in pairs):,}",
                f"{sum(n for _, n in pairs):,}",
                *(f"{p:,} / {n:,}" for p, n in pairs),
            ]
        )
    caption = f"Windows of {summary['window']} bases around {summary['signal']} sites and decoys."
    parts = [table([head], rows, caption)]
    reasons = sorted(summary["left_out"].items(), key=lambda item: -item[1])[:_MOST_REASONS]
    if reasons:
        shown = [[reason, f"{count:,}"] for reason, count in reasons]
        parts.append(table([["Left out", "Number"]], shown, "What is not in the data, and why"))
    leaks = [[name, f"{number:,}"] for name, number in _counts(summary["leakage"])]
    caption = "What splits have in common, counted after all such windows were left out"
    parts.append(table([["Check for leaks", "Windows"]], leaks, caption))
    return join(parts)


def _counts(entries: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Yield the names and values of a mapping, which may be nested."""
    for name, value in entries.items():
        label = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _counts(value, f"{label}: ")
        else:
            yield label, value


def _similarity(model: MultiTaskModel, tree: Tree | None) -> Markup:
    if len(model.tasks) < 2:
        return Markup()
    kernel = model.kernel.restrict(model.tasks)
    own = np.diagonal(kernel.matrix)
    costs = "" if np.ptp(own) < 1e-6 * own.max() else (
        " The diagonal is in proportion to the cost C chosen for each organism."
    )  # fmt: skip
    beside = "the tree given" if tree else "a tree that joins the most similar organisms first"
    return picture(
        draw_kernel(kernel, tree),
        "Tree of the organisms beside the heat map of their similarity",
        f"Task kernel ({model.kernel.source}) beside {beside}. The larger a value beside the "
        f"diagonal, the more two organisms share their weights.{costs}",
    )


def _weights(model: MultiTaskModel) -> Markup:
    """Return the learnt weights of the kernels."""
    learnt = model.training.get("mkl", [])
    if not learnt:
        return Markup()
    return picture(
        draw_weights(learnt),
        "Bars of the weight of every kernel",
        "Weight learnt for every similarity (clade, scale or graph).",
    )


def _chosen(model: MultiTaskModel) -> Markup:
    """Return the selected hyperparameters of every organism."""
    chosen = model.training.get("selection", {}).get("tasks", {})
    rows = [
        [name, f"{task['trust']:.2f}" if "trust" in task else "", f"{task['C']:.2g}"]
        for name, task in chosen.items()
    ]
    if not rows:
        return Markup()
    return table([["Organism", "Trust in its relatives", "C"]], rows, "By cross-validation")


def _accuracy(signal: Signal) -> Markup:
    """Return the results table and bars of all models, and the curves of the main model."""
    if signal.main not in signal.metrics:
        return Markup()
    main = signal.main
    names = list(signal.metrics[main]["tasks"])
    parts = [results_table(signal.metrics, names)]
    if names:
        parts.append(
            picture(
                draw_bars(signal.metrics, names),
                "Bars of AUPRC by organism and method with intervals",
                "AUPRC (genome) by organism and model; whiskers are the bootstrap intervals of the "
                "table.",
            )
        )
    parts.append(
        picture(
            draw_curves(*signal.held[main][:4], auprc="auprc_genome"),
            f"ROC and precision-recall curves of {main}",
            f"Curves of {main} over every candidate in the test regions. Dotted lines are what "
            "guessing reaches.",
        )
    )
    return join([*parts, genome_table(signal.metrics)])


def results_table(methods: Mapping[str, Mapping[str, Any]], names: list[str]) -> Markup:
    """Return AUROC and AUPRC of all methods by organism, the best of each row in bold."""
    metrics = {"auroc": "AUROC", "auprc_genome": "AUPRC (genome)"}
    heads: list[list[object]] = [
        [Markup('<th rowspan="2" scope="col">Organism</th>')],
        [method for _ in metrics for method in methods],
    ]
    for metric in metrics:
        heads[0].append(element("th", metrics[metric], colspan=len(methods), scope="colgroup"))
    rows: list[list[object]] = []
    for name in names:
        entries = [result["tasks"].get(name, {}) for result in methods.values()]
        rows.append([name, *(c for m in metrics for c in _metric_cells(entries, m))])
    means = [result["mean"] for result in methods.values()]
    rows.append(["Mean", *(cell for m in metrics for cell in _metric_cells(means, m))])
    bootstrap = next(iter(methods.values())).get("bootstrap")
    caption = "Every candidate in the test regions; the best of each row is bold."
    if bootstrap and bootstrap["n_resamples"]:
        caption += (
            f" Below each value, the {100 * bootstrap['confidence']:g}\N{NO-BREAK SPACE}% interval "
            f"of {bootstrap['n_resamples']} bootstrap resamples."
        )
    return table(heads, rows, caption, has_total=True)


def _metric_cells(entries: list[Mapping[str, Any]], metric: str) -> list[Markup]:
    """Return one metric of all methods; the best, as displayed, is bold, including ties."""
    values = [number(entry.get(metric), 4) for entry in entries]
    best = max((value for value in values if value != "n/a"), default=None)
    cells = []
    for value, entry in zip(values, entries, strict=True):
        is_best = len(entries) > 1 and value == best
        parts = [element("b", value) if is_best else Markup(value)]
        interval = entry.get(f"{metric}_interval")
        if interval:
            parts.append(element("small", Markup(f"{interval[0]:.4f} &ndash; {interval[1]:.4f}")))
        cells.append(join(parts, "<br>"))
    return cells


def genome_table(methods: Mapping[str, Mapping[str, Any]]) -> Markup:
    """Return the precision over the whole genome at several recalls, and expected sites."""
    rows: list[list[object]] = []
    has_expected = False
    for method, metrics in methods.items():
        for name, task in metrics["tasks"].items():
            genome = task.get("genome")
            if genome and genome["auprc"] is not None:
                precision = genome["precision_at_recall"]
                rows.append(
                    [name, method, f"{genome['prevalence']:.2g}", number(genome["auprc"])]
                    + [number(precision[recall]) for recall in ("0.5", "0.8", "0.95")]
                )
                if "expected" in task:
                    has_expected = True
                    rows[-1] += [f"{task['n_positive']:,}", f"{task['expected']:,.1f}"]
    if not rows:
        return Markup()
    rows.sort(key=lambda row: str(row[0]))
    head = ["Organism", "Model", "Prevalence", "AUPRC (genome)"]
    head += ["Precision at 50 %", "at 80 %", "at 95 %"]
    caption = (
        "Over every candidate in the held-out part of the genome: AUPRC, and precision where 50, "
        "80 and 95 % of the sites are found."
    )
    if has_expected:
        head += ["True sites", "Expected"]
        caption += " Expected is the sum of all probabilities."
    return table([head], rows, caption)


def _calibration(signal: Signal) -> Markup:
    """Return the reliability of the main model on the test regions, and its thresholds."""
    model = signal.models[signal.main]
    if model.kind != "classification" or not model.curves:
        return Markup()
    parts = []
    if signal.main in signal.held:
        test = signal.held[signal.main]
        p = model.probability(test.scores, list(test.tasks))
        parts.append(
            picture(
                draw_reliability(test.labels, p, test.tasks, weights=test.counts),
                "Share of true sites by predicted probability",
                "All candidates of the test regions: no part of training and calibration.",
            )
        )
        parts.append(
            reliability(expected_sites(test.labels, p, test.tasks, test.counts, test.blocks))
        )
    rows = [
        [
            name,
            entry["method"],
            f"{row['recall']:.0%}",
            f"{row['score']:.3f}",
            f"{row['probability']:.3g}",
            f"{row['precision']:.3f}",
        ]
        for name, entry in model.training["calibration"].items()
        for row in entry["thresholds"]
    ]
    head = ["Organism", "Method", "Sites found", "Score", "Probability", "Precision"]
    parts.append(table([head], rows, "Thresholds, from the candidates of the calibration"))
    return join(parts)


def reliability(tasks: Mapping[str, Mapping[str, Any]]) -> Markup:
    """Return the numbers of sites expected and true, of all candidates and by probability."""
    rows = []
    for name, task in tasks.items():
        for row in task.get("reliability", []):
            low, high = row["true_interval"]
            holds = row["holds"]
            rows.append(
                [
                    name, row["probability"], f"{row['n']:,.0f}", f"{row['expected']:,.1f}",
                    f"{row['true']:,.0f}", f"{low:,.1f} to {high:,.1f}",
                    element("b", holds) if holds == "no" else holds,
                ]
            )  # fmt: skip
    if not rows:
        return Markup()
    head = ["Organism", "Probability", "Candidates", "Expected", "True sites", "By chance", "Holds"]
    caption = (
        "Expected is the sum of the probabilities. By chance: where the true number would be with "
        "other blocks of the genome, if the probabilities hold. They do not where both numbers "
        "differ by more than a factor of 1.25 and by more than chance."
    )
    return table([head], rows, caption)


def _track(signal: Signal) -> Markup:
    """Return scores along the held-out part of a chromosome, with calls at thresholds.

    The organism shown is the one with the fewest training windows, which gains most from the
    others. The thresholds are those of the calibration; the one with 80 % recall is drawn.
    """
    if signal.main not in signal.held:
        return Markup()
    model = signal.models[signal.main]
    counts = model.training["tasks"]
    organism = min(signal.held[signal.main].names, key=lambda name: counts[model.match(name)]["n"])
    track = score_track(model, signal.folder, organism)
    if track is None:
        return Markup()
    calibrated = model.training.get("calibration", {}).get(model.match(organism), {})
    scores = sorted({row["score"] for row in calibrated.get("thresholds", [])})
    thresholds = scores or [-1.0, -0.5, 0.0, 0.5, 1.0]
    drawn = thresholds[len(thresholds) // 2]
    n_bases = int((track.regions[:, 1] - track.regions[:, 0]).sum())
    rest = " (the rest is grey)" if n_bases < track.end - track.start else ""
    figure = picture(
        draw_track(track, drawn),
        f"Scores along {track.contig} of {organism}",
        f"{track.contig} of {organism}, {track.start:,} to {track.end:,}: {n_bases:,} bases of "
        f"test regions, which took no part in training{rest}. Every "
        f"candidate on either strand is scored by {signal.main} (where they are too many to draw, "
        "the highest of each short stretch). Below: the yellow stretch. Triangles point up on the "
        "plus strand, down on the minus strand.",
    )
    return join([figure, _threshold_table(track, thresholds, drawn)])


def _threshold_table(track: Track, thresholds: Sequence[float], drawn: float) -> Markup:
    """Return recall and precision by threshold, with the drawn one in bold."""
    n_sites = int(track.is_site.sum())
    rows = []
    for threshold in thresholds:
        called, correct = track.counts(threshold)
        shown = Markup(f"{threshold:.3g}")
        rows.append(
            [
                element("b", shown) if threshold == drawn else shown,
                *(f"{count:,}" for count in (called, correct, n_sites)),
                number(correct / n_sites if n_sites else None),
                number(correct / called if called else None),
            ]
        )
    head = ["Threshold", "Called", "Correct", "True sites", "Recall", "Precision"]
    return table([head], rows, "Calls by threshold; the threshold drawn above is bold.")


def _training(signal: Signal) -> Markup:
    runs = {
        name: history
        for name, model in signal.models.items()
        if (history := model.training.get("history"))
    }
    if not runs:
        return Markup()
    tolerances = {signal.models[name].training["settings"]["tol"] for name in runs}
    return picture(
        draw_convergence(runs, tolerances.pop() if len(tolerances) == 1 else None),
        "Relative duality gap against work on a log scale",
        "The duality gap bounds how far the objective is from its optimum; relative to the "
        "objective. Work counts the steps on examples that were not shrunk away.",
    )


def _learnt(model: MultiTaskModel) -> Markup:
    """Return a logo and the importance of oligomers for each organism."""
    parts = []
    for name in model.tasks[:_MOST_ORGANISMS]:
        found = poim(model, name, max_order=min(_POIM_ORDER, model.length))
        parts.append(
            picture(
                draw_logo(found),
                f"Logo of the weights of {name}",
                f"{name}: what a letter at a position adds to the expected score.",
            )
        )
        parts.append(
            picture(
                draw_poim(found),
                f"Importance of oligomers by position, {name}",
                f"{name}: the largest importance of an oligomer of each length at each position "
                "(Sonnenburg et al. 2008).",
            )
        )
    rest = len(model.tasks) - _MOST_ORGANISMS
    if rest > 0:
        parts.append(element("p", f"{rest} more organisms: see seqmtl explain."))
    return join(parts)


def _models(signal: Signal) -> Markup:
    """Return the provenance of every model."""
    rows = []
    for name, model in signal.models.items():
        training = model.training
        settings = ", ".join(
            f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}"
            for k, v in training["settings"].items()
            if v is not None
        )
        gap = f"{training['duality_gap']:.1e}" + ("" if training["converged"] else " (stopped)")
        counts = sum(task["n"] for task in training["tasks"].values())
        features = f"{model.features}: {model.W.shape[0]:,} weights"
        row = [name, _wrapped(features), model.length, f"{counts:,}", gap, _wrapped(settings)]
        rows.append(row)
    head = ["Model", "Features", "Window", "Training windows", "Duality gap", "Settings"]
    commands = [
        element("pre", element("code", command))
        for model in signal.models.values()
        if (command := model.training.get("command"))
    ]
    copies = [element("p", text) for text in signal.copies.values()]
    return join([table([head], rows, "Models of this signal"), *commands, *copies])


def _wrapped(content: str) -> Markup:
    """Return text that may wrap within a cell."""
    return element("span", content, class_="wrap")
