"""What a folder of results says in words: a heading, a summary, and what to do next."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seqmtl.evaluation.cells import MEAN, Cell, metric_cells, tie
from seqmtl.models.base import Model
from seqmtl.report.folder import SIGNAL_NAMES, WAYS, FolderContents, Signal

_FEW = 3  # organisms named in the title
_AUPRC = "auprc_genome"
Step = tuple[str, list[str]]  # what to do, and the words of the command


def name_contents(contents: FolderContents) -> str:
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
    """Summarise the contents of the folder, a line each: introns found, paired models, others."""
    found = [own.sentence() for own in contents.found.values()]
    told = {own.organism for own in contents.found.values()}
    unlabelled = {
        name: _without_labels(name, facts)
        for model in contents.paired.values()
        for name, facts in model.training.get("unlabelled", {}).items()
        if name not in told
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
    return "\n".join([*found, *unlabelled.values(), *pairs, *signals])


def _with_partners(model: str, signal: str, methods: Mapping[str, Any]) -> str:
    """Tell what a paired model reaches, and what the site alone does."""
    alone, paired = (metric_cells(methods, _AUPRC)[MEAN][way] for way in WAYS)
    if np.isnan(paired.mean):
        return ""
    what = _capital(SIGNAL_NAMES.get(signal, signal))
    return (
        f"{what} whose partners are seen, too ({os.path.basename(model)}), reach a mean AUPRC "
        f"(genome) of {_with_interval(paired)}; by the site alone, {_with_interval(alone)}"
        f"{', a tie' if tie(alone, paired) else ''}."
    )


def _without_labels(name: str, facts: Mapping[str, Any]) -> str:
    """Tell what was found in a genome without labels."""
    last, n_doubts = facts["rounds"][-1], len(facts.get("doubts", []))
    expected, sure = (sum(last[key]) for key in ("expected", "sure"))
    doubts = (
        f" There {'is a doubt' if n_doubts == 1 else 'are doubts'}: see below." if n_doubts else ""
    )
    return (
        f"{name}, without labels: {expected:,.0f} donors and acceptors are expected in "
        f"{facts['bases']:,} bases, {sure:,.0f} of them with a probability of .9 or more.{doubts}"
    )


def _sentence(signal: Signal) -> str:
    """Tell what the main model of a signal reaches, site by site."""
    what, name = _capital(signal.text), signal.main
    if not name:
        return f"{what}: a data set, no model yet."
    n = len(signal.organisms)
    text = f"{what} by themselves: the model {name}.seqmtl of {n} organism{'s' * (n > 1)}"
    if name not in signal.metrics:
        return f"{text}, not evaluated."
    rivals = signal.rivals()
    cells = metric_cells(rivals, _AUPRC)
    own = cells[MEAN][name]
    if np.isnan(own.mean):
        return f"{text}; the test regions have no true sites to evaluate it on."
    return (
        f"{text} reaches a mean AUPRC (genome) of {_with_interval(own)} over every candidate in "
        f"the test regions{_against_others(cells, name)}."
    )


def _against_others(cells: Mapping[str, Mapping[str, Cell]], main: str) -> str:
    """Tell which of the other models are ahead, tied or behind, whichever is better."""
    own, told = cells[MEAN][main], []
    for name, other in cells[MEAN].items():
        if name != main and not np.isnan(other.mean):
            order = "ahead" if other.mean > own.mean else "behind"
            told.append(f"{name}, {other.mean:.3f}, is {'a tie' if tie(own, other) else order}")
    return f"; {_listed(told)}" if told else ""


def _with_interval(cell: Cell) -> str:
    low, high = cell.bounds
    shown = f"{cell.mean:.3f}"
    return f"{shown} ({low:.3f} to {high:.3f})" if high > low else shown


def next_step(contents: FolderContents) -> tuple[str, str]:
    """Return what to do next, as a sentence without its end, and the command for it."""
    signals = list(contents.signals.values())
    steps = [step for own in signals if (step := _step_of(contents, own)) is not None]
    sentence, words = (*steps, *_pairing(contents), _scan_step(contents))[0]
    return sentence, shlex.join(["seqmtl", *words])


def _step_of(contents: FolderContents, signal: Signal) -> Step | None:
    """Return what a signal lacks, if it has data."""
    if not signal.folder:
        return None
    if not signal.models:
        out = ["-o", contents.place(signal.name)]
        tree = ["--tree", "eukaryotes"]
        return f"train a model of {signal.text}", ["train", signal.folder, *tree, *out]
    model, main = contents.place(signal.main), signal.models[signal.main]
    data = [model, signal.folder]
    if main.kind == "classification" and not main.curves:
        what = f"turn the scores of {signal.main}.seqmtl into probabilities"
        return what, ["calibrate", *data, "-o", model]
    if signal.main not in signal.metrics and not contents.pairs:
        what = f"measure how good {signal.main}.seqmtl is on the test regions"
        return what, ["evaluate", *data, "--json", f"{model.removesuffix('.seqmtl')}.json"]
    return None


def _pairing(contents: FolderContents) -> Iterator[Step]:
    """Yield what to do with models of both ends of introns, and their data."""
    ends = [contents.signals.get(name) for name in ("donor", "acceptor")]
    both = [signal for signal in ends if signal is not None and signal.models and signal.folder]
    folders = [signal.folder for signal in both]
    if len(both) == 2 and not contents.paired:
        models = [contents.place(signal.main) for signal in both]
        what = "let donors and acceptors see each other, which gains most"
        yield what, ["pair", *models, *folders, "-o", contents.place("pair")]
    elif len(both) == 2 and not contents.pairs:
        model = contents.place(next(iter(contents.paired)))
        what = "measure what the paired model gains on the test regions"
        yield what, ["evaluate", model, *folders, "--json", f"{contents.path}/pair.json"]


def _scan_step(contents: FolderContents) -> Step:
    """Return how to score a genome, or what to do with one that was scored."""
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
                command = ["scan", contents.place(name), scanned["genome"], "--organism", organism]
                what = "guide a gene finder by these sites"
                return what, [*command, "--format", "hints", "-o", "hints.gff"]
    name, model = next(iter(models.items()))
    organism = model.tasks[-1]
    command = ["scan", contents.place(name), "GENOME.fa", "--organism", organism]
    more, end = (["--format", "all"], "") if contents.paired else ([], ".bed.gz")
    out = os.path.join(contents.path, organism) + end
    return "score a genome", [*command, *more, "-o", out, "--json", f"{out}.scan.json"]
