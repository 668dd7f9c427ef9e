"""Values of the sections about a folder: introns, paired models, regions, comparisons, scans."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from statistics import fmean
from typing import Any

import numpy as np

from seqmtl._html import embedded
from seqmtl._surroundings import has_matplotlib
from seqmtl._version import __version__
from seqmtl.adaptation.relatives import extend
from seqmtl.comparison.results import draw_comparison
from seqmtl.evaluation.tables import Column
from seqmtl.exceptions import SeqmtlError
from seqmtl.explanation import draw_logo, poim
from seqmtl.io.dataset import annotation_path
from seqmtl.reporting.contents import SIGNAL_NAMES, FolderContents
from seqmtl.reporting.figures import draw_lengths, draw_rounds
from seqmtl.reporting.genome_view import (
    CallsOf,
    Region,
    draw_region,
    find_region,
    held_out_regions,
)
from seqmtl.reporting.introns import INTRONS, PredictedIntrons, calls_in
from seqmtl.reporting.signal_sections import Values, results, table
from seqmtl.splicing.model import estimated_accuracy, expectation
from seqmtl.splicing.new_organism import relatives_text
from seqmtl.splicing.paired_scores import METHODS

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "biopython")
_MAX_REGIONS = 3
_RELATIVES = "the relatives"


def introns(contents: FolderContents) -> Values:
    """Return introns predicted without labels, their relatives, and the rounds of self-training."""
    rounds = _by_organism(
        {
            name: {
                organism: {**facts, "organism": organism, "file": contents.path_of(name)}
                for organism, facts in model.training.get("unlabelled", {}).items()
            }
            for name, model in contents.paired.items()
        }
    )
    genomes = [
        _genome(predicted, rounds.get(predicted.organism, {}))
        for predicted in contents.introns.values()
    ]
    if not genomes and not rounds:
        return {}
    annotated = [
        {"name": summary["organism"], "genome": os.path.basename(summary["genome"])}
        for summary in contents.scans.values()
        if summary["command"] == "annotate"
    ]
    rounds_of = [_rounds(contents, *each) for each in rounds.items()]
    return {"genomes": genomes, "rounds": rounds_of, "annotated": annotated}


def _genome(predicted: PredictedIntrons, facts: Mapping[str, Any]) -> Values:
    """Return the introns predicted in a genome; `facts` are those of self-training, if any."""
    columns = [
        Column("Probability", "min_probability", ".1f"),
        Column("Predicted", "predicted", ","),
        Column("Estimated precision", "precision", ".0%"),
        Column("Estimated recall", "recall", ".0%"),
        Column("Annotated", "annotated", ","),
        Column("Not annotated", "others", ","),
        Column("Missed", "missed", ","),
    ]
    accuracy = estimated_accuracy(facts)
    rows = [
        row
        | dict(zip(("precision", "recall"), accuracy.get(row["min_probability"], ()), strict=False))
        for row in predicted.rows
    ]
    lengths = predicted.lengths
    return {
        **table(columns, rows),
        "organism": predicted.organism,
        "lengths": embedded(lambda: draw_lengths(lengths)) if lengths else "",
        "annotation": os.path.basename(predicted.annotation),
        "n_gaps": f"{predicted.n_gaps:,}" if predicted.n_gaps else "",
        "warning": predicted.warning(),
        "files": [predicted.path],
    }


def _rounds(contents: FolderContents, name: str, facts: Mapping[str, Any]) -> Values:
    """Return the rounds of self-training of an organism without labels, to be shown by a name."""
    columns = [
        Column("Round", "round"),
        Column("Donors", ("expected", 0), ",.0f"),
        Column("Acceptors", ("expected", 1), ",.0f"),
        Column("Donors, p ≥ 0.9", ("n_p90", 0), ",.0f"),
        Column("Acceptors, p ≥ 0.9", ("n_p90", 1), ",.0f"),
        Column("Reversed rate", "reversed_rate", ".1%"),
    ]
    rounds, relatives = facts["rounds"], facts.get("relatives")
    return {
        **table(columns, [{"round": number, **values} for number, values in enumerate(rounds)]),
        "organism": name,
        "n_bases": f"{facts['bases']:,}",
        "image": embedded(lambda: draw_rounds(rounds)) if len(rounds) > 1 else "",
        "expected": next(iter(expectation(facts)), ""),
        "relatives": relatives_text(**relatives) if relatives else "",
        "logos": _logos(contents, facts) if relatives else [],
        "is_learnt": len(rounds) > 1,
        "warnings": facts.get("warnings", []),
        "files": [facts["file"]],
    }


def _logos(contents: FolderContents, facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a logo of the weights of donors, and one of acceptors, above that of the relatives."""
    if not has_matplotlib():
        return []
    model, logos = contents.with_weights(facts["file"]), []
    for end in (model.donor, model.acceptor):
        weights = [facts["relatives"]["weights"].get(task, 0.0) for task in end.tasks]
        kernel = extend(end.kernel, len(end.tasks), _RELATIVES, np.array(weights))
        names = [facts["organism"], _RELATIVES] if len(facts["rounds"]) > 1 else [_RELATIVES]
        poims = [poim(replace(end, kernel=kernel), name, max_order=1) for name in names]
        logos.append((end.site.kind, embedded(partial(draw_logo, *poims))))
    return logos


def _by_organism(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return facts of models by organism, and by model where they differ."""
    by_organism: dict[str, dict[str, Any]] = {}
    for model, organisms in models.items():
        for organism, facts in organisms.items():
            by_model = by_organism.setdefault(organism, {})
            others = [{**other, "file": facts["file"]} for other in by_model.values()]
            if facts not in others:  # a model keeps the facts of the one that it was made from
                by_model[model] = facts
    return {
        f"{model}: {organism}" if len(by_model) > 1 else organism: facts
        for organism, by_model in by_organism.items()
        for model, facts in by_model.items()
    }


def paired(contents: FolderContents) -> Values:
    """Return evaluations of paired models: sites alone, and with their partners."""
    evaluations = []
    for name, document in contents.pairs.items():
        over = f"AUPRC over every candidate in the {document['split']} regions, alone and paired"
        for signal, methods in document["signals"].items():
            by_method = {method: methods[method] for method in METHODS}
            file = os.path.join(contents.path, name)
            values = {**results(by_method, "paired"), "over": over, "files": [file]}
            evaluations.append({"sites": SIGNAL_NAMES.get(signal, signal), "results": values})
    return {"evaluations": evaluations} if evaluations else {}


def paired_models(contents: FolderContents) -> Values:
    """Return the data of the paired models."""
    columns = [
        Column("Organism", "name"),
        Column("Introns", "n_introns", ","),
        Column("Source of introns", "source"),
        Column("Shortest (bases)", "shortest", ","),
        Column("99.5 % up to (bases)", "span", ","),
        Column("Coding bases", "n_coding", ","),
        Column("Calibration sites", "n_sites", ","),
    ]
    layers = _by_organism(
        {
            name: {
                organism: {
                    **facts,
                    "span": model.layer[organism].span,
                    "source": model.source_of_introns(organism),
                    "file": contents.path_of(name),
                }
                for organism, facts in model.layer_facts().items()
                if organism in model.training.get("unlabelled", model.layer)
            }
            for name, model in contents.paired.items()
        }
    )
    rows = [{"name": name, **facts} for name, facts in layers.items()]
    files = [contents.path_of(name) for name in contents.paired]
    return {**table(columns, rows), "files": files} if rows else {}


def regions(contents: FolderContents) -> Values:
    """Return the region with the most introns of the first genomes that were scanned."""
    drawn: list[Values] = []
    for name, summary in contents.scans.items():
        directory = os.path.join(contents.path, os.path.dirname(name))
        for scan in summary["scans"]:
            files = _files_of(scan, directory)
            if len(drawn) == _MAX_REGIONS or not any(path.endswith(INTRONS) for path in files):
                continue
            calls_of = contents.calls.get(name, partial(calls_in, files))
            region = _region(contents, scan["organism"], calls_of)
            image = embedded(partial(draw_region, region)) if region else ""
            if region and image:
                span = f"{region.contig}:{region.start + 1:,}-{region.end:,}"
                drawn.append(
                    {
                        "image": image,
                        "position": f"{scan['organism']}, {span}",
                        "sentence": region.text(),
                        "is_held_out": region.is_held_out,
                        "files": [path for path in files if path.endswith(INTRONS)],
                    }
                )
    return {"regions": drawn} if drawn else {}


def _files_of(scan: Mapping[str, Any], directory: str) -> list[str]:
    """Return the files of a scan that lie beside its summary in `directory`, or above."""
    names = [os.path.basename(path) for path in scan["files"]]
    paths = [os.path.normpath(f"{directory}/{up}{name}") for name in names for up in ("", "../")]
    return [path for path in paths if os.path.isfile(path)]


def _region(contents: FolderContents, organism: str, calls_of: CallsOf) -> Region | None:
    """Return the region of an organism to show, if any."""
    held_out, annotation = [], contents.annotations.get(organism)
    try:
        for signal in contents.signals.values():
            if organism in signal.dataset.get("organisms", {}):
                held_out = held_out_regions(signal.folder, organism)
                annotation = annotation or annotation_path(signal.folder, organism, signal.dataset)
        transcripts = contents.genes(annotation).transcripts if annotation else ()
        return find_region(calls_of, held_out, transcripts)
    except (OSError, ValueError, IndexError, SeqmtlError) as error:
        contents.skipped.append(f"a region of the genome of {organism}: {error}")
        return None


def comparisons(contents: FolderContents) -> Values:
    """Return the dots of every comparison of methods."""
    drawn = [
        {
            "image": embedded(partial(draw_comparison, document)),
            "title": "AUROC and AUPRC by organism and method",
            "caption": f"Methods on the same splits, {_training_windows(document):,.0f} training "
            "windows per organism.",
            "files": [os.path.join(contents.path, name)],
        }
        for name, document in contents.comparisons.items()
    ]
    return {"comparisons": drawn} if drawn and drawn[0]["image"] else {}


def _training_windows(document: Mapping[str, Any]) -> float:
    """Return the mean number of training windows per organism in a comparison."""
    return fmean(parts["train"]["n"] for parts in document["sizes"].values())


def scans(contents: FolderContents) -> Values:
    """Return the scans, one row per organism."""
    entries = []
    for name, summary in contents.scans.items():
        directory = os.path.join(contents.path, os.path.dirname(name))
        for scan in summary["scans"]:
            entry: Values = {key: f"{scan[key]:,}" for key in ("n_bases", "n_scored", "n_reported")}
            entry |= {"organism": scan["organism"], "files": _files_of(scan, directory)}
            entries.append({**entry, "model": os.path.basename(summary["model"])})
    return {"scans": entries} if entries else {}


def about(contents: FolderContents, command: str) -> Values:
    """Return the command, the folder, versions, and what is not shown."""
    datasets = [
        (signal.text, signal.dataset.get("command")) for signal in contents.signals.values()
    ]
    versions = [f"seqmtl {__version__}", f"Python {platform.python_version()}"]
    return {
        "command": command,
        "folder": os.path.basename(os.path.abspath(contents.path)),
        "datasets": [each for each in datasets if each[1]],
        "versions": [*versions, *(f"{name} {version(name)}" for name in _PACKAGES)],
        "skipped": contents.skipped,
    }
