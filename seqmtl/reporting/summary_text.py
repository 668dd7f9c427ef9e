"""Heading, summary and next step of a folder of results, as sentences."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seqmtl.evaluation.cells import MEAN, Cell, metric_cells, tie
from seqmtl.linear_model.base import Model
from seqmtl.reporting.folder import SIGNAL_NAMES, WAYS, FolderContents, Signal

_FEW = 3  # organisms named in the title
_AUPRC = "auprc_genome"
Step = tuple[str, list[str]]  # what to do, and the arguments of the command


def name_contents(contents: FolderContents) -> str:
    """Name the signals and their organisms, or the organisms with predicted introns."""
    signals = contents.signals.values()
    if contents.introns:
        names = list(dict.fromkeys(introns.organism for introns in contents.introns.values()))
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
    """Summarise the contents of the folder, a line each: introns, paired models, others."""
    sentences = [introns.sentence() for introns in contents.introns.values()]
    with_introns = {introns.organism for introns in contents.introns.values()}
    unlabelled = {
        name: _without_labels(name, facts)
        for model in contents.paired.values()
        for name, facts in model.training.get("unlabelled", {}).items()
        if name not in with_introns
    }
    pairs = [
        sentence
        for document in contents.pairs.values()
        for signal, methods in document["signals"].items()
        if (sentence := _with_partners(document["model"], signal, methods))
    ]
    in_pairs = {name for document in contents.pairs.values() for name in document["signals"]}
    signals = [
        _sentence(signal)
        for name, signal in contents.signals.items()
        if name not in in_pairs or signal.main in signal.metrics
    ]
    return "\n".join([*sentences, *unlabelled.values(), *pairs, *signals])


def _with_partners(model: str, signal: str, methods: Mapping[str, Any]) -> str:
    """Return the accuracy of a paired model and of the site alone, as a sentence."""
    alone, paired = (metric_cells(methods, _AUPRC)[MEAN][way] for way in WAYS)
    if np.isnan(paired.mean):
        return ""
    what = _capital(SIGNAL_NAMES.get(signal, signal))
    return (
        f"{what} ({os.path.basename(model)}): mean AUPRC (genome) {_with_interval(paired)} paired, "
        f"{_with_interval(alone)} unpaired{', a tie' if tie(alone, paired) else ''}."
    )


def _without_labels(name: str, facts: Mapping[str, Any]) -> str:
    """Return the numbers of sites in a genome without labels, as a sentence."""
    last, n_doubts = facts["rounds"][-1], len(facts.get("doubts", []))
    expected, sure = (sum(last[key]) for key in ("expected", "sure"))
    note = (
        f" There {'is a warning' if n_doubts == 1 else 'are warnings'}: see below."
        if n_doubts
        else ""
    )
    return (
        f"{name}, without labels: {expected:,.0f} donors and acceptors are expected in "
        f"{facts['bases']:,} bases, {sure:,.0f} of them with a probability of 0.9 or more.{note}"
    )


def _sentence(signal: Signal) -> str:
    """Return the accuracy of the main model of a signal, site by site, as a sentence."""
    what, name = _capital(signal.text), signal.main
    if not name:
        return f"{what}: a data set, no model yet."
    n = len(signal.organisms)
    text = f"{what} by themselves: the model {name}.seqmtl of {n} organism{'s' * (n > 1)}"
    if name not in signal.metrics:
        return f"{text}, not evaluated."
    rivals = signal.rivals()
    cells = metric_cells(rivals, _AUPRC)
    cell = cells[MEAN][name]
    if np.isnan(cell.mean):
        return f"{text}; the test regions have no true sites to evaluate it on."
    return (
        f"{text} reaches a mean AUPRC (genome) of {_with_interval(cell)} over every candidate in "
        f"the test regions{_against_others(cells, name)}."
    )


def _against_others(cells: Mapping[str, Mapping[str, Cell]], main: str) -> str:
    """Compare the other models with the main one: which are better, tied or worse."""
    main_cell, rivals = cells[MEAN][main], []
    for name, other in cells[MEAN].items():
        if name != main and not np.isnan(other.mean):
            order = "ahead" if other.mean > main_cell.mean else "behind"
            rivals.append(
                f"{name}, {other.mean:.3f}, is {'a tie' if tie(main_cell, other) else order}"
            )
    return f"; {_listed(rivals)}" if rivals else ""


def _with_interval(cell: Cell) -> str:
    low, high = cell.bounds
    mean = f"{cell.mean:.3f}"
    return f"{mean} ({low:.3f} to {high:.3f})" if high > low else mean


def next_step(contents: FolderContents) -> tuple[str, str]:
    """Return advice, as a sentence without a full stop, and the command for it."""
    signals = list(contents.signals.values())
    steps = [step for signal in signals if (step := _step_of(contents, signal)) is not None]
    sentence, arguments = (*steps, *_pairing(contents), _scan_step(contents))[0]
    return sentence, shlex.join(["seqmtl", *arguments])


def _step_of(contents: FolderContents, signal: Signal) -> Step | None:
    """Return advice for a signal that has data, but lacks a model or an evaluation."""
    if not signal.folder:
        return None
    if not signal.models:
        out = ["-o", contents.path_of(signal.name)]
        tree = ["--tree", "eukaryotes"]
        return f"train a model of {signal.text}", ["train", signal.folder, *tree, *out]
    model, main = contents.path_of(signal.main), signal.models[signal.main]
    data = [model, signal.folder]
    if main.kind == "classification" and not main.curves:
        what = f"turn the scores of {signal.main}.seqmtl into probabilities"
        return what, ["calibrate", *data, "-o", model]
    if signal.main not in signal.metrics and not contents.pairs:
        what = f"measure the accuracy of {signal.main}.seqmtl on the test regions"
        return what, ["evaluate", *data, "--json", f"{model.removesuffix('.seqmtl')}.json"]
    return None


def _pairing(contents: FolderContents) -> Iterator[Step]:
    """Yield advice for models of both ends of introns, and their data."""
    ends = [contents.signals.get(name) for name in ("donor", "acceptor")]
    both = [signal for signal in ends if signal is not None and signal.models and signal.folder]
    folders = [signal.folder for signal in both]
    if len(both) == 2 and not contents.paired:
        models = [contents.path_of(signal.main) for signal in both]
        what = "combine the donor and acceptor models, which gains most"
        yield what, ["pair", *models, *folders, "-o", contents.path_of("pair")]
    elif len(both) == 2 and not contents.pairs:
        model = contents.path_of(next(iter(contents.paired)))
        what = "measure what the paired model gains on the test regions"
        yield what, ["evaluate", model, *folders, "--json", f"{contents.path}/pair.json"]


def _scan_step(contents: FolderContents) -> Step:
    """Return advice on scoring a genome, or on using its scores."""
    models: dict[str, Model] = {
        **contents.paired,
        **{s.main: s.models[s.main] for s in contents.signals.values() if s.models},
    }
    if not models:
        return "see what else there is", ["--help"]
    for scanned in contents.scans.values():
        for organism in (scan["organism"] for scan in scanned["scans"]):
            name = next((name for name, model in models.items() if organism in model.tasks), None)
            if name is not None:
                command = [
                    "scan",
                    contents.path_of(name),
                    scanned["genome"],
                    "--organism",
                    organism,
                ]
                what = "guide a gene finder by these sites"
                return what, [*command, "--format", "hints", "-o", "hints.gff"]
    name, model = next(iter(models.items()))
    organism = model.tasks[-1]
    command = ["scan", contents.path_of(name), "GENOME.fa", "--organism", organism]
    more, end = (["--format", "all"], "") if contents.paired else ([], ".bed.gz")
    out = os.path.join(contents.path, organism) + end
    return "score a genome", [*command, *more, "-o", out, "--json", f"{out}.scan.json"]
