"""GFF3 of sites, and hints for AUGUSTUS."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.bed import check_first_field
from seqmtl.scanning.blocks import Block
from seqmtl.scanning.writers.base import LineWriter
from seqmtl.scanning.writers.lines import (
    Field,
    Fields,
    decimal_column,
    integer_column,
    letters_field,
    name_field,
    probability_column,
    strand_column,
    strand_field,
    tabbed,
)
from seqmtl.sequences.sites import Sites

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
#: Types of AUGUSTUS by signal.
HINT_TYPES = {
    "donor": "dss",
    "acceptor": "ass",
    "tss": "tss",
    "start": "start",
    "stop": "stop",
    "polya": "tts",
}
#: Letter of the source of hints, and their priority, below that of reads (4) and manual anchors.
SOURCE = "S"
PRIORITY = 1
_ESCAPED = re.compile(r"^[#>]|%(?=[0-9A-Fa-f]{2})|[\x00-\x1f\x7f]")
_SEPARATORS = re.compile(r"[%;=&,\x00-\x1f\x7f]")


def in_gff(name: str) -> str:
    """Return the name of a contig as the first column of GFF3.

    Programs such as bedtools and gffread compare it unchanged with the names in FASTA. So only
    letters that would start a comment, a sequence or an escape are escaped.
    """
    return _ESCAPED.sub(_escape, name)


def in_attribute(name: str) -> str:
    """Return the name of a contig as part of an attribute of GFF3."""
    return _SEPARATORS.sub(_escape, name)


def _escape(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


class GffWriter(LineWriter):
    """GFF3: 1-based closed intervals, the probability as score, the raw score as attribute."""

    suffixes = (".gff3", ".gff")
    lists_contigs = True
    preset = "gff"

    def header(self) -> list[str]:
        """Return the header lines."""
        lengths = self.track.lengths.items()
        regions = [f"##sequence-region {in_gff(name)} 1 {n}" for name, n in lengths]
        return ["##gff-version 3", *regions, *self.finder.description]

    def fields(self, block: Block, sites: Sites) -> Fields:
        """Return what the lines of a block are made of."""
        sites = sites.in_order()
        finder = self.finder
        numbers, starts = block.contig.located(sites.starts)
        starts = starts - finder.before
        contig = name_field(block.contig, numbers, lambda name: in_gff(name).encode())
        kind = FEATURE_TYPES[finder.signal]
        start = integer_column(starts + 1)
        strand = strand_field(sites, finder.has_strand)
        score: Field = b"."
        attributes: list[Field] = [
            b"ID=",
            name_field(block.contig, numbers, lambda name: in_attribute(name).encode()),
            b":",
            start,
            b":",
            strand,
            b";score=",
            decimal_column(sites["scores"]),
        ]
        if self.finder.log_odds is not None:
            score = probability_column(self.finder.probability(sites["scores"]))
            attributes += [b";probability=", score]
        if finder.has_letters:
            letters = letters_field(block.contig, sites, finder.extent, finder.consensus)
            attributes += [b";letters=", letters]
        end = integer_column(starts + finder.extent)
        head = tabbed(contig, b"seqmtl", kind.encode(), start, end, score, strand, b".")
        return [*head[:-1], b"\t", *attributes, b"\n"]


class HintWriter(LineWriter):
    """Hints for AUGUSTUS at sites whose probability exceeds the prior of a candidate.

    A line is contig, ``seqmtl``, type, start, end, score, strand, frame and ``src=S;pri=1``. The
    types of AUGUSTUS are single bases for splice sites, ``dss`` for the first base of an intron and
    ``ass`` for its last one, and intervals for the others (Stanke et al. 2006,
    doi:10.1186/1471-2105-7-62; the files ``extrinsic.cfg`` of AUGUSTUS). The score is the
    probability, by which the extrinsic configuration grades the bonus; S must be one of its
    sources.
    """

    suffixes = (".hints",)
    omission = "omitted, no more probable than without a score"
    what = "hints"
    signals = HINT_TYPES

    def header(self) -> list[str]:
        """Return comment lines."""
        kind, share = HINT_TYPES[self.finder.signal], f"{self.prior:.4g}"
        return [
            self.finder.description[0],
            f"# hints for AUGUSTUS: {kind} of probability above the share of true sites ({share}); "
            "1-based, score: probability",
        ]

    def fields(self, block: Block, sites: Sites) -> Fields:
        """Return what the lines of a block are made of."""
        sites = sites.in_order()
        signal = self.finder.signal
        p = self.finder.probability(sites["scores"])
        sites = sites.take(p > self.prior)
        p = p[p > self.prior]
        numbers, starts = block.contig.located(sites.starts)
        length = self.finder.scanner.site_length
        if signal in ("donor", "acceptor"):  # the outermost base of the intron
            starts = starts + np.where(sites.is_reverse == (signal == "donor"), length - 1, 0)
            length = 1
        contig = name_field(block.contig, numbers, check_first_field)
        return hint_fields(contig, HINT_TYPES[signal], starts, length, sites.is_reverse, p)


def hint_fields(
    contig: Field,
    kind: str,
    starts: NDArray[np.int64],
    length: int,
    is_reverse: NDArray[np.bool_],
    probabilities: NDArray[np.float64],
) -> Fields:
    """Return what hints of one type are made of.

    Parameters
    ----------
    contig : Field
        Contig.
    kind : str
        Type, such as ``dss`` or ``intron``.
    starts : ndarray of int64, shape (n,)
        0-based first base of each hint.
    length : int
        Bases of a hint.
    is_reverse : ndarray of bool, shape (n,)
        Whether a hint is for the minus strand.
    probabilities : ndarray of float64, shape (n,)
        Written as scores.
    """
    return tabbed(
        contig,
        b"seqmtl",
        kind.encode(),
        integer_column(starts + 1),
        integer_column(starts + length),
        decimal_column(probabilities, 6),
        strand_column(is_reverse),
        b".",
        f"src={SOURCE};pri={PRIORITY}".encode(),
    )
