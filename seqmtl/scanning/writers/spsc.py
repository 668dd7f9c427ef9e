"""Splice scores for the aligners minimap2 and miniprot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.scanning.blocks import Block
from seqmtl.scanning.writers.base import BoundaryWriter, FormattedBlock
from seqmtl.scanning.writers.lines import Field, Fields, integer_column, strand_column, tabbed
from seqmtl.sequences.sites import Sites

#: Range of splice scores. Sites at the lower end or below have no line: the aligners' default.
LOWEST = -6
HIGHEST = 13
_LETTERS = {"donor": b"D", "acceptor": b"A"}
_MIN_PROBABILITY = 1e-300


class SpliceScoreWriter(BoundaryWriter):
    """Splice scores in the format of minimap2 (--spsc) and miniprot (--spsc).

    A line is contig, offset, strand, D (donor) or A (acceptor) and an integer score. The offset is
    the number of forward-strand bases before the junction. For a donor on + it is the first base of
    the intron, for an acceptor on + the base after it; on - it is the reverse. The score is
    2 log2(p / q) as in Yang, Huang, Li (2025, arXiv:2506.12986), p the probability of the site and
    q the share of true sites among all candidates; the penalties of the aligners are made for the
    range -6 to 13. Sites at -6 or below have no line: the aligners give them a penalty.
    """

    suffixes = (".spsc", ".tsv")
    is_together = True
    omission = "at -6 or below left to the aligner's penalty for unlisted sites"
    what = "splice scores (spsc)"
    signals = _LETTERS

    def header(self) -> list[str]:
        """Return comment lines, which the aligners ignore because they have no tabs."""
        what, site = self.finder.description
        return [
            what,
            f"{site}; {self.finder.signal}: bases before the junction, 2 log2 of the probability "
            f"over a prior of {self.prior:.4g}",
        ]

    def rows(self, sites: Sites) -> tuple[NDArray[Any], ...]:
        """Return offsets, strands and scores of junctions, by offset."""
        scores = splice_scores(self.finder.probability(sites["scores"]), self.prior)
        chosen = np.flatnonzero(scores > LOWEST)  # before sorting, as they are few
        sites = sites.take(chosen)
        scores = scores[chosen]
        at_end = sites.is_reverse == (self.finder.signal == "donor")
        offsets = sites.starts + np.where(at_end, self.finder.scanner.site_length, 0)
        order = np.lexsort((sites.is_reverse, offsets))
        return offsets[order], sites.is_reverse[order], scores[order]

    def interior(self, block: Block, rows: Sequence[NDArray[Any]]) -> slice:
        """Return the rows whose offsets no row of a neighbouring block can have or pass."""
        begin = min(block.first + self.finder.scanner.site_length, block.last)
        return slice(*np.searchsorted(rows[0], [begin, block.last]).tolist())

    def merge_boundary(
        self, pending: list[tuple[Any, ...]], formatted: FormattedBlock
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Sort the rows at the beginning of a block; those past its end stay pending."""
        return sorted(pending), sum(row[0] < formatted.last for row in pending)

    def fields(self, contig: Field, rows: Sequence[NDArray[Any]]) -> Fields:
        """Return what the lines of rows are made of."""
        offsets, is_reverse, scores = rows
        return tabbed(
            contig,
            integer_column(offsets),
            strand_column(is_reverse),
            _LETTERS[self.finder.signal],
            integer_column(scores),
        )


def splice_scores(probabilities: NDArray[np.float64], prior: float) -> NDArray[np.int64]:
    """Return 2 log2 of the probabilities over the prior, rounded, at most 13."""
    scores = np.rint(2.0 * np.log2(np.maximum(probabilities, _MIN_PROBABILITY) / prior))
    return np.clip(scores, LOWEST - 1, HIGHEST).astype(np.int64)
