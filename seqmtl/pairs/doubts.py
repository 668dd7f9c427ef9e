"""What speaks against the introns found in a genome without labels, and how many are right.

The figures are those of genomes whose organism was left out of the models: docs/benchmarks.md, *A
genome without labels*. Where a genome is outside what was seen there, nothing was measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl.pairs.coding import Stretch, stops_that_code
from seqmtl.pairs.genome_sample import GenomeSample
from seqmtl.pairs.rounds import Round
from seqmtl.sequences.alphabet import OTHER

#: Share of the calls of probability .9 or more that were right, lowest and highest: after rounds;
#: as the relatives place them, with calls enough for rounds; and with fewer.
RIGHT = {"rounds": (0.81, 0.99), "placed": (0.84, 1.0), "few": (0.25, 1.0)}
_GC = (0.19, 0.51)  # share of G and C in the genomes of the table
_MOVED = 0.8  # change of the site models' weights: .3 to .6 in the table
_BACKWARDS = 0.1  # introns found backwards, for each forwards
_KEPT = 0.8  # share of the calls of one round that the next confirms
_RARE = 0.05  # share of the relatives' introns that are as short, or as long, as the median called
_MOST = 2_000_000  # bases that tell the genetic code


def find_doubts(
    sample: GenomeSample, last: Round, prior: NDArray[np.float64], has_calls: bool
) -> list[str]:
    """Return what is unlike the genomes on which the models were tested, in words.

    Parameters
    ----------
    sample : GenomeSample
        The genome.
    last : Round
        What was found in the end.
    prior : ndarray of float64
        Density of the relatives' intron lengths 1, 2, ...
    has_calls : bool
        Whether there are calls enough to judge by.
    """
    found: list[str] = []

    def tell(is_so: bool, text: str) -> None:
        found.extend([text] * is_so)

    known = sample.codes[sample.codes < OTHER]
    gc = float(((known == 1) | (known == 2)).mean()) if known.size else 0.0
    tell(
        not _GC[0] <= gc <= _GC[1],
        f"{gc:.0%} of its bases are G or C, {_GC[0]:.0%} to {_GC[1]:.0%} in the genomes tested",
    )
    stops = stops_that_code(_stretches(sample))
    tell(
        bool(stops),
        f"genes seem to read through {' and '.join(stops)}, as in another genetic code, but coding "
        "content is that of the standard one",
    )
    if not has_calls:
        return found
    middle, moved, backwards, kept = last.middle, last.moved, last.backwards, last.kept
    below = float(prior[:middle].sum() / prior.sum())
    tell(
        not _RARE <= below <= 1 - _RARE,
        f"the median intron called has {middle:,} bases, and {min(below, 1 - below):.1%} of the "
        f"relatives' introns are as {'short' if below < 0.5 else 'long'}",
    )
    tell(
        moved > _MOVED,
        f"its sites have other letters: the site models changed by {moved:.0%} of the relatives' "
        f"weights, at most {_MOVED:.0%} in the genomes tested",
    )
    tell(
        backwards > _BACKWARDS,
        f"about {backwards:.0%} of the introns may be there by chance: so many are found in the "
        "genome read backwards, where there are none, for each found forwards",
    )
    tell(
        kept < _KEPT,
        f"the last round kept {kept:.0%} of the calls before, {_KEPT:.0%} or more in the genomes "
        "tested",
    )
    return found


def _stretches(sample: GenomeSample) -> Sequence[Stretch]:
    """Return the first stretches, evenly many of each contig, without sites."""
    none = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    step = max(1, round(sample.size / _MOST))
    return [Stretch(sample.stretch(k), [none, none]) for k in range(0, len(sample.bounds), step)]
