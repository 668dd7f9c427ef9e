"""BED: one line per site, with raw score and probability after the six columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seqmtl.io.rows import check_first_field
from seqmtl.scan import sink
from seqmtl.scan._text_kernels import NUMBER_BYTES, bed_lines
from seqmtl.scan.blocks import Block
from seqmtl.scan.sink import DECIMALS, Output, TextSink, describe
from seqmtl.scan.site_block import SiteBlock, merge_strands


class BedSink(TextSink):
    """BED6 with one or two additional columns, 0-based half-open."""

    def header(self) -> list[str]:
        """Return the header lines."""
        what, site = describe(self.finder)
        extra = "" if self.probability is None else "\tprobability"
        return [
            what,
            f"{site}; coordinates 0-based half-open on the forward strand",
            f"#contig\tstart\tend\tname\tscore\tstrand\traw_score{extra}",
        ]

    def prepare(self, block: Block, strands: Sequence[SiteBlock]) -> tuple[list[bytes], int]:
        """Format the lines of a block."""
        sites, piece = merge_strands(strands), block.piece
        site_length = self.finder.scanner.site_length
        scores = sites.scores.astype(np.float64)
        p = 1.0 / (1.0 + np.exp(-np.clip(scores, -50, 50)))
        printed = np.zeros(0)
        if self.probability is not None:
            p = printed = np.asarray(self.probability(scores), dtype=np.float64)
        heights = np.rint(1000 * p).astype(np.int64)
        contig = np.frombuffer(check_first_field(piece.name), dtype=np.uint8)
        source = (contig, piece.start, piece.codes)
        n_lines = min(sink.LINES, scores.size)
        line_bytes = contig.size + site_length + 5 * NUMBER_BYTES
        buffer = np.empty(n_lines * line_bytes, dtype=np.uint8)
        parts = []
        for first in range(0, scores.size, sink.LINES):
            part = slice(first, first + sink.LINES)
            columns = (sites.starts[part], scores[part], sites.is_reverse[part])
            size = bed_lines(
                source, site_length, columns, heights[part], printed[part], DECIMALS, buffer
            )
            parts.append(self.pack(buffer[:size].tobytes()))
        return parts, int(scores.size)

    def join(self, prepared: tuple[list[bytes], int], output: Output) -> None:
        """Write the lines of a block."""
        parts, n = prepared
        for part in parts:
            output.write(part)
        self.n_records += n
