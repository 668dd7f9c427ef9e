"""The page of a folder of results: one HTML file with tables and figures."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

from seqmtl._html import Markup, details, element, join, picture, table
from seqmtl._surroundings import has_matplotlib
from seqmtl._version import __version__
from seqmtl.comparison.results import OVER_WINDOWS, draw_comparison
from seqmtl.evaluation.tables import Column, as_html, cells
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.streams import read_text
from seqmtl.files.write import write_lines
from seqmtl.io.dataset import annotation_path
from seqmtl.relations.trees import read_tree
from seqmtl.reporting.figures import draw_learning_curves, draw_rounds, training_windows
from seqmtl.reporting.folder import SIGNAL_NAMES, WAYS, FolderContents, read_folder
from seqmtl.reporting.genome_view import (
    INTRONS,
    Stretch,
    draw_stretch,
    find_stretch,
    held_out_regions,
)
from seqmtl.reporting.introns import introns
from seqmtl.reporting.sections import OF_A_SIGNAL, results, wrapped
from seqmtl.reporting.summary_text import name_contents, next_step, summarise
from seqmtl.splicing.model import expectation

_PAGE = Path(__file__).with_name("page.html")
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "biopython")
_MOST_STRETCHES = 3
_BROWSER = (
    "Plus strand above, minus strand below. Bars: donors and acceptors, height = probability. "
    "Peaks: introns, with their probability where it fits. Shown is the window with the most "
    "predicted introns"
)


def write_folder_report(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    tree: str | None = None,
    annotations: Mapping[str, str] | None = None,
    command: str = "",
) -> FolderContents:
    """Write the page of a folder as one self-contained HTML file.

    It shows what commands wrote: nothing is scored again.

    Parameters
    ----------
    folder : path-like
        Folder with datasets, models, evaluations and comparisons, see
        :func:`~seqmtl.reporting.folder.read_folder`.
    path : path-like
        The HTML file; written atomically.
    title : str, optional
        Heading. Default: signals and organisms.
    tree : str, optional
        Tree to draw beside the similarity, see :func:`~seqmtl.relations.read_tree`. Default:
        average linkage of the similarity.
    annotations : mapping of str to str, optional
        Annotations to compare with introns predicted without labels.
    command : str, optional
        Command line that requested the page.

    Raises
    ------
    SeqmtlError
        If the folder has nothing to show, or the page cannot be written.
    UnknownTaskError
        If the tree lacks an organism.

    Notes
    -----
    Without matplotlib there are no pictures, and the page says so.
    """
    contents = read_folder(folder, None if tree is None else read_tree(tree), annotations)
    if not has_matplotlib():
        contents.left_out.append("pictures, which need matplotlib; run: pip install matplotlib")
    sections = [(heading, section(contents)) for heading, section in _FIRST.items()]
    for signal in contents.signals.values():
        end = f": {signal.text}" if len(contents.signals) > 1 else ""
        sections += [(heading + end, section(signal)) for heading, section in OF_A_SIGNAL.items()]
    sections += [(heading, section(contents)) for heading, section in _LAST.items()]
    sections.append(("This page", _made(contents, command)))
    sentence, advised = next_step(contents)
    advice = join([element("b", "Next:"), f"{sentence}:", element("code", advised)], " ")
    title = title or name_contents(contents)
    page = _rendered(title, summarise(contents), advice, sections)
    write_lines(path, [page])
    return contents


def _introns(contents: FolderContents) -> Markup:
    """Return results without labels: introns, and the rounds of self-training."""
    unlabelled = _by_organism(
        {name: model.training.get("unlabelled", {}) for name, model in contents.paired.items()}
    )
    rounds = [_rounds(name, facts) for name, facts in unlabelled.items()]
    return join([introns(contents.introns.values()), *rounds])


def _pairs(contents: FolderContents) -> Markup:
    """Return the evaluations of paired models, and their layers."""
    parts: list[Markup] = []
    for name, document in contents.pairs.items():
        for signal, methods in document["signals"].items():
            sites = SIGNAL_NAMES.get(signal, signal)
            over = (
                f"every candidate of {sites} in the {document['split']} regions, by the site alone "
                f"and with its partners (from {name})"
            )
            by_way = {way: methods[way] for way in WAYS}
            parts += [element("h3", sites), results(over, by_way, "paired")]
    columns = [
        Column("Organism", "name"),
        Column("Introns", "n_introns", ","),
        Column("Source of introns", "source"),
        Column("Shortest", "shortest", ","),
        Column("Longest", "longest", ","),
        Column("Coding bases", "n_coding", ","),
        Column("Calibration sites", "n_sites", ","),
    ]
    layers = _by_organism(
        {
            name: {
                organism: {**facts, "source": model.source_of_introns(organism)}
                for organism, facts in model.layer_facts().items()
            }
            for name, model in contents.paired.items()
        }
    )
    rows = [{"name": name, **facts} for name, facts in layers.items()]
    caption = (
        "Data of the paired models: introns and their source (an annotation, or the calls of the "
        "model itself), the shortest and the longest of their lengths (bases), coding bases, and "
        "the held-out annotated sites that the probabilities are calibrated on"
    )
    return join([*parts, details("Data of the paired models", [as_html(columns, rows, caption)])])


def _by_organism(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return facts of models by organism, and by model where they differ."""
    by_organism: dict[str, dict[str, Any]] = {}
    for model, organisms in models.items():
        for organism, facts in organisms.items():
            by_model = by_organism.setdefault(organism, {})
            if facts not in by_model.values():  # a model keeps those of the one that it is from
                by_model[model] = facts
    return {
        f"{model}: {organism}" if len(by_model) > 1 else organism: facts
        for organism, by_model in by_organism.items()
        for model, facts in by_model.items()
    }


def _rounds(name: str, facts: Mapping[str, Any]) -> Markup:
    """Return the rounds of self-training of an organism without labels."""
    columns = [
        Column("Round", "round"),
        Column("Donors", ("expected", 0), ",.0f"),
        Column("Acceptors", ("expected", 1), ",.0f"),
        Column("Sure donors", ("sure", 0), ",.0f"),
        Column("Sure acceptors", ("sure", 1), ",.0f"),
        Column("Kept", "kept", ".0%"),
        Column("Backwards", "backwards", ".1%"),
        Column("Moved", "moved", ".2f"),
    ]
    rows = [{"round": k, **values} for k, values in enumerate(facts["rounds"])]
    caption = (
        f"{name}, without labels: sites called in {facts['bases']:,} bases of its genome, by the "
        "models of the relatives (round 0), and after each round of learning from what was found "
        "in the round before. Donors, acceptors: expected numbers. Sure: with a probability of 0.9 "
        "or more. Kept: share of the sure sites of the round before with a probability of 0.5 or "
        "more. Backwards: introns called in the genome read backwards, which has none, as a share "
        "of those called in the genome. Moved: relative change of the weights of the site models."
    )
    parts = details("Round by round", [as_html(columns, rows, caption)])
    if len(rows) > 1:
        drawn = picture(
            lambda: draw_rounds(facts["rounds"]),
            "Sites found, and lengths of introns, by round",
            f"{name}: donors and acceptors, and the lengths of introns, by round.",
        )
        parts = join(filter(None, [drawn, parts]))
    notes = [element("p", f"{name}: {line}.") for line in expectation(facts)]
    notes += [element("p", element("b", f"Warning: {doubt}.")) for doubt in facts.get("doubts", [])]
    return join([*notes, parts])


def _comparisons(contents: FolderContents) -> Markup:
    """Return a curve over the comparisons of each folder, or the dots of a single one."""
    by_place: dict[str, dict[str, Any]] = {}
    for name, document in contents.comparisons.items():
        by_place.setdefault(os.path.dirname(name), {})[name] = document
    return join(filter(None, map(_comparison, by_place.values())))


def _comparison(by_name: Mapping[str, Any]) -> Markup:
    """Return a picture of comparisons in one folder."""
    documents = list(by_name.values())
    source = f"{OVER_WINDOWS} From {', '.join(by_name)}."
    if len({training_windows(document) for document in documents}) > 1:
        return picture(
            lambda: draw_learning_curves(documents),
            "AUROC and AUPRC by the number of training windows",
            "Mean over the organisms by training windows per organism; bands are one standard "
            f"deviation over the splits, if there are several. {source}",
        )
    return picture(
        lambda: draw_comparison(documents[0]),
        "AUROC and AUPRC by organism and method",
        f"Methods on the same splits, {training_windows(documents[0]):,.0f} training windows per "
        f"organism. {source}",
    )


def _stretches(contents: FolderContents) -> Markup:
    """Return a stretch of each of the first genomes whose introns were scanned."""
    parts: list[Markup] = []
    for name, summary in contents.scans.items():
        directory = os.path.join(contents.path, os.path.dirname(name))
        for scan in summary["scans"]:
            if len(parts) < _MOST_STRETCHES and (stretch := _stretch(contents, directory, scan)):
                position = (
                    f"{scan['organism']}, {stretch.contig}:{stretch.start + 1:,}-{stretch.end:,}"
                )
                among = " among the test regions" if stretch.is_held_out else ""
                caption = f"{position}. {stretch.text()} {_BROWSER}{among}."
                what = f"Introns, sites and genes of {position}"
                draw = partial(draw_stretch, stretch)
                parts.append(picture(draw, what, caption, class_="wide"))
    return join(filter(None, parts))


def _stretch(contents: FolderContents, directory: str, scan: Mapping[str, Any]) -> Stretch | None:
    """Return the stretch to show of a scan whose summary is in `directory`, if any."""
    names = [os.path.basename(path) for path in scan["files"]]
    paths = [
        os.path.join(folder, name) for name in names for folder in (directory, f"{directory}/..")
    ]
    paths = [path for path in paths if os.path.isfile(path)]
    if not any(path.endswith(INTRONS) for path in paths):
        return None
    organism, regions = scan["organism"], []
    annotation = contents.annotations.get(organism)
    try:
        for signal in contents.signals.values():
            if organism in signal.dataset.get("organisms", {}):
                regions = held_out_regions(signal.folder, organism)
                annotation = annotation or annotation_path(signal.folder, organism, signal.dataset)
        transcripts = contents.genes(annotation).transcripts if annotation else ()
        return find_stretch(paths, regions, transcripts)
    except (OSError, ValueError, IndexError, SeqmtlError) as error:
        contents.left_out.append(f"a stretch of the genome: {error}")
        return None


def _scans(contents: FolderContents) -> Markup:
    """Return a table of scans, one row per organism."""
    columns = [
        Column("Organism", "organism"),
        Column("Model", "model"),
        Column("Bases", "n_bases", ","),
        Column("Scored", "n_scored", ","),
        Column("Reported", "n_reported", ","),
        Column("Mb/s", "megabases_per_second", ".1f"),
    ]
    scans = [
        {**scan, "model": os.path.basename(summary["model"])}
        for summary in contents.scans.values()
        for scan in summary["scans"]
    ]
    files = [wrapped(", ".join(map(os.path.basename, scan["files"]))) for scan in scans]
    rows = [[*row, names] for row, names in zip(cells(columns, scans), files, strict=True)]
    head = [*(column.head for column in columns), "Files"]
    return table(head, rows, "Scans whose summaries are in the folder")


def _made(contents: FolderContents, command: str) -> Markup:
    """Return the command, where the data are from, versions, and files that are left out."""
    facts = [("Folder", os.path.abspath(contents.path))]
    for signal in contents.signals.values():
        if signal.dataset.get("command"):
            facts.append((f"Data set, {signal.name}", signal.dataset["command"]))
    facts += [("Version of seqmtl", __version__), ("Version of python", platform.python_version())]
    facts += [(f"Version of {name}", version(name)) for name in _PACKAGES]
    notes = [element("p", f"Not shown: {line}") for line in contents.left_out]
    command_line = element("pre", element("code", command))
    return join([command_line, table(["What", "Value"], facts, "How this page was made"), *notes])


def _rendered(
    title: str, summary: object, advice: object, sections: Sequence[tuple[str, Markup]]
) -> str:
    """Return a complete page as text, omitting sections without content.

    Parameters
    ----------
    title : str
        Heading of the page.
    summary : str or Markup
        First paragraph.
    advice : str or Markup
        Second paragraph: what to do next.
    sections : sequence of (str, Markup)
        Headings and contents.
    """
    nonempty = [(heading, content) for heading, content in sections if content]
    anchors = [heading.lower().replace(" ", "-") for heading, _ in nonempty]
    groups: dict[str, list[Markup]] = {}
    for anchor, (heading, _) in zip(anchors, nonempty, strict=True):
        name, _, group = heading.partition(": ")
        groups.setdefault(group, []).append(element("a", name, href=f"#{anchor}"))
    links = [
        element("div", join([*([f"{group}:"] if group else []), *group_links]))
        for group, group_links in groups.items()
    ]
    body = [
        element("section", join([element("h2", heading), content]), id=anchor)
        for anchor, (heading, content) in zip(anchors, nonempty, strict=True)
    ]
    return Template(read_text(_PAGE, "HTML")).substitute(
        title=join([title]),
        summary=join([summary]),
        advice=join([advice]),
        links=join(links),
        sections=join(body),
    )


#: Sections before those of the signals, and after them.
_FIRST: dict[str, Callable[[FolderContents], Markup]] = {
    "Introns": _introns,
    "Donors and acceptors in pairs": _pairs,
    "A stretch of the genome": _stretches,
}
_LAST: dict[str, Callable[[FolderContents], Markup]] = {
    "Comparison of methods": _comparisons,
    "Genome scans": _scans,
}
