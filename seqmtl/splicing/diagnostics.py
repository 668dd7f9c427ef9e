"""Checks of the introns called in a genome without labels.

The limits are those of genomes whose organism was held out: docs/benchmarks.md, *A genome without
labels*. Outside their range, nothing was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences.alphabet import OTHER
from seqmtl.splicing.genetic_code import stops_that_code
from seqmtl.splicing.genome_sample import GenomeSample
from seqmtl.splicing.rounds import SelfTrainingRound

_GC = (0.19, 0.523)  # share of G and C in the genomes of the table
_MAX_REVERSED = 0.1  # introns called in the reversed genome, per intron called
_RARE = 0.05  # share of the relatives' introns that are as short, or as long, as the median called
_MAX_BASES = 2_000_000  # bases to check the genetic code in
_PRECISION = 0.9  # of the introns of p >= 0.9
_MAJORITY = 0.5  # of the weights of the relatives


def warnings_for(
    sample: GenomeSample,
    last: SelfTrainingRound,
    prior: NDArray[np.float64],
    has_calls: bool,
    assumed_stops: tuple[str, ...],
) -> list[str]:
    """Return a sentence for each property unlike those of the genomes tested.

    Parameters
    ----------
    sample : GenomeSample
        The genome.
    last : SelfTrainingRound
        The last round.
    prior : ndarray of float64
        Density of the relatives' intron lengths 1, 2, ...
    has_calls : bool
        Whether there are enough calls to judge by.
    assumed_stops : tuple of str
        Stop codons of the organism, as the calls assume.
    """
    warnings: list[str] = []

    def warn(is_so: bool, text: str) -> None:
        warnings.extend([text] * is_so)

    bases = sample.codes[sample.codes < OTHER]
    gc = float(((bases == 1) | (bases == 2)).mean()) if bases.size else 0.0
    warn(
        not _GC[0] <= gc <= _GC[1],
        f"{gc:.0%} of its bases are G or C, {_GC[0]:.0%} to {_GC[1]:.0%} in the genomes tested",
    )
    stops = [stop for stop in stops_that_code(_stretches(sample)) if stop in assumed_stops]
    warn(
        bool(stops),
        f"genes seem to read through {' and '.join(stops)}: the genetic code may not be that of "
        "the model of coding sequence",
    )
    if not has_calls:
        return warnings
    median, reversed_rate = last.median, last.reversed_rate
    below = float(prior[:median].sum() / prior.sum())
    warn(
        not _RARE <= below <= 1 - _RARE,
        f"the median intron called has {median:,} bases, and {min(below, 1 - below):.1%} of the "
        f"relatives' introns are as {'short' if below < 0.5 else 'long'}",
    )
    warn(
        reversed_rate > _MAX_REVERSED,
        f"the estimated false discovery rate is {reversed_rate:.0%}: introns called in the "
        "reversed genome, which has none, per intron called",
    )
    return warnings


def precision_warnings(
    precision: Mapping[str, Mapping[str, Any]], weights: Mapping[str, float]
) -> list[str]:
    """Return a sentence if the probabilities were too high in held-out relatives, or none was.

    Parameters
    ----------
    precision : mapping of clade to mapping
        Facts of :class:`seqmtl.splicing.model.PairedModel`: the organisms of each clade, and the
        lowest and highest precision measured in its held-out genomes, by case.
    weights : mapping of str to float
        How much each relative counts by the name of the organism, with sum 1.
    """
    if not precision:
        return []
    for clade, facts in precision.items():
        if sum(weights.get(name, 0.0) for name in facts["organisms"]) > _MAJORITY:
            shares = [share for key, case in facts.items() if key != "organisms" for share in case]
            text = (
                f"{min(shares):.0%} to {max(shares):.0%} of the introns of p >= 0.9 called in "
                f"held-out {clade} were right"
            )
            return [text] * (min(shares) < _PRECISION)
    return ["no genome of its clade was held out to measure the precision"]


def _stretches(sample: GenomeSample) -> Sequence[NDArray[np.uint8]]:
    """Return the letters of stretches, evenly many of each contig."""
    step = max(1, round(sample.size / _MAX_BASES))
    return [sample.stretch(k) for k in range(0, len(sample.bounds), step)]
