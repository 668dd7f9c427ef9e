"""The page of a folder of results: one HTML file with tables and figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seqmtl.compare.figure import draw_comparison
from seqmtl.compare.results import OVER_WINDOWS, spread_text
from seqmtl.evaluation.tables import Column
from seqmtl.files.atomic import write_lines
from seqmtl.models.paired import expectation
from seqmtl.report._html import (
    Markup,
    column_table,
    element,
    join,
    number,
    picture,
    render_sections,
    table,
)
from seqmtl.report.figures import draw_learning_curves, draw_rounds, training_windows
from seqmtl.report.folder import SIGNAL_NAMES, WAYS, FolderContents, Signal, read_folder
from seqmtl.report.introns import introns
from seqmtl.report.sections import OF_A_SIGNAL, reliability, results
from seqmtl.similarity.trees import read_tree

_FEW = 3  # organisms named in the title
_NOT_EVALUATED = (
    "There is no evaluation of a paired model in this folder: seqmtl evaluate PAIR.seqmtl DONORS "
    "ACCEPTORS --json FILE"
)


def write_folder_report(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    tree: str | None = None,
    annotations: Mapping[str, str] | None = None,
    command: str = "",
    versions: Mapping[str, str] | None = None,
) -> FolderContents:
    """Write the page of a folder as one self-contained HTML file.

    It shows what commands wrote: nothing is scored again.

    Parameters
    ----------
    folder : path-like
        Folder with datasets, models, evaluations and comparisons, see
        :func:`~seqmtl.report.folder.read_folder`.
    path : path-like
        The HTML file; written atomically.
    title : str, optional
        Heading. Default: signals and organisms.
    tree : str, optional
        Tree to draw beside the similarity, see :func:`~seqmtl.similarity.read_tree`. Default:
        average linkage of the similarity.
    annotations : mapping of str to str, optional
        Annotations of organisms whose introns were found without labels, to compare with.
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
    contents = read_folder(folder, None if tree is None else read_tree(tree), annotations)
    sections: list[tuple[str, Markup]] = [("Introns", introns(contents.found.values()))]
    sections.append(("Donors and acceptors in pairs", _pairs(contents)))
    for signal in contents.signals.values():
        end = f": {signal.text}" if len(contents.signals) > 1 else ""
        sections += [(heading + end, section(signal)) for heading, section in OF_A_SIGNAL.items()]
    sections += [(heading, section(contents)) for heading, section in _OF_THE_FOLDER.items()]
    sections.append(("This page", _made(contents, command, versions or {})))
    page = render_sections(title or _title(contents), summarise(contents), sections)
    write_lines(path, [page])
    return contents


def _title(contents: FolderContents) -> str:
    """Name the signals and their organisms, or where introns were found."""
    signals = contents.signals.values()
    if contents.found:
        names = list(dict.fromkeys(own.organism for own in contents.found.values()))
        return f"Introns of {_listed(names) if len(names) <= _FEW else f'{len(names)} organisms'}"
    if not signals:
        return f"Introns by {_listed([f'{name}.seqmtl' for name in contents.paired])}"
    organisms = list(dict.fromkeys(name for signal in signals for name in signal.organisms))
    few = _listed(organisms) if len(organisms) <= _FEW else f"{len(organisms)} organisms"
    return _capital(f"{_listed([signal.text for signal in signals])} of {few}")


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _listed(names: Sequence[str]) -> str:
    """Join names as in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def summarise(contents: FolderContents) -> str:
    """Summarise the contents of the folder in a few sentences."""
    sentences = [own.sentence() for own in contents.found.values()]
    sentences += [_sentence(signal) for signal in contents.signals.values()]
    for name, document in contents.pairs.items():
        gains = []
        for signal, methods in document["signals"].items():
            alone, paired = (_mean_auprc(methods[way]) for way in WAYS)
            gains.append(f"from {alone} to {paired} for {SIGNAL_NAMES.get(signal, signal)}")
        sentences.append(
            f"With their partners seen ({document['model']}, {name}), the mean AUPRC (genome) "
            f"changes {' and '.join(gains)}."
        )
    return " ".join(sentences)


def _sentence(signal: Signal) -> str:
    """Tell what the main model of a signal reaches."""
    what, name = _capital(signal.text), signal.main
    if not name:
        return f"{what}: a data set, no model yet."
    n = len(signal.organisms)
    text = f"{what}: the model {name}.seqmtl of {n} organism{'s' * (n > 1)}"
    mean = signal.metrics.get(name, {}).get("mean", {})
    if mean.get("auprc_genome") is None:
        return f"{text}."
    return (
        f"{text} reaches a mean AUPRC (genome) of {mean['auprc_genome']:.3f} and a mean AUROC of "
        f"{number(mean.get('auroc'))} over every candidate in the test regions"
        f"{_against_others(signal.metrics, name)}."
    )


def _against_others(metrics: Mapping[str, Any], main: str) -> str:
    """Summarise how the other models compare, whichever is better."""
    others = {name: entry for name, entry in metrics.items() if name != main}
    if not others:
        return ""
    versus = ", ".join(f"{_mean_auprc(entry)} for {name}" for name, entry in others.items())
    n_ahead = n_equal = n_known = 0
    for name, task in metrics[main]["tasks"].items():
        if task["auprc_genome"] is not None:
            tasks = [entry["tasks"].get(name, {}) for entry in others.values()]
            best = max(task.get("auprc_genome") or 0.0 for task in tasks)
            n_known += 1
            n_ahead += task["auprc_genome"] > best
            n_equal += task["auprc_genome"] == best
    equal = f", equal to the best of them in {n_equal}" if n_equal else ""
    return (
        f" (AUPRC of the others: {versus}); it is ahead of all others in {n_ahead} of {n_known} "
        f"organism(s){equal}"
    )


def _mean_auprc(metrics: Mapping[str, Any]) -> str:
    return number(metrics["mean"]["auprc_genome"])


def _pairs(contents: FolderContents) -> Markup:
    """Return what paired models found without labels, their evaluations, and their layers."""
    models = contents.paired.items()
    unlabelled = _by_organism({name: own.training.get("unlabelled", {}) for name, own in models})
    parts = [_rounds(name, facts) for name, facts in unlabelled.items()]
    for name, document in contents.pairs.items():
        for signal, methods in document["signals"].items():
            sites = SIGNAL_NAMES.get(signal, signal)
            over = (
                f"every candidate of {sites} in the {document['split']} regions, by the site alone "
                f"and with its partners (from {name})"
            )
            shown = {way: methods[way] for way in WAYS}
            parts += [element("p", element("b", sites)), results(over, shown)]
            parts.append(reliability(methods["paired"]["tasks"]))
    if contents.paired and not parts:
        parts.append(element("p", _NOT_EVALUATED))
    columns = [
        Column("Organism", "name"),
        Column("Introns", "n_introns", ","),
        Column("Shortest", "shortest", ","),
        Column("Longest", "longest", ","),
        Column("Coding bases", "n_coding", ","),
        Column("Sites fitted to", "n_sites", ","),
    ]
    layers = _by_organism({name: own.layer_facts() for name, own in models})
    rows = [{"name": name, **facts} for name, facts in layers.items()]
    caption = (
        "What the paired models are from: introns (annotated, or found without labels), the "
        "shortest and the longest in the table of lengths (bases), coding bases, and held-out true "
        "sites"
    )
    return join([*parts, column_table(columns, rows, caption)])


def _by_organism(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what models tell of organisms by organism, and by model where they differ."""
    told: dict[str, dict[str, Any]] = {}
    for model, organisms in models.items():
        for organism, facts in organisms.items():
            own = told.setdefault(organism, {})
            if facts not in own.values():  # a model keeps those of the one that it is from
                own[model] = facts
    return {
        f"{model}: {organism}" if len(own) > 1 else organism: facts
        for organism, own in told.items()
        for model, facts in own.items()
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
    rows = [{"round": k, **found} for k, found in enumerate(facts["rounds"])]
    caption = f"{name}, without labels: sites found in {facts['bases']:,} bases of its genome"
    shown = picture(
        draw_rounds(facts["rounds"]),
        "Sites found, and lengths of introns, by round",
        f"{name}: donors and acceptors, and the lengths of introns, by the relatives alone (round "
        "0), and after each round of learning from what was found. In the table: expected numbers; "
        "sure: of probability .9 or more; kept: share of those of the round before that still have "
        ".5; backwards: introns found in the genome read backwards, where there are none, for each "
        "found forwards; moved: change of the site models' weights, as a share.",
    )
    told = [element("p", f"{name}: {line}.") for line in expectation(facts)]
    told += [element("p", element("b", f"Doubt: {own}.")) for own in facts.get("doubts", [])]
    return join([*told, column_table(columns, rows, caption), shown])


def _comparisons(contents: FolderContents) -> Markup:
    """Return a curve over the comparisons of each folder, or the bars of a single one."""
    by_place: dict[str, dict[str, Any]] = {}
    for name, document in contents.comparisons.items():
        by_place.setdefault(os.path.dirname(name), {})[name] = document
    return join(_comparison(documents) for documents in by_place.values())


def _comparison(by_name: Mapping[str, Any]) -> Markup:
    documents = list(by_name.values())
    source = f"{OVER_WINDOWS} From {', '.join(by_name)}."
    if len({training_windows(document) for document in documents}) > 1:
        return picture(
            draw_learning_curves(documents),
            "AUROC and AUPRC by the number of training windows",
            "Mean over the organisms by training windows per organism; bands are one standard "
            f"deviation over the splits, if there are several. {source}",
        )
    return picture(
        draw_comparison(documents[0]),
        "Bars of AUROC and AUPRC by organism and method",
        f"Methods on the same splits, {training_windows(documents[0]):,.0f} training windows per "
        f"organism. {spread_text(documents[0])}. {source}",
    )


def _scans(contents: FolderContents) -> Markup:
    """Return a table of scans, one row per organism."""
    columns = [
        Column("Files", "names"),
        Column("Model", "model"),
        Column("Organism", "organism"),
        Column("Bases", "n_bases", ","),
        Column("Scored", "n_scored", ","),
        Column("Reported", "n_reported", ","),
        Column("Mb/s", "megabases_per_second", ".1f"),
    ]
    rows = [
        {
            **scan,
            "model": os.path.basename(summary["model"]),
            "names": ", ".join(os.path.basename(file) for file in scan["files"]),
        }
        for summary in contents.scans.values()
        for scan in summary["scans"]
    ]
    return column_table(columns, rows, "Scans whose summaries are in the folder")


def _made(contents: FolderContents, command: str, versions: Mapping[str, str]) -> Markup:
    """Return the command, where the data are from, versions, and what is not shown."""
    facts = [("Folder", os.path.abspath(contents.path))]
    for signal in contents.signals.values():
        if signal.dataset.get("command"):
            facts.append((f"Data set, {signal.name}", signal.dataset["command"]))
    facts += [(f"Version of {name}", version) for name, version in versions.items()]
    notes = [element("p", f"Not shown: {line}") for line in contents.left_out]
    shown = element("pre", element("code", command))
    return join([shown, table(["What", "Value"], facts, "How this page was made"), *notes])


_OF_THE_FOLDER: dict[str, Callable[[FolderContents], Markup]] = {
    "Comparison of methods": _comparisons,
    "Genome scans": _scans,
}
