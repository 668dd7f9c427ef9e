"""The page of a folder of results: one HTML file with tables and figures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from seqmtl.compare.figure import draw_comparison
from seqmtl.files.atomic import write_lines
from seqmtl.report._html import (
    Markup,
    element,
    join,
    number,
    picture,
    render_sections,
    table,
)
from seqmtl.report.figures import draw_bars, draw_learning_curves, training_windows
from seqmtl.report.folder import FolderContents, read_folder
from seqmtl.report.signal_sections import genome_table, reliability, signal_sections
from seqmtl.similarity.trees import read_tree


def write_folder_report(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    tree: str | None = None,
    n_bootstrap: int = 200,
    command: str = "",
    versions: Mapping[str, str] | None = None,
) -> FolderContents:
    """Write the page of a folder as one self-contained HTML file.

    Parameters
    ----------
    folder : path-like
        Folder with datasets, models and comparisons, see :func:`~seqmtl.report.folder.read_folder`.
    path : path-like
        The HTML file; written atomically.
    title : str, optional
        Heading. Default: the name of the folder.
    tree : str, optional
        Tree to draw beside the similarity, see :func:`~seqmtl.similarity.read_tree`. Default:
        average linkage of the similarity.
    n_bootstrap : int, default 200
        Number of resamples for the intervals.
    command : str, optional
        Command line that requested the page.
    versions : mapping of str to str, optional
        Versions of the software.

    Raises
    ------
    SeqmtlError
        If the folder has nothing to show, or the page cannot be written.
    UnknownTaskError
        If the tree lacks an organism.
    ImportError
        If matplotlib is not installed.
    """
    found = read_folder(folder, n_bootstrap=n_bootstrap)
    drawn = None if tree is None else read_tree(tree)
    several = len(found.signals) > 1
    sections: list[tuple[str, Markup]] = []
    for signal in found.signals.values():
        end = f", {signal.name}" if several else ""
        sections += [(heading + end, part) for heading, part in signal_sections(signal, drawn)]
    sections += [
        ("Sites in pairs", join([_pairs(name, own) for name, own in found.pairs.items()])),
        ("Learning curve", _learning_curve(found)),
        ("Genome scans", _scans(found)),
        ("This page", _made(found, command, versions or {})),
    ]
    heading = title or f"seqmtl report: {os.path.basename(os.path.abspath(found.path))}"
    page = render_sections(heading, summarise(found), _cards(found), sections)
    write_lines(path, [page])
    return found


def summarise(found: FolderContents) -> str:
    """Summarise the contents of the folder in a few sentences."""
    parts = []
    for signal in found.signals.values():
        if not signal.models:
            parts.append(f"A data set of {signal.name} sites, no model yet.")
            continue
        name = signal.main
        model, metrics = signal.models[name], signal.metrics.get(name)
        text = f"{signal.name}: {name}, one model of {len(model.tasks)} organism(s)"
        if metrics and metrics["mean"]["auprc"] is not None:
            text += (
                f", reaches a mean AUPRC of {metrics['mean']['auprc']:.3f} and a mean AUROC of "
                f"{metrics['mean']['auroc']:.3f} on held-out windows"
            )
            text += _against_others(signal.metrics, name)
        parts.append(text + ".")
    return " ".join(parts)


def _against_others(metrics: Mapping[str, Any], main: str) -> str:
    """Summarise how the other models compare, whichever is better."""
    others = {name: found for name, found in metrics.items() if name != main}
    if not others:
        return ""
    versus = ", ".join(f"{number(found['mean']['auprc'])} for {n}" for n, found in others.items())
    own = {name: t["auprc"] for name, t in metrics[main]["tasks"].items() if t["auprc"] is not None}
    n_ahead = sum(
        all((found["tasks"].get(name, {}).get("auprc") or 0.0) < value for found in others.values())
        for name, value in own.items()
    )
    return (
        f" (AUPRC of the others: {versus}); it is ahead of all others in {n_ahead} of {len(own)} "
        "organism(s)"
    )


def _cards(found: FolderContents) -> Markup:
    cards = []
    for signal in found.signals.values():
        for name, metrics in signal.metrics.items():
            kind = "card main" if name == signal.main else "card"
            label = f"mean AUPRC, {signal.name}, {name}"
            cards.append(_card(number(metrics["mean"]["auprc"]), label, kind))
    return join(cards)


def _card(number: str, label: str, kind: str) -> Markup:
    """Return one large number with its label."""
    parts = [element("span", number, class_="number"), element("span", label, class_="label")]
    return element("div", join(parts), class_=kind)


def _learning_curve(found: FolderContents) -> Markup:
    """Return a curve over the comparisons of each folder, or the bars of a single one."""
    by_place: dict[str, dict[str, Any]] = {}
    for name, document in found.comparisons.items():
        by_place.setdefault(os.path.dirname(name), {})[name] = document
    return join([_comparisons(documents) for documents in by_place.values()])


def _comparisons(by_name: Mapping[str, Any]) -> Markup:
    documents = list(by_name.values())
    source = f"From {', '.join(by_name)}."
    if len({training_windows(document) for document in documents}) > 1:
        return picture(
            draw_learning_curves(documents),
            "AUROC and AUPRC by the number of training windows",
            f"Mean over the organisms; bands are one standard deviation over the splits. {source}",
        )
    return picture(
        draw_comparison(documents[0]),
        "Bars of AUROC and AUPRC by organism and method",
        f"Methods on the same splits, {training_windows(documents[0]):,.0f} training windows per "
        f"organism; lines are one standard deviation over the splits. {source}",
    )


def _pairs(name: str, document: Mapping[str, Any]) -> Markup:
    """Return tables and bars of the sites of each signal alone and in pairs."""
    parts = []
    for signal, methods in document["signals"].items():
        names = list(methods["alone"]["tasks"])
        figure = picture(
            draw_bars(methods, names),
            f"Bars of AUPRC of {signal} sites by organism, alone and in pairs",
            f"AUPRC of {signal} sites over all candidates of split {document['split']}, by the "
            f"site alone and with its partners; whiskers are bootstrap intervals. From {name}.",
        )
        parts += [element("p", element("b", signal)), figure, genome_table(methods)]
        parts.append(reliability(methods["paired"]["tasks"]))
    return join(parts)


def _scans(found: FolderContents) -> Markup:
    """Return a table of scans, one row per organism."""
    rows = [
        [
            ", ".join(os.path.basename(file) for file in scan["files"]),
            os.path.basename(summary["model"]),
            scan["organism"],
            *(f"{scan[key]:,}" for key in ("n_bases", "n_scored", "n_reported")),
            f"{scan['megabases_per_second']:.1f}",
        ]
        for summary in found.scans.values()
        for scan in summary["scans"]
    ]
    if not rows:
        return Markup()
    head = ["Files", "Model", "Organism", "Bases", "Scored", "Reported", "Mb/s"]
    return table([head], rows, "Scans whose summaries are in the folder")


def _made(found: FolderContents, command: str, versions: Mapping[str, str]) -> Markup:
    settings = {"Folder": os.path.abspath(found.path)}
    for signal in found.signals.values():
        if signal.dataset.get("command"):
            settings[f"Data set, {signal.name}"] = signal.dataset["command"]
    notes = [element("p", f"Not shown: {line}") for line in found.left_out]
    return join([_run_facts(command, settings, versions), *notes])


def _run_facts(command: str, settings: Mapping[str, Any], versions: Mapping[str, str]) -> Markup:
    """Return the command, settings and versions, omitting what is empty."""
    columns = [
        table([["Setting", "Value"]], list(settings.items()), "Settings"),
        table([["Software", "Version"]], list(versions.items()), "Versions")
        if versions
        else Markup(),
    ]
    lines = element("pre", element("code", command))
    return join([lines, element("div", join(columns), class_="columns")])
