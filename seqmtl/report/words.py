"""What a folder of results says in words: a heading, a summary, and what to do next."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqmtl.compare.results import MEAN, Cell, tie
from seqmtl.models.base import Model
from seqmtl.report.folder import SIGNAL_NAMES, WAYS, FolderContents, Signal
from seqmtl.report.sections import metric_cells

_FEW = 3  # organisms named in the title
_AUPRC = "auprc_genome"


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
    signals = [_sentence(signal) for signal in contents.signals.values()]
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
    steps = (step for own in signals if (step := _step_of(contents, own)) is not None)
    if (step := next(steps, None)) is not None:
        return step
    ends = [contents.signals.get(name) for name in ("donor", "acceptor")]
    both = [signal for signal in ends if signal is not None and signal.models and signal.folder]
    if len(both) == 2:
        folders = " ".join(signal.folder for signal in both)
        if not contents.paired:
            models = " ".join(contents.place(signal.main) for signal in both)
            made = contents.place("pair")
            return (
                "let donors and acceptors see each other, which gains most",
                f"seqmtl pair {models} {folders} -o {made}",
            )
        if not contents.pairs:
            name = next(iter(contents.paired))
            command = f"seqmtl evaluate {contents.place(name)} {folders} --json"
            return (
                "measure what the paired model gains on the test regions",
                f"{command} {os.path.join(contents.path, 'pair.json')}",
            )
    return _scan_step(contents)


def _step_of(contents: FolderContents, signal: Signal) -> tuple[str, str] | None:
    """Return what a signal lacks, if it has data."""
    if not signal.folder:
        return None
    if not signal.models:
        model = contents.place(signal.name)
        return (
            f"train a model of {signal.text}",
            f"seqmtl train {signal.folder} --tree eukaryotes -o {model}",
        )
    model, main = contents.place(signal.main), signal.models[signal.main]
    if main.kind == "classification" and not main.curves:
        return (
            f"turn the scores of {signal.main}.seqmtl into probabilities",
            f"seqmtl calibrate {model} {signal.folder} -o {model}",
        )
    if signal.main not in signal.metrics and not contents.pairs:
        found = f"{model.removesuffix('.seqmtl')}.json"
        return (
            f"measure how good {signal.main}.seqmtl is on the test regions",
            f"seqmtl evaluate {model} {signal.folder} --json {found}",
        )
    return None


def _scan_step(contents: FolderContents) -> tuple[str, str]:
    """Return how to score a genome, or what to do with one that was scored."""
    models: dict[str, Model] = {
        **contents.paired,
        **{s.main: s.models[s.main] for s in contents.signals.values() if s.models},
    }
    if not models:
        return "see what else there is", "seqmtl --help"
    name, model = next(iter(models.items()))
    organisms = [scan["organism"] for own in contents.scans.values() for scan in own["scans"]]
    organism = next(iter(organisms), model.tasks[-1])
    command = f"seqmtl scan {contents.place(name)} GENOME.fa --organism {organism}"
    if organisms:
        return "guide a gene finder by these sites", f"{command} --format hints -o hints.gff"
    more = " --format all" if contents.paired else ""
    out = os.path.join(contents.path, organism) + ("" if more else ".bed.gz")
    return "score a genome", f"{command}{more} -o {out} --json {out}.scan.json"
