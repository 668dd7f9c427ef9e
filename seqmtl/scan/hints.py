"""Hints for AUGUSTUS: GFF lines whose attributes name the source of the evidence.

A line is contig, ``seqmtl``, type, start, end, score, strand, frame and ``src=S;pri=1``. The types
of AUGUSTUS are single bases for splice sites, ``dss`` for the first base of an intron and ``ass``
for its last one, and intervals for the others (Stanke et al. 2006, doi:10.1186/1471-2105-7-62; the
files ``extrinsic.cfg`` of AUGUSTUS). The score is the probability, by which the extrinsic
configuration grades the bonus; S must be one of its sources.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import SeqmtlError
from seqmtl.io.rows import check_first_field
from seqmtl.scan.blocks import Block
from seqmtl.scan.filters import Probability
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.sink import Output, TextSink, Track, describe
from seqmtl.scan.site_block import SiteBlock, merge_strands

#: Types of AUGUSTUS by signal.
HINT_TYPES = {
    "donor": "dss",
    "acceptor": "ass",
    "tss": "tss",
    "start": "start",
    "stop": "stop",
    "polya": "tts",
}
#: Letter of the source, and the priority, below that of reads (4) and manual anchors.
SOURCE, PRIORITY = "S", 1


def hint_lines(
    contig: str,
    kind: str,
    intervals: NDArray[np.int64],
    is_reverse: NDArray[np.bool_],
    probabilities: NDArray[np.float64],
) -> bytes:
    """Format hints of one type.

    Parameters
    ----------
    contig : str
        Contig.
    kind : str
        Type, such as ``dss`` or ``intron``.
    intervals : ndarray of int64, shape (n, 2)
        0-based half-open.
    is_reverse : ndarray of bool, shape (n,)
        Whether a hint is for the minus strand.
    probabilities : ndarray of float64, shape (n,)
        Written as scores.
    """
    check_first_field(contig)
    rows = zip(intervals.tolist(), is_reverse.tolist(), probabilities.tolist(), strict=True)
    return "".join(
        f"{contig}\tseqmtl\t{kind}\t{start + 1}\t{end}\t{p:.6f}\t{'-' if reverse else '+'}\t.\t"
        f"src={SOURCE};pri={PRIORITY}\n"
        for (start, end), reverse, p in rows
    ).encode()


class HintSink(TextSink):
    """Hints at sites that are likelier than a candidate before its letters are read."""

    def __init__(
        self, path: str, finder: SiteFinder, probability: Probability | None, track: Track
    ) -> None:
        super().__init__(path, finder, probability, track)
        if track.signal not in HINT_TYPES:
            raise SeqmtlError(
                f"hints need a model of one of {', '.join(HINT_TYPES)}, but this one's signal is "
                f"{track.signal!r}; choose another --format"
            )
        if probability is None or track.prior is None or not 0 < track.prior < 1:
            raise SeqmtlError(
                "hints need probabilities and the share of true sites behind them; train or "
                "calibrate the model with examples of both classes"
            )
        self._prior = track.prior

    def header(self) -> list[str]:
        """Return comment lines."""
        what, _ = describe(self.finder)
        return [
            what,
            f"# hints for AUGUSTUS: {HINT_TYPES[self.track.signal]} of probability > "
            f"{self._prior:.4g}; 1-based, score: probability",
        ]

    def prepare(self, block: Block, strands: Sequence[SiteBlock]) -> tuple[bytes, int]:
        """Format the hints of a block."""
        assert self.probability is not None
        sites, signal = merge_strands(strands), self.track.signal
        p = np.asarray(self.probability(sites.scores.astype(np.float64)), dtype=np.float64)
        kept = np.flatnonzero(p > self._prior)
        starts, is_reverse = sites.starts[kept], sites.is_reverse[kept]
        length = self.finder.scanner.site_length
        if signal in ("donor", "acceptor"):  # the outermost base of the intron
            starts = starts + np.where(is_reverse == (signal == "donor"), length - 1, 0)
            length = 1
        intervals = np.stack([starts, starts + length], axis=1)
        text = hint_lines(block.piece.name, HINT_TYPES[signal], intervals, is_reverse, p[kept])
        return self.pack(text), int(kept.size)

    def join(self, prepared: tuple[bytes, int], output: Output) -> None:
        """Write the lines of a block."""
        text, n = prepared
        output.write(text)
        self.n_records += n
