"""Paired models: how much the sites gain from their partners, and what the layer has learnt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from seqmtl.report._html import Markup, element, join, number, picture, table
from seqmtl.report.figures import draw_bars
from seqmtl.report.folder import SIGNAL_NAMES, FolderContents
from seqmtl.report.signal_sections import genome_table, reliability

_NOT_EVALUATED = (
    "There is no evaluation of a paired model in this folder: seqmtl evaluate PAIR.seqmtl DONORS "
    "ACCEPTORS --json FILE"
)


def pair_sentences(found: FolderContents) -> list[str]:
    """Say, for each evaluation, what the sites gain from their partners."""
    sentences = []
    for name, document in found.pairs.items():
        gains = []
        for signal, methods in document["signals"].items():
            alone, paired = (number(mean_auprc(methods[way])) for way in ("alone", "paired"))
            gains.append(f"from {alone} to {paired} for {SIGNAL_NAMES.get(signal, signal)}")
        model = document.get("model", name)
        sentences.append(
            f"With their partners seen ({model}), the mean AUPRC (genome) changes "
            f"{' and '.join(gains)}."
        )
    return sentences


def mean_auprc(metrics: Mapping[str, Any]) -> float | None:
    """Return the mean AUPRC over the organisms that have one."""
    values = [task["auprc_genome"] for task in metrics["tasks"].values()]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def pair_section(found: FolderContents) -> Markup:
    """Return the evaluations of paired models, and their layers."""
    parts = [_evaluation(name, document) for name, document in found.pairs.items()]
    if found.paired and not parts:
        parts.append(element("p", _NOT_EVALUATED))
    rows = [
        [f"{name}: {task}", f"{facts['n_introns']:,}", f"{facts['shortest']:,}",
         f"{facts['longest']:,}", f"{facts['n_coding']:,}", f"{facts['n_sites']:,}"]
        for name, model in found.paired.items()
        for task, facts in model.layer_facts().items()
    ]  # fmt: skip
    if rows:
        head = ["Model", "Introns", "Shortest", "Longest", "Coding bases", "Sites fitted to"]
        caption = (
            "What the paired models are from: annotated introns, the shortest and the longest "
            "considered (bases), coding bases, and held-out true sites"
        )
        parts.append(table([head], rows, caption))
    return join(parts)


def _evaluation(name: str, document: Mapping[str, Any]) -> Markup:
    """Return tables and bars of the sites of each signal alone and in pairs."""
    parts = []
    for signal, methods in document["signals"].items():
        names, sites = list(methods["alone"]["tasks"]), SIGNAL_NAMES.get(signal, signal)
        figure = picture(
            draw_bars(methods, names),
            f"Bars of AUPRC of {sites} by organism, alone and in pairs",
            f"AUPRC (genome) of {sites} over every candidate in the {document['split']} regions, "
            "by the site alone and with its partners; whiskers are bootstrap intervals. From "
            f"{name}.",
        )
        parts += [element("p", element("b", sites)), figure, genome_table(methods)]
        parts.append(reliability(methods["paired"]["tasks"]))
    return join(parts)
