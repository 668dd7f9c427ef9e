"""Parts of the page: cards, pictures, results, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seqmtl.evaluation.curves import draw_curves
from seqmtl.evaluation.figures import render
from seqmtl.report._html import Markup, element, embed, join, table
from seqmtl.report.figures import draw_bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def card(number: str, label: str, kind: str) -> Markup:
    """Return one large number with its label."""
    parts = [element("span", number, class_="number"), element("span", label, class_="label")]
    return element("div", join(parts), class_=kind)


def picture(figure: Figure, alternative: str, caption: str) -> Markup:
    """Return a matplotlib figure as embedded SVG."""
    return embed(render(figure, "svg"), "svg", alternative, caption)


def number(value: float | None, digits: int = 3) -> str:
    """Format a number that may be missing."""
    return "n/a" if value is None else f"{value:.{digits}f}"


def accuracy(methods: Mapping[str, Mapping[str, Any]], main: str, test: tuple[Any, ...]) -> Markup:
    """Return the results table, the bars, and the curves of the main method on test windows.

    `test` holds labels, scores and task names, and optionally the number of examples that each
    row represents.
    """
    names = list(methods[main]["tasks"])
    parts = [results_table(methods, names)]
    if names:
        parts.append(
            picture(
                draw_bars(methods, names),
                "Bars of AUPRC by organism and method with intervals",
                "AUPRC by organism and method; whiskers are the bootstrap intervals of the table.",
            )
        )
    parts.append(
        picture(
            draw_curves(*test),
            f"ROC and precision-recall curves of {main}",
            f"Curves of {main} on the test windows. Dotted lines are what guessing reaches.",
        )
    )
    return join(parts)


def results_table(methods: Mapping[str, Mapping[str, Any]], names: list[str]) -> Markup:
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


def run_facts(command: str, settings: Mapping[str, Any], versions: Mapping[str, str]) -> Markup:
    """Return the command, settings and versions, omitting what is empty."""
    columns = [
        table([["Setting", "Value"]], list(settings.items()), "Settings"),
        table([["Software", "Version"]], list(versions.items()), "Versions")
        if versions
        else Markup(),
    ]
    lines = element("pre", element("code", command))
    return join([lines, element("div", join(columns), class_="columns")])
