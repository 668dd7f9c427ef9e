"""GFF3: one feature per site, with Sequence Ontology types."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import numpy as np

from seqmtl.scan import sink
from seqmtl.scan._text_kernels import NUMBER_BYTES, gff_lines
from seqmtl.scan.blocks import Block
from seqmtl.scan.sink import DECIMALS, Output, TextSink, describe
from seqmtl.scan.site_block import SiteBlock, merge_strands

#: Terms of the Sequence Ontology: SO:0000163, 0000164, 0000315, 0000318, 0000319, 0000553, 0000110.
FEATURE_TYPES = {
    "donor": "five_prime_cis_splice_site",
    "acceptor": "three_prime_cis_splice_site",
    "tss": "TSS",
    "start": "start_codon",
    "stop": "stop_codon",
    "polya": "polyA_site",
    "site": "sequence_feature",
}
_UNESCAPED = ".:^*$@!+?-|"  # in the first column, besides letters, digits and "_"


class GffSink(TextSink):
    """GFF3: 1-based closed intervals, the probability as score, the raw score as attribute."""

    def header(self) -> list[str]:
        """Return the header lines."""
        lengths = self.track.lengths or {}
        regions = [f"##sequence-region {_escape(name)} 1 {n}" for name, n in lengths.items()]
        return ["##gff-version 3", *regions, *describe(self.finder)]

    def prepare(self, block: Block, strands: Sequence[SiteBlock]) -> tuple[list[bytes], int]:
        """Format the lines of a block."""
        sites, piece = merge_strands(strands), block.piece
        site_length = self.finder.scanner.site_length
        scores = sites.scores.astype(np.float64)
        printed = np.zeros(0)
        if self.probability is not None:
            printed = np.asarray(self.probability(scores), dtype=np.float64)
        contig = np.frombuffer(_escape(piece.name).encode(), dtype=np.uint8)
        kind = FEATURE_TYPES[self.track.signal]
        texts = (f"\tseqmtl\t{kind}\t", "\t.\tID=", ";score=", ";probability=", ";letters=")
        words = tuple(np.frombuffer(text.encode(), dtype=np.uint8) for text in texts)
        line_bytes = 2 * contig.size + site_length + sum(map(len, texts)) + 6 * NUMBER_BYTES
        buffer = np.empty(min(sink.LINES, scores.size) * line_bytes, dtype=np.uint8)
        parts = []
        for first in range(0, scores.size, sink.LINES):
            part = slice(first, first + sink.LINES)
            columns = (sites.starts[part], scores[part], sites.is_reverse[part])
            source = (contig, piece.start, piece.codes)
            size = gff_lines(source, site_length, columns, printed[part], DECIMALS, words, buffer)
            parts.append(self.pack(buffer[:size].tobytes()))
        return parts, int(scores.size)

    def join(self, prepared: tuple[list[bytes], int], output: Output) -> None:
        """Write the lines of a block."""
        parts, n = prepared
        for part in parts:
            output.write(part)
        self.n_records += n


def _escape(name: str) -> str:
    return quote(name, safe=_UNESCAPED).replace("~", "%7E")
