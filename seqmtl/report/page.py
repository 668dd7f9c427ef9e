"""The page of a folder of results: one HTML file with tables and figures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from seqmtl.compare.figure import draw_comparison
from seqmtl.compare.results import OVER_WINDOWS, spread_text
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
from seqmtl.report.figures import draw_learning_curves, training_windows
from seqmtl.report.folder import SIGNAL_NAMES, FolderContents, read_folder
from seqmtl.report.pair_section import mean_auprc, pair_section, pair_sentences
from seqmtl.report.signal_sections import signal_sections
from seqmtl.similarity.trees import read_tree

_FEW = 3  # organisms named in the title


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
        Heading. Default: signals and organisms.
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
    drawn = None if tree is None else read_tree(tree)
    found = read_folder(folder, n_bootstrap=n_bootstrap)
    several = len(found.signals) > 1
    sections: list[tuple[str, Markup]] = []
    for signal in found.signals.values():
        end = f": {signal.text}" if several else ""
        sections += [(heading + end, part) for heading, part in signal_sections(signal, drawn)]
    sections += [
        ("Donors and acceptors in pairs", pair_section(found)),
        (_comparison_heading(found), _learning_curve(found)),
        ("Genome scans", _scans(found)),
        ("This page", _made(found, command, versions or {})),
    ]
    page = render_sections(title or _title(found), summarise(found), _cards(found), sections)
    write_lines(path, [page])
    return found


def _title(found: FolderContents) -> str:
    """Name the signals and their organisms."""
    names = [tuple(signal.models[signal.main].tasks) if signal.models else
             tuple(signal.dataset["organisms"]) for signal in found.signals.values()]  # fmt: skip
    organisms = list(dict.fromkeys(name for own in names for name in own))
    few = _listed(organisms) if len(organisms) <= _FEW else f"{len(organisms)} organisms"
    title = f"{_listed([signal.text for signal in found.signals.values()])} of {few}"
    return title[0].upper() + title[1:]


def _listed(names: Sequence[str]) -> str:
    """Join names as in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def summarise(found: FolderContents) -> str:
    """Summarise the contents of the folder in a few sentences."""
    parts = []
    for signal in found.signals.values():
        what = signal.text[0].upper() + signal.text[1:]
        if not signal.models:
            parts.append(f"{what}: a data set, no model yet.")
            continue
        name = signal.main
        model, metrics = signal.models[name], signal.metrics.get(name)
        n = len(model.tasks)
        text = f"{what}: the model {name}.seqmtl of {n} organism{'s' * (n > 1)}"
        if metrics and metrics["mean"]["auprc_genome"] is not None:
            text += (
                f" reaches a mean AUPRC (genome) of {metrics['mean']['auprc_genome']:.3f} and a "
                f"mean AUROC of {metrics['mean']['auroc']:.3f} over every candidate in the test "
                "regions"
            )
            text += _against_others(signal.metrics, name)
        parts.append(text + ".")
    return " ".join([*parts, *pair_sentences(found)])


def _against_others(metrics: Mapping[str, Any], main: str) -> str:
    """Summarise how the other models compare, whichever is better."""
    others = {name: found for name, found in metrics.items() if name != main}
    if not others:
        return ""
    versus = ", ".join(
        f"{number(found['mean']['auprc_genome'])} for {n}" for n, found in others.items()
    )
    values = [
        [found["tasks"].get(name, {}).get("auprc_genome") or 0.0 for found in others.values()]
        for name in metrics[main]["tasks"]
    ]
    own = [task["auprc_genome"] for task in metrics[main]["tasks"].values()]
    known = [(a, max(b)) for a, b in zip(own, values, strict=True) if a is not None]
    n_ahead, n_equal = sum(a > b for a, b in known), sum(a == b for a, b in known)
    equal = f", equal to the best of them in {n_equal}" if n_equal else ""
    return (
        f" (AUPRC of the others: {versus}); it is ahead of all others in {n_ahead} of {len(known)} "
        f"organism(s){equal}"
    )


def _cards(found: FolderContents) -> Markup:
    cards = []
    for signal in found.signals.values():
        for name, metrics in signal.metrics.items():
            kind = "card main" if name == signal.main else "card"
            label = f"mean AUPRC (genome), {signal.text}, model {name}"
            cards.append(_card(number(metrics["mean"]["auprc_genome"]), label, kind))
    for name, document in found.pairs.items():
        for signal, methods in document["signals"].items():
            label = f"mean AUPRC (genome), {SIGNAL_NAMES.get(signal, signal)}, paired ({name})"
            cards.append(_card(number(mean_auprc(methods["paired"])), label, "card"))
    return join(cards)


def _card(number: str, label: str, kind: str) -> Markup:
    """Return one large number with its label."""
    parts = [element("span", number, class_="number"), element("span", label, class_="label")]
    return element("div", join(parts), class_=kind)


def _comparison_heading(found: FolderContents) -> str:
    sizes = {training_windows(document) for document in found.comparisons.values()}
    return "Learning curve" if len(sizes) > 1 else "Comparison of methods"


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
            "Mean over the organisms; bands are one standard deviation over the splits, if there "
            f"are several. {OVER_WINDOWS} {source}",
        )
    return picture(
        draw_comparison(documents[0]),
        "Bars of AUROC and AUPRC by organism and method",
        f"Methods on the same splits, {training_windows(documents[0]):,.0f} training windows per "
        f"organism. {spread_text(documents[0])}. {OVER_WINDOWS} {source}",
    )


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
