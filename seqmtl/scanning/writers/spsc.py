"""Splice scores for the aligners minimap2 and miniprot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.bed import check_first_field
from seqmtl.scanning.blocks import Block, Finder
from seqmtl.scanning.writers.base import SitesBySignal, SiteWriter, TrackOptions
from seqmtl.scanning.writers.lines import (
    Field,
    Fields,
    format_lines,
    integer_column,
    name_field,
    strand_column,
    tabbed,
)
from seqmtl.sequences.sites import Sites

#: Range of splice scores. Sites at the lower end or below have no line: the aligners' default.
LOWEST = -6
HIGHEST = 13
_LETTERS = {"donor": b"D", "acceptor": b"A"}
_MIN_PROBABILITY = 1e-300


#: Text of a block: contig, end on it, rows at both ends, which depend on the neighbouring blocks,
#: their number between them, and the lines of these.
_Formatted = tuple[str, int, list[tuple[Any, ...]], list[tuple[Any, ...]], int, bytes]


class SpliceScoreWriter(SiteWriter):
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

    def __init__(self, path: str, finder: Finder, track: TrackOptions) -> None:
        super().__init__(path, finder, track)
        self._contig = ""
        self._pending: list[tuple[Any, ...]] = []

    def header(self) -> list[str]:
        """Return comment lines, which the aligners ignore because they have no tabs."""
        what, site = self.finder.description
        return [
            what,
            f"{site}; {self.finder.signal}: bases before the junction, 2 log2 of the probability "
            f"over a prior of {self.prior:.4g}",
        ]

    def _rows(self, sites: Sites) -> tuple[NDArray[Any], ...]:
        """Return offsets, strands and scores of junctions, by offset."""
        scores = splice_scores(self.finder.probability(sites["scores"]), self.prior)
        chosen = np.flatnonzero(scores > LOWEST)  # before sorting, as they are few
        sites = sites.take(chosen)
        scores = scores[chosen]
        at_end = sites.is_reverse == (self.finder.signal == "donor")
        offsets = sites.starts + np.where(at_end, self.finder.scanner.site_length, 0)
        order = np.lexsort((sites.is_reverse, offsets))
        return offsets[order], sites.is_reverse[order], scores[order]

    def format(self, block: Block, sites_by_signal: SitesBySignal) -> _Formatted:
        """Format the lines of a block but the rows whose offsets those of a neighbour can pass."""
        offsets, *others = self._rows(sites_by_signal[self.finder.signal])
        numbers, on_contig = block.contig.located(offsets)
        interior = slice(0, offsets.size)
        if block.contig.contigs is None:  # else none continues in another block
            begin = min(block.first + self.finder.scanner.site_length, block.last)
            interior = slice(*np.searchsorted(offsets, [begin, block.last]).tolist())
        rows = on_contig, *others
        head, tail = (
            list(zip(*(column[part].tolist() for column in rows), strict=True))
            for part in (slice(interior.start), slice(interior.stop, None))
        )
        inside = [column[interior] for column in rows]
        contig = name_field(block.contig, numbers[interior], check_first_field)
        text = b"".join(map(self.pack, format_lines(self._fields(contig, inside))))
        return block.contig.name, block.last, head, tail, inside[0].size, text

    def write(self, formatted: _Formatted, output: IO[bytes]) -> None:
        """Write the pending rows that are before the end of the block, by offset, and the block."""
        contig, last, head, tail, n, text = formatted
        if contig != self._contig:
            self._flush(output, len(self._pending))
            self._contig = contig
        self._pending = sorted(self._pending + head)
        self._flush(output, sum(row[0] < last for row in self._pending))
        output.write(text)
        self.n_records += n
        self._pending += tail

    def finish(self, output: IO[bytes]) -> None:
        """Write the last rows."""
        self._flush(output, len(self._pending))

    def _flush(self, output: IO[bytes], n: int) -> None:
        """Write the first n pending rows."""
        if n:
            rows = [np.array(column) for column in zip(*self._pending[:n], strict=True)]
            contig = check_first_field(self._contig)
            for text in format_lines(self._fields(contig, rows)):
                output.write(self.pack(text))
            self.n_records += n
        self._pending = self._pending[n:]

    def _fields(self, contig: Field, rows: Sequence[NDArray[Any]]) -> Fields:
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
