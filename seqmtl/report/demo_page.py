"""Turn a DemoReport into one HTML file."""

from __future__ import annotations

import os
from collections.abc import Callable

from seqmtl.files.atomic import write_lines
from seqmtl.report._html import Markup, element, join, table
from seqmtl.report._pieces import accuracy, card, number, picture, run_facts
from seqmtl.report.contents import DemoReport, GenomeScan
from seqmtl.report.figures import draw_convergence
from seqmtl.report.page import render_sections
from seqmtl.report.similarity_figure import draw_kernel
from seqmtl.report.track import draw_track


def write_report(path: str | os.PathLike[str], report: DemoReport) -> None:
    """Write the report as one HTML file that needs no other file and no network.

    Parameters
    ----------
    path : path-like
        The HTML file; it appears only when it is whole.
    report : DemoReport
        What to show.

    Raises
    ------
    ValueError
        If the tree lacks an organism, or no test task has both classes.
    ImportError
        If matplotlib is not installed.
    SeqmtlError
        If the file cannot be written.
    """
    page = render_page(report)
    write_lines(path, [page])


def render_page(report: DemoReport) -> str:
    """Return the whole page as text."""
    sections: list[tuple[str, Callable[[DemoReport], Markup]]] = [
        ("Data", _data),
        ("Task similarity", _similarity),
        ("Accuracy", _accuracy),
        ("Training", _training),
        ("Genome scan", _scan),
        ("This run", _run),
    ]
    return render_sections(
        report.title,
        report.summary or summarise(report),
        _cards(report),
        [(heading, section(report)) for heading, section in sections],
    )


def summarise(report: DemoReport) -> str:
    """Say in a few sentences what the run found, whichever method won."""
    tasks = report.methods[report.main_method]["tasks"]
    judged = [name for name, entry in tasks.items() if entry["auprc"] is not None]
    n_train = sum(organism.n_train for organism in report.organisms)
    parts = [
        f"One {report.main_method} model was trained on {n_train:,} labelled windows of "
        f"{len(report.organisms)} organisms and judged on held-out windows."
    ]
    own = report.methods[report.main_method]["mean"]["auprc"]
    others = {
        method: result["mean"]["auprc"]
        for method, result in report.methods.items()
        if method != report.main_method and result["mean"]["auprc"] is not None
    }
    if own is not None and others:
        versus = " and ".join(f"{value:.3f} for {method}" for method, value in others.items())
        ahead = sum(
            all(
                (result["tasks"].get(name, {}).get("auprc") or 0.0) < tasks[name]["auprc"]
                for method, result in report.methods.items()
                if method != report.main_method
            )
            for name in judged
        )
        parts.append(
            f"Its mean area under the precision-recall curve is {own:.3f}, against {versus}; "
            f"it is ahead of all others in {ahead} of {len(judged)} organisms."
        )
    if report.scan is not None:
        scan = report.scan
        parts.append(
            f"The same model then scored {scan.n_scored:,} positions of {scan.contig} of "
            f"{scan.organism}, which it had not seen, in {scan.seconds:.2g} s."
        )
    return " ".join(parts)


def _cards(report: DemoReport) -> Markup:
    """Return the mean AUPRC of each method, and the time taken, as large numbers."""
    cards = []
    for method, result in report.methods.items():
        value = result["mean"]["auprc"]
        kind = "card main" if method == report.main_method else "card"
        cards.append(card(number(value), f"mean AUPRC, {method}", kind))
    if report.timings:
        cards.append(
            card(f"{sum(report.timings.values()):.0f} s", "wall time of all steps", "card")
        )
    return join(cards)


def _data(report: DemoReport) -> Markup:
    """Return the table of organisms."""
    if not report.organisms:
        return Markup()
    head = ["Organism", "Genome (bases)", "Training windows", "of these true sites", "Test windows"]
    numbers = [(o.genome_bases, o.n_train, o.n_train_positive, o.n_test) for o in report.organisms]
    rows = [
        [organism.name, *(f"{value:,}" for value in values)]
        for organism, values in zip(report.organisms, numbers, strict=True)
    ]
    rows.append(["All", *(f"{sum(column):,}" for column in zip(*numbers, strict=True))])
    caption = (
        "Each window is centred on a candidate site: a true site or a decoy with the same letters."
    )
    return table([head], rows, caption, has_total=True)


def _similarity(report: DemoReport) -> Markup:
    """Return the tree beside the heat map."""
    if report.similarity is None:
        return Markup()
    source = "derived from the tree on its left" if report.tree else "as given"
    return picture(
        draw_kernel(report.similarity, report.tree),
        "Tree of the organisms beside the heat map of their similarity",
        f"Task kernel, {source}. The larger the value, the more two organisms share their weights.",
    )


def _training(report: DemoReport) -> Markup:
    """Return the convergence figure."""
    if not report.convergence:
        return Markup()
    return picture(
        draw_convergence(report.convergence, report.tolerance),
        "Relative duality gap against work on a log scale",
        "The duality gap bounds how far the objective is from its optimum; relative to the "
        "objective. Work counts the steps on examples that were not shrunk away.",
    )


def _scan(report: DemoReport) -> Markup:
    """Return the chromosome track and the table of thresholds."""
    scan = report.scan
    if scan is None:
        return Markup()
    figure = picture(
        draw_track(scan),
        f"Scores along {scan.contig} of {scan.organism}",
        f"{scan.contig} of {scan.organism} ({scan.length_bp:,} bases) took no part in training. "
        f"{scan.n_scored:,} positions on both strands were scored in {scan.seconds:.3g} s. Above: "
        "the whole chromosome (where candidates are too many to draw, the highest of each short "
        "stretch). Below: the yellow stretch. Triangles point up on the plus strand, down on the "
        "minus strand.",
    )
    return join([figure, _threshold_table(scan)])


def _threshold_table(scan: GenomeScan) -> Markup:
    """Return recall and precision by threshold, the drawn threshold in bold."""
    head = ["Threshold", "Called", "Correct", "True sites", "Recall", "Precision"]
    rows = []
    for row in scan.rows:
        threshold = Markup(f"{row.threshold:.3g}")
        rows.append(
            [
                element("b", threshold) if row.threshold == scan.threshold else threshold,
                f"{row.n_called:,}",
                f"{row.n_correct:,}",
                f"{row.n_sites:,}",
                number(row.recall),
                number(row.precision),
            ]
        )
    return table([head], rows, "Calls by threshold; the threshold drawn above is bold.")


def _accuracy(report: DemoReport) -> Markup:
    """Return the results table, the bars and the curves."""
    labels, scores, tasks = report.test_labels, report.test_scores, report.test_tasks
    test = None
    if labels is not None and scores is not None and tasks is not None:
        test = (labels, scores, tasks)
    return accuracy(report.methods, report.main_method, test)


def _run(report: DemoReport) -> Markup:
    """Return the command, the seed, settings, timings and versions."""
    facts = {"Seed": report.seed, **report.settings}
    return run_facts(report.command, facts, report.timings, report.versions)
