"""Heading and summary of a folder of results, as sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from seqmtl.evaluation.cells import MEAN, Cell, metric_cells, tie
from seqmtl.reporting.contents import SIGNAL_NAMES, FolderContents, Signal
from seqmtl.splicing.paired_scores import METHODS

_MAX_NAMES = 3  # organisms named in the title
_AUPRC = "auprc_genome"


def name_contents(contents: FolderContents) -> str:
    """Name the signals and their organisms, or the organisms with predicted introns."""
    signals = contents.signals.values()
    if contents.introns:
        names = list(dict.fromkeys(introns.organism for introns in contents.introns.values()))
        return f"Introns of {_organisms(names)}"
    if not signals:
        return f"Introns by {_joined([f'{name}.seqmtl' for name in contents.paired])}"
    names = list(dict.fromkeys(name for signal in signals for name in signal.organisms))
    return _capital(f"{_joined([signal.text for signal in signals])} of {_organisms(names)}")


def _organisms(names: Sequence[str]) -> str:
    return _joined(names) if len(names) <= _MAX_NAMES else f"{len(names)} organisms"


def _joined(names: Sequence[str]) -> str:
    """Join names as in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def summarise(contents: FolderContents) -> list[str]:
    """Summarise the contents of the folder: introns, paired models, single sites."""
    sentences = [introns.sentence() for introns in contents.introns.values()]
    with_introns = {introns.organism for introns in contents.introns.values()}
    unlabelled = {
        name: _without_labels(name, facts)
        for model in contents.paired.values()
        for name, facts in model.training.get("unlabelled", {}).items()
        if name not in with_introns
    }
    pairs = [
        _paired(document["model"], signal, methods)
        for document in contents.pairs.values()
        for signal, methods in document["signals"].items()
    ]
    in_pairs = {name for document in contents.pairs.values() for name in document["signals"]}
    signals = [
        _of_signal(signal)
        for name, signal in contents.signals.items()
        if name not in in_pairs or signal.main in signal.metrics
    ]
    return [*filter(None, [*sentences, *unlabelled.values(), *pairs, *signals])]


def _without_labels(name: str, facts: Mapping[str, Any]) -> str:
    """Return the number of sites predicted without labels, as a sentence."""
    last = facts["rounds"][-1]
    return (
        f"{name}, without labels: {sum(last['expected']):,.0f} donors and acceptors expected in "
        f"{facts['bases']:,} bases, {sum(last['n_p90']):,.0f} with p >= 0.9."
    )


def _paired(model: str, signal: str, methods: Mapping[str, Any]) -> str:
    """Return the accuracy of a paired model and of the site alone, as a sentence."""
    alone, paired = (metric_cells(methods, _AUPRC)[MEAN][method] for method in METHODS)
    if np.isnan(paired.mean):
        return ""
    what = _capital(SIGNAL_NAMES.get(signal, signal))
    return (
        f"{what} ({os.path.basename(model)}): mean AUPRC (genome) {_with_interval(paired)} paired, "
        f"{_with_interval(alone)} alone{', a tie' if tie(alone, paired) else ''}."
    )


def _of_signal(signal: Signal) -> str:
    """Return the accuracy of the main model of a signal, as a sentence."""
    what, name = _capital(signal.text), signal.main
    if not name:
        return f"{what}: a dataset, no model yet."
    model = f"{what} ({name}.seqmtl)"
    if name not in signal.metrics:
        return f"{model}: not evaluated."
    cells = metric_cells(signal.ordered_metrics(), _AUPRC)
    cell = cells[MEAN][name]
    if np.isnan(cell.mean):
        return f"{model}: not evaluated, because the test regions have no true sites."
    others = "".join(
        f"; {other}: {of_other.mean:.3f}{' (tie)' if tie(cell, of_other) else ''}"
        for other, of_other in cells[MEAN].items()
        if other != name and not np.isnan(of_other.mean)
    )
    return f"{model}: mean AUPRC (genome) {_with_interval(cell)}{others}."


def _with_interval(cell: Cell) -> str:
    low, high = cell.bounds
    mean = f"{cell.mean:.3f}"
    return f"{mean} ({low:.3f}-{high:.3f})" if high > low else mean
