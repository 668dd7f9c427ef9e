"""Formats of sites: BED, GFF3, bedGraph, bigWig, splice scores for aligners, hints for AUGUSTUS."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.bigwig import BigWigLayout, PackedValues
from seqmtl.io.rows import check_first_field
from seqmtl.scanning.blocks import Block
from seqmtl.scanning.finder import SiteFinder
from seqmtl.scanning.lines import (
    Field,
    Fields,
    decimal_column,
    integer_column,
    letters_field,
    name_field,
    probability_column,
    strand_column,
    tabbed,
)
from seqmtl.scanning.sink import (
    BoundarySink,
    LineSink,
    PreparedBlock,
    Sink,
    SitesBySignal,
    Track,
    describe,
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
#: Range of splice scores. Sites at the lower end or below have no line: the aligners' default.
LOWEST = -6
HIGHEST = 13
_LETTERS = {"donor": b"D", "acceptor": b"A"}
_MIN_PROBABILITY = 1e-300
#: Raw scores are rounded to this fraction, an error of at most 6.1e-5, which makes files a fifth
#: smaller. It is a power of two, so that the product is exact.
_SCORE_STEPS = np.float32(1 << 13)
_ESCAPED = re.compile(r"^[#>]|%(?=[0-9A-Fa-f]{2})|[\x00-\x1f\x7f]")
_SEPARATORS = re.compile(r"[%;=&,\x00-\x1f\x7f]")
_COORDINATES = "; coordinates 0-based half-open on the forward strand"


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


class BedSink(LineSink):
    """BED6 with one or two more columns, raw score and probability, 0-based half-open."""

    suffixes = (".bed",)
    preset = "bed"

    def header(self) -> list[str]:
        """Return the header lines."""
        what, site = describe(self.finder)
        extra = "" if self.finder.log_odds is None else "\tprobability"
        columns = f"#contig\tstart\tend\tname\tscore\tstrand\traw_score{extra}"
        return [what, site + _COORDINATES, columns]

    def fields(self, block: Block, sites: Sites) -> Fields:
        """Return what the lines of a block are made of."""
        sites = sites.in_order()
        length = self.finder.scanner.site_length
        numbers, starts = block.piece.located(sites.starts)
        scores = sites["scores"]
        columns: list[Field] = [
            name_field(block.piece, numbers, check_first_field),
            integer_column(starts),
            integer_column(starts + length),
            letters_field(block.piece, sites, length, self.finder.consensus),
        ]
        if self.finder.log_odds is None:
            p = 1.0 / (1.0 + np.exp(-np.clip(scores.astype(np.float64), -50, 50)))
            probability: list[Field] = []
        else:
            p = self.finder.probability(scores)
            probability = [probability_column(p)]
        heights = np.rint(1000 * p).astype(np.int64)
        columns += [
            integer_column(heights),
            strand_column(sites.is_reverse),
            decimal_column(scores),
            *probability,
        ]
        return tabbed(*columns)


class LikelyBedSink(BedSink):
    """BED of the sites with at least a given probability, where the finder reports all."""

    def __init__(self, path: str, finder: SiteFinder, track: Track, min_probability: float) -> None:
        super().__init__(path, finder, track)
        self._min_probability = min_probability

    def prepare(self, block: Block, sites_by_signal: SitesBySignal) -> Any:
        """Format the lines of a block."""
        sites = sites_by_signal[self.finder.signal]
        passing = self.finder.probability(sites["scores"]) >= self._min_probability
        return super().prepare(block, {self.finder.signal: sites.take(passing)})


class GffSink(LineSink):
    """GFF3: 1-based closed intervals, the probability as score, the raw score as attribute."""

    suffixes = (".gff3", ".gff")
    preset = "gff"

    def header(self) -> list[str]:
        """Return the header lines."""
        lengths = self.track.lengths or {}
        regions = [f"##sequence-region {in_gff(name)} 1 {n}" for name, n in lengths.items()]
        return ["##gff-version 3", *regions, *describe(self.finder)]

    def fields(self, block: Block, sites: Sites) -> Fields:
        """Return what the lines of a block are made of."""
        sites = sites.in_order()
        length = self.finder.scanner.site_length
        numbers, starts = block.piece.located(sites.starts)
        contig = name_field(block.piece, numbers, lambda name: in_gff(name).encode())
        kind = FEATURE_TYPES[self.finder.signal]
        start = integer_column(starts + 1)
        strand = strand_column(sites.is_reverse)
        score: Field = b"."
        attributes: list[Field] = [
            b"ID=",
            name_field(block.piece, numbers, lambda name: in_attribute(name).encode()),
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
        attributes += [
            b";letters=",
            letters_field(block.piece, sites, length, self.finder.consensus),
        ]
        end = integer_column(starts + length)
        head = tabbed(contig, b"seqmtl", kind.encode(), start, end, score, strand, b".")
        return [*head[:-1], b"\t", *attributes, b"\n"]


class HintSink(LineSink):
    """Hints for AUGUSTUS at sites whose probability exceeds the prior of a candidate.

    A line is contig, ``seqmtl``, type, start, end, score, strand, frame and ``src=S;pri=1``. The
    types of AUGUSTUS are single bases for splice sites, ``dss`` for the first base of an intron and
    ``ass`` for its last one, and intervals for the others (Stanke et al. 2006,
    doi:10.1186/1471-2105-7-62; the files ``extrinsic.cfg`` of AUGUSTUS). The score is the
    probability, by which the extrinsic configuration grades the bonus; S must be one of its
    sources.
    """

    suffixes = (".hints",)
    what = "hints"
    signals = HINT_TYPES

    def header(self) -> list[str]:
        """Return comment lines."""
        return [
            describe(self.finder)[0],
            f"# hints for AUGUSTUS: {HINT_TYPES[self.finder.signal]} of probability > "
            f"{self.prior:.4g}; 1-based, score: probability",
        ]

    def fields(self, block: Block, sites: Sites) -> Fields:
        """Return what the lines of a block are made of."""
        sites = sites.in_order()
        signal = self.finder.signal
        p = self.finder.probability(sites["scores"])
        sites = sites.take(p > self.prior)
        p = p[p > self.prior]
        numbers, starts = block.piece.located(sites.starts)
        length = self.finder.scanner.site_length
        if signal in ("donor", "acceptor"):  # the outermost base of the intron
            starts = starts + np.where(sites.is_reverse == (signal == "donor"), length - 1, 0)
            length = 1
        contig = name_field(block.piece, numbers, check_first_field)
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


class BedgraphSink(BoundarySink):
    """bedGraph: one value per base where a site begins, merging runs of equal values.

    If sites on both strands begin at a base, the value is the larger one.
    """

    suffixes = (".bedgraph", ".bg", ".bdg")
    preset = "bed"
    n_coordinates = 2

    def header(self) -> list[str]:
        """Return the header lines."""
        what, site = describe(self.finder)
        value = "raw score" if self.track.value == "score" else "probability"
        largest = f"# value: largest {value} of the sites whose interval begins at this base"
        return [what, site + _COORDINATES, largest]

    def rows(self, sites: Sites) -> tuple[NDArray[Any], ...]:
        """Return starts, ends and values of runs."""
        sites = sites.in_order()
        return merge_values(sites.starts, self.values(sites))

    def interior(self, block: Block, rows: Sequence[NDArray[Any]]) -> slice:
        """Return the rows but the first and the last."""
        return slice(1, max(1, rows[0].size - 1))

    def merge_boundary(
        self, pending: list[tuple[Any, ...]], prepared: PreparedBlock
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Merge the first run with the last of the previous block."""
        merged: list[tuple[Any, ...]] = []
        for start, end, value in pending:
            if merged and merged[-1][1:] == (start, value):
                merged[-1] = (merged[-1][0], end, value)
            else:
                merged.append((start, end, value))
        return merged, len(merged) if prepared.tail else max(0, len(merged) - 1)

    def fields(self, contig: Field, rows: Sequence[NDArray[Any]]) -> Fields:
        """Return what the lines of rows are made of."""
        starts, ends, values = rows
        value = (
            probability_column(values)
            if self.track.value == "probability"
            else decimal_column(values)
        )
        return tabbed(contig, integer_column(starts), integer_column(ends), value)


def merge_values(
    starts: NDArray[np.int64], values: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return starts, ends and values of disjoint intervals, with the largest value per start.

    Consecutive starts with the same value become one interval.
    """
    values = values.copy()
    twice = np.flatnonzero(starts[1:] == starts[:-1])
    values[twice] = np.maximum(values[twice], values[twice + 1])
    starts, values = np.delete(starts, twice + 1), np.delete(values, twice + 1)
    if starts.size == 0:
        return starts, starts, values
    changes = (np.diff(starts) != 1) | (values[1:] != values[:-1])
    heads = np.concatenate([[0], np.flatnonzero(changes) + 1])
    tails = np.concatenate([heads[1:], [starts.size]]) - 1
    return starts[heads], starts[tails] + 1, values[heads]


class SpliceScoreSink(BoundarySink):
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
    what = "splice scores (spsc)"
    signals = _LETTERS

    def header(self) -> list[str]:
        """Return comment lines, which the aligners ignore because they have no tabs."""
        what, site = describe(self.finder)
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
        self, pending: list[tuple[Any, ...]], prepared: PreparedBlock
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Sort the rows at the beginning of a block; those past its end stay pending."""
        return sorted(pending), sum(row[0] < prepared.last for row in pending)

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


class BigwigSink(Sink):
    """bigWig of one strand.

    Parameters
    ----------
    path, finder, track
        See :class:`~seqmtl.scanning.sink.Sink`; the track names the strand.

    Raises
    ------
    ValueError
        If the lengths of the contigs are unknown.
    """

    suffixes = (".bw", ".bigwig")

    def __init__(self, path: str, finder: SiteFinder, track: Track) -> None:
        super().__init__(path, finder, track)
        self._is_reverse = track.strand == "-"
        self._layout = BigWigLayout(track.lengths or {})

    def begin(self, output: IO[bytes]) -> None:
        """Write a provisional header and the contigs."""
        output.write(self._layout.head())
        # sections and records of the finest zoom level, from which end() makes index and zooms
        folder = os.path.dirname(os.path.realpath(self.path))
        self._sections, self._zoom = (TemporaryFile(dir=folder) for _ in range(2))

    def prepare(self, block: Block, sites_by_signal: SitesBySignal) -> tuple[PackedValues, int]:
        """Compress the values of a block."""
        sites = sites_by_signal[self.finder.signal].on_strand(self._is_reverse)
        values = self.values(sites)
        if self.track.value == "score":
            values = np.rint(values * _SCORE_STEPS) / _SCORE_STEPS
        numbers, starts = block.piece.located(sites.starts)
        names = block.piece.names
        return self._layout.pack(names, numbers, starts, values), len(sites)

    def join(self, prepared: tuple[PackedValues, int], output: IO[bytes]) -> None:
        """Write a block, and record the offsets of its sections."""
        packed, n = prepared
        sections = packed.sections.copy()
        sections["offset"] += np.uint64(output.tell())
        output.write(packed.data)
        self._sections.write(sections.tobytes())
        self._zoom.write(packed.zoom.tobytes())
        self.n_records += n

    def end(self, output: IO[bytes]) -> None:
        """Write the index and the zoom levels."""
        self._layout.finish(output, self._sections, self._zoom)

    def close(self) -> None:
        """Close the temporary files."""
        self._sections.close()
        self._zoom.close()
