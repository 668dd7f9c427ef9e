"""Values of the sections about a folder: introns, paired models."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from seqmtl._surroundings import has_matplotlib
from seqmtl._version import __version__
from seqmtl.adaptation.relatives import extend
from seqmtl.evaluation.tables import Column
from seqmtl.explanation import draw_logo, poim
from seqmtl.reporting.contents import SIGNAL_NAMES, FolderContents
from seqmtl.reporting.figures import draw_lengths, draw_rounds
from seqmtl.reporting.html import embedded
from seqmtl.reporting.introns import PredictedIntrons
from seqmtl.reporting.signal_sections import Values, results, table
from seqmtl.splicing.model import PairedModel, estimated_accuracy, expectation
from seqmtl.splicing.new_organism import relatives_text
from seqmtl.splicing.paired_scores import METHODS

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "biopython")
_RELATIVES = "the relatives"


def introns(contents: FolderContents) -> Values:
    """Return introns predicted without labels, their relatives, and the rounds of self-training."""
    rounds = _by_organism(
        {
            name: {
                organism: {**facts, "organism": organism, "model": name}
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
    return {"genomes": genomes, "rounds": [_rounds(contents, *each) for each in rounds.items()]}


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
        "fasta": os.path.basename(predicted.genome),
        "lengths": embedded(lambda: draw_lengths(lengths)) if lengths else "",
        "annotation": os.path.basename(predicted.annotation),
        "n_gaps": f"{predicted.n_gaps:,}",
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
        "files": [contents.path_of(facts["model"])],
    }


def _logos(contents: FolderContents, facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a logo of the weights of donors, and one of acceptors, above that of the relatives."""
    if not has_matplotlib():
        return []
    model, logos = contents.paired[facts["model"]], []
    if not model.donor.W.shape[1]:  # read without weights
        model = PairedModel.load(contents.path_of(facts["model"]))
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
            others = [{**other, "model": model} for other in by_model.values()]
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
