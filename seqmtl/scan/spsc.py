"""Splice scores in the format of minimap2 (--spsc) and miniprot (--spsc).

A line is contig, offset, strand, D (donor) or A (acceptor) and an integer score. The offset is the
number of forward-strand bases before the junction. For a donor on + it is the first base of the
intron, for an acceptor on + the base after it; on - it is the reverse. The score is
2 log2(p / q) as in Yang, Huang, Li (2025, arXiv:2506.12986), p the probability of the site and q
the share of true sites among all candidates; the penalties of the aligners are made for the range
-6 to 13.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import SeqmtlError
from seqmtl.io.rows import check_first_field
from seqmtl.scan._text_kernels import NUMBER_BYTES, junction_lines
from seqmtl.scan.blocks import Block
from seqmtl.scan.filters import Probability
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.sink import Output, TextSink, Track, describe
from seqmtl.scan.site_block import SiteBlock

LOWEST, HIGHEST = -6, 13
_LETTERS = {"donor": b"D", "acceptor": b"A"}
_TINY = 1e-300


class _Junctions(NamedTuple):
    """Text of a block, and the lines at its ends, which may need sorting with adjacent blocks.

    Lines are (offset, is_reverse, score).
    """

    contig: str
    last: int
    head: list[tuple[int, bool, int]]
    text: bytes
    tail: list[tuple[int, bool, int]]
    n: int


def splice_scores(probabilities: NDArray[np.float64], prior: float) -> NDArray[np.int64]:
    """Return 2 log2 of the probabilities over the prior, rounded, at most 13."""
    scores = np.rint(2.0 * np.log2(np.maximum(probabilities, _TINY) / prior))
    return np.clip(scores, LOWEST - 1, HIGHEST).astype(np.int64)


class SpliceScoreSink(TextSink):
    """Splice junctions with scores; those at or below -6 are left to the aligners' default."""

    def __init__(
        self, path: str, finder: SiteFinder, probability: Probability | None, track: Track
    ) -> None:
        super().__init__(path, finder, probability, track)
        if track.signal not in _LETTERS:
            raise SeqmtlError(
                "splice scores (spsc) need a model of donors or acceptors, but this one's signal "
                f"is {track.signal!r}; choose another --format"
            )
        if probability is None or track.prior is None or not 0 < track.prior < 1:
            raise SeqmtlError(
                "splice scores (spsc) need probabilities and the share of true sites behind them; "
                "train or calibrate the model with examples of both classes"
            )
        self._letter = _LETTERS[track.signal]
        self._held: list[tuple[int, bool, int]] = []
        self._contig = ""

    def header(self) -> list[str]:
        """Return comment lines, which the aligners ignore because they have no tabs."""
        what, site = describe(self.finder)
        return [
            what,
            f"{site}; {self.track.signal}: bases before the junction, 2 log2 of the probability "
            f"over a prior of {self.track.prior:.4g}",
        ]

    def prepare(self, block: Block, strands: Sequence[SiteBlock]) -> _Junctions:
        """Score the junctions of a block, and sort them by offset."""
        assert self.probability is not None
        assert self.track.prior is not None
        raw = np.concatenate([sites.scores for sites in strands]).astype(np.float64)
        p = np.asarray(self.probability(raw), dtype=np.float64)
        scores = splice_scores(p, self.track.prior)
        kept = np.flatnonzero(scores > LOWEST)  # few: sorting comes after
        is_reverse = np.concatenate([sites.is_reverse for sites in strands])[kept]
        at_end = is_reverse == (self._letter == b"D")
        offsets = np.concatenate([sites.starts for sites in strands])[kept]
        offsets += np.where(at_end, self.finder.scanner.site_length, 0)
        order = np.lexsort((is_reverse, offsets))
        offsets, is_reverse, scores = offsets[order], is_reverse[order], scores[kept][order]
        reach = min(block.first + self.finder.scanner.site_length, block.last)
        begin, end = np.searchsorted(offsets, [reach, block.last])
        rows = list(zip(offsets.tolist(), is_reverse.tolist(), scores.tolist(), strict=True))
        inner = slice(begin, end)
        name = block.piece.name
        text = self._format(name, offsets[inner], is_reverse[inner], scores[inner])
        return _Junctions(name, block.last, rows[:begin], self.pack(text), rows[end:], offsets.size)

    def join(self, prepared: _Junctions, output: Output) -> None:
        """Write a block, after the pending lines of the previous one."""
        if prepared.contig != self._contig:
            self._flush(output)
        self._contig = prepared.contig
        waiting = sorted(self._held + prepared.head)
        self._held = [row for row in waiting if row[0] < prepared.last]
        self._flush(output)
        output.write(prepared.text)
        self._held = [row for row in waiting if row[0] >= prepared.last] + prepared.tail
        self.n_records += prepared.n

    def end(self, output: Output) -> None:
        """Write the last lines."""
        self._flush(output)
        super().end(output)

    def state(self) -> dict[str, Any]:
        """Return the state on which the next block depends."""
        return {**super().state(), "contig": self._contig, "held": self._held}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state`."""
        super().restore(state)
        self._contig = state["contig"]
        self._held = [(int(row[0]), bool(row[1]), int(row[2])) for row in state["held"]]

    def _flush(self, output: Output) -> None:
        if self._held:
            offsets, is_reverse, scores = (
                np.array(column) for column in zip(*self._held, strict=True)
            )
            output.write(self.pack(self._format(self._contig, offsets, is_reverse, scores)))
        self._held = []

    def _format(
        self,
        name: str,
        offsets: NDArray[np.int64],
        is_reverse: NDArray[np.bool_],
        scores: NDArray[np.int64],
    ) -> bytes:
        contig = np.frombuffer(check_first_field(name), dtype=np.uint8)
        buffer = np.empty(offsets.size * (contig.size + 2 * NUMBER_BYTES), dtype=np.uint8)
        size = junction_lines(contig, offsets, scores, is_reverse, self._letter[0], buffer)
        return buffer[:size].tobytes()
