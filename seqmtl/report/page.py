"""Turn a DemoReport into one HTML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from seqmtl.evaluation.curves import draw_curves
from seqmtl.evaluation.figures import render
from seqmtl.io.atomic import atomic_write
from seqmtl.report._html import Markup, element, join, picture, table
from seqmtl.report._template import PAGE
from seqmtl.report.contents import DemoReport, GenomeScan
from seqmtl.report.figures import draw_bars, draw_convergence
from seqmtl.report.similarity_figure import draw_kernel
from seqmtl.report.track import draw_track

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    with atomic_write(path) as stream:
        stream.write(page)


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
    made = [(heading, section(report)) for heading, section in sections]
    shown = [(heading, content) for heading, content in made if content]
    anchors = [heading.lower().replace(" ", "-") for heading, _ in shown]
    links = [
        element("a", heading, href=f"#{anchor}")
        for anchor, (heading, _) in zip(anchors, shown, strict=True)
    ]
    body = [
        element("section", join([element("h2", heading), content]), id=anchor)
        for anchor, (heading, content) in zip(anchors, shown, strict=True)
    ]
    return PAGE.substitute(
        title=join([report.title]),
        summary=join([report.summary or summarise(report)]),
        cards=_cards(report),
        links=join(links),
        sections=join(body),
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
        cards.append(_card(_number(value), f"mean AUPRC, {method}", kind))
    if report.timings:
        cards.append(
            _card(f"{sum(report.timings.values()):.0f} s", "wall time of all steps", "card")
        )
    return join(cards)


def _card(number: str, label: str, kind: str) -> Markup:
    """Return one large number with its meaning."""
    parts = [element("span", number, class_="number"), element("span", label, class_="label")]
    return element("div", join(parts), class_=kind)


def _picture(figure: Figure, alternative: str, caption: str) -> Markup:
    """Return a matplotlib figure as SVG inside the page."""
    return picture(render(figure, "svg"), "svg", alternative, caption)


def _number(value: float | None, digits: int = 3) -> str:
    """Format a number that may be absent."""
    return "n/a" if value is None else f"{value:.{digits}f}"


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
    return _picture(
        draw_kernel(report.similarity, report.tree),
        "Tree of the organisms beside the heat map of their similarity",
        f"Task kernel, {source}. The larger the value, the more two organisms share their weights.",
    )


def _accuracy(report: DemoReport) -> Markup:
    """Return the results table, the bars and the curves."""
    names = list(report.methods[report.main_method]["tasks"])
    parts = [_results_table(report.methods, names)]
    if names:
        parts.append(
            _picture(
                draw_bars(report.methods, names),
                "Bars of AUPRC by organism and method with intervals",
                "AUPRC by organism and method; whiskers are the bootstrap intervals of the table.",
            )
        )
    labels, scores, tasks = report.test_labels, report.test_scores, report.test_tasks
    if labels is not None and scores is not None and tasks is not None:
        figure = draw_curves(labels, scores, tasks)
        parts.append(
            _picture(
                figure,
                f"ROC and precision-recall curves of {report.main_method}",
                f"Curves of {report.main_method} on the test windows. Dotted lines are what "
                "guessing reaches.",
            )
        )
    return join(parts)


def _results_table(methods: Mapping[str, Mapping[str, Any]], names: list[str]) -> Markup:
    """Return AUROC and AUPRC of all methods by organism, the best of each row in bold."""
    metrics = ("auroc", "auprc")
    heads: list[list[object]] = [
        [Markup('<th rowspan="2" scope="col">Organism</th>')],
        [method for _ in metrics for method in methods],
    ]
    for metric in metrics:
        heads[0].append(element("th", metric.upper(), colspan=len(methods), scope="colgroup"))
    rows: list[list[object]] = []
    for name in names:
        entries = [result["tasks"].get(name, {}) for result in methods.values()]
        rows.append([name, *(c for m in metrics for c in _metric_cells(entries, m))])
    means = [result["mean"] for result in methods.values()]
    rows.append(["Mean", *(cell for m in metrics for cell in _metric_cells(means, m))])
    bootstrap = next(iter(methods.values())).get("bootstrap")
    caption = "Test windows; the best of each row is bold."
    if bootstrap and bootstrap["n_resamples"]:
        caption += (
            f" Below each value, the {100 * bootstrap['confidence']:g} % interval of "
            f"{bootstrap['n_resamples']} bootstrap resamples."
        )
    return table(heads, rows, caption, has_total=True)


def _metric_cells(entries: list[Mapping[str, Any]], metric: str) -> list[Markup]:
    """Return one metric of all methods; the best as shown is bold, with equals."""
    values = [_number(entry.get(metric), 4) for entry in entries]
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


def _training(report: DemoReport) -> Markup:
    """Return the convergence figure."""
    if not report.convergence:
        return Markup()
    return _picture(
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
    figure = _picture(
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
                _number(row.recall),
                _number(row.precision),
            ]
        )
    return table([head], rows, "Calls by threshold; the threshold drawn above is bold.")


def _run(report: DemoReport) -> Markup:
    """Return the command, the seed, settings, timings and versions."""
    lines = element("pre", element("code", report.command))
    facts = {"Seed": report.seed, **report.settings}
    timings = {step: f"{seconds:.2f} s" for step, seconds in report.timings.items()}
    if timings:
        timings["All"] = f"{sum(report.timings.values()):.2f} s"
    columns = [
        table([["Setting", "Value"]], list(facts.items()), "Settings"),
        table([["Step", "Wall time"]], list(timings.items()), "Timings", has_total=True)
        if timings
        else Markup(),
        table([["Software", "Version"]], list(report.versions.items()), "Versions")
        if report.versions
        else Markup(),
    ]
    return join([lines, element("div", join(columns), class_="columns")])
