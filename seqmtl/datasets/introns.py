"""Introns from splice junctions of reads, as transcripts: their strand, and enough reads."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl.datasets.config import JunctionRules
from seqmtl.exceptions import InputFormatError
from seqmtl.io.junctions import IntronChain
from seqmtl.io.transcripts import Annotation, ExcludedTranscript, Transcript, UncertainRegion
from seqmtl.sequences import Genome
from seqmtl.sequences.alphabet import encode

logger = logging.getLogger(__name__)

#: First and last two letters of introns in reading direction, which show the strand.
MOTIFS = ("GTAG", "GCAG", "ATAC")
#: Bases on either side of an intron that count as its gene. Exons of up to twice as many bases are
#: then inside.
MARGIN = 250
FEW_READS = "junction with fewer reads than min_reads"
MINOR_JUNCTION = "junction with less than min_share of the reads of one that overlaps it"
NO_STRAND = "junction without a strand, whose letters are not GT-AG, GC-AG or AT-AC"
BOTH_STRANDS = "junction on both strands, whose letters are not GT-AG, GC-AG or AT-AC"

_MIN_JUNCTIONS = 20
_MIN_SPLICED_SHARE = 0.5
_MAX_TRANSCRIPTS = 5_000  # sampled for the check of letters
_FORWARD = 1
_UNKNOWN = 0
_REVERSE = -1
_STRANDS = {"+": _FORWARD, "-": _REVERSE, ".": _UNKNOWN}


def find_introns(
    organism: str,
    source: str,
    junctions: Sequence[IntronChain],
    genome: Genome,
    rules: JunctionRules,
    *,
    check_letters: bool = True,
) -> Annotation:
    """Decide on the strand of junctions and on which of them are introns.

    Each is a transcript of its own, with 250 bases on either side as its exons, named
    ``start-end:reads``. Those of too few reads are weak; those whose strand is unknown, excluded.

    The strand is that on which the intron reads GT-AG, GC-AG or AT-AC, whatever the file says, and
    otherwise that of the file. Reads of one interval are then summed. If an interval has reads on
    both strands, the strand with more reads counts.

    Parameters
    ----------
    organism, source : str
        Name of the organism, and the file of the junctions, for messages.
    junctions : sequence of IntronChain
        Result of :func:`seqmtl.io.junctions.read_junctions`.
    genome : Genome
        The genome, with the names of its contigs in the file.
    rules : JunctionRules
        Required evidence.
    check_letters : bool
        Whether the genome must have one of these letters at most junctions.

    Raises
    ------
    InputFormatError
        If most junctions have other letters, as in another version of the genome.
    """
    contig = genome.indices([junction.contig for junction in junctions])
    starts, ends, inside = _locate(junctions, contig, genome)
    strand_of_letters = np.where(inside, _strand_by_letters(genome.codes, starts, ends), _UNKNOWN)
    reads = np.array([junction.reads or 0 for junction in junctions], dtype=np.int64)
    if check_letters:
        _check_letters(source, strand_of_letters[inside & (reads >= rules.min_reads)])
    stated = np.array([_STRANDS[junction.strand] for junction in junctions])
    strand = np.where(strand_of_letters != _UNKNOWN, strand_of_letters, stated)
    strand[(contig < 0) & (strand == _UNKNOWN)] = _FORWARD  # excluded for its contig instead
    n_turned = int(((strand_of_letters != _UNKNOWN) & (stated == -strand_of_letters)).sum())
    n_given = int(((strand_of_letters != _UNKNOWN) & (stated == _UNKNOWN)).sum())
    if n_turned or n_given:
        logger.info(
            "%s: the letters of introns gave the strand of %d junctions, and turned that of %d",
            organism,
            n_given,
            n_turned,
        )
    chosen, totals, exclusions = _unique_intervals(organism, junctions, strand, reads)
    strongest = max_overlapping(starts[chosen], ends[chosen], np.where(inside[chosen], totals, 0))
    transcripts = []
    n_few = int((totals < rules.min_reads).sum())
    for i, n, n_strongest in zip(chosen.tolist(), totals.tolist(), strongest.tolist(), strict=True):
        is_minor = n < rules.min_share * n_strongest
        weak = FEW_READS if n < rules.min_reads else MINOR_JUNCTION if is_minor else ""
        junction = junctions[i]
        start, end = junction.start, junction.end
        name = f"{start + 1}-{end}:{n}"
        exons = (start - MARGIN, start), (end, end + MARGIN)
        is_reverse = bool(strand[i] < 0)
        transcripts.append(
            Transcript(
                name,
                name,
                junction.contig,
                is_reverse,
                exons,
                line=junction.line,
                reads=n,
                weak=weak,
            )
        )
    if totals.size < 2 * n_few < 2 * totals.size:
        logger.warning(
            "%s: %d of %d junctions are left out, as they have fewer than %d reads (min_reads in "
            "[junctions])",
            source,
            n_few,
            totals.size,
            rules.min_reads,
        )
    uncertain = [
        UncertainRegion(row.contig, is_reverse, introns=((row.start, row.end),))
        for row in exclusions
        for is_reverse in (False, True)
    ]
    features = {"junctions": len(junctions)}
    return Annotation(source, "junctions", transcripts, exclusions, features, uncertain)


def _locate(
    junctions: Sequence[IntronChain], contig: NDArray[np.int64], genome: Genome
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the intervals of introns in the genome's buffer, and which lie in their contig."""
    starts = np.array([junction.start for junction in junctions], dtype=np.int64)
    ends = np.array([junction.end for junction in junctions], dtype=np.int64)
    inside = (contig >= 0) & (ends <= genome.lengths[contig])
    begins = genome.starts[contig]
    first = int(genome.starts[0])  # any base, for those outside
    return (
        np.where(inside, begins + starts, first),
        np.where(inside, begins + ends, first + 2),
        inside,
    )


def _strand_by_letters(
    codes: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return 1 or -1 where the ends of an interval are those of an intron on a strand, else 0."""
    ends_of = np.stack([codes[starts], codes[starts + 1], codes[ends - 2], codes[ends - 1]], axis=1)
    strand = np.zeros(starts.size, dtype=np.int64)
    for motif in MOTIFS:
        letters = encode(motif)
        strand[(ends_of == letters).all(axis=1)] = _FORWARD
        strand[(ends_of == 3 - letters[::-1]).all(axis=1)] = _REVERSE
    return strand


def _check_letters(source: str, strands: NDArray[np.int64]) -> None:
    n_spliced = int((strands != _UNKNOWN).sum())
    if strands.size >= _MIN_JUNCTIONS and n_spliced < _MIN_SPLICED_SHARE * strands.size:
        raise InputFormatError(
            "most junctions must be GT-AG, GC-AG or AT-AC introns on one strand, got "
            f"{n_spliced:,} of {strands.size:,}; check that the reads were aligned to this "
            'version of the genome, or set consensus = "all"',
            path=source,
        )


def check_introns(
    annotation: Annotation, genome: Genome, min_intron: int, remedy: str | None
) -> None:
    """Refuse an annotation whose introns mostly have other letters, or warn of it.

    Then it is of another version of the genome, or its coordinates are off by one: those of GFF
    count from 1, and those of BED from 0.

    Parameters
    ----------
    annotation : Annotation
        Transcripts.
    genome : Genome
        The genome, with the names of its contigs in the annotation.
    min_intron : int
        Length in bases of the shortest intron that counts.
    remedy : str or None
        Further advice for the message of the error; None to warn instead.

    Raises
    ------
    InputFormatError
        If the annotation is refused.
    """
    step = 1 + len(annotation.transcripts) // _MAX_TRANSCRIPTS
    introns = {
        IntronChain(transcript.contig, "+-"[transcript.is_reverse], (intron,))
        for transcript in annotation.transcripts[::step]
        for intron in transcript.introns
        if intron[1] - intron[0] >= min_intron
    }
    junctions = [*introns]
    contig = genome.indices([junction.contig for junction in junctions])
    starts, ends, inside = _locate(junctions, contig, genome)
    stated = np.array([_STRANDS[junction.strand] for junction in junctions])
    n_fit = int((_strand_by_letters(genome.codes, starts, ends) == stated)[inside].sum())
    n_introns = int(inside.sum())
    if n_introns < _MIN_JUNCTIONS or n_fit >= _MIN_SPLICED_SHARE * n_introns:
        return
    message = (
        f"most introns must be GT-AG, GC-AG or AT-AC, got {n_fit:,} of {n_introns:,}; check that "
        "the annotation is for this genome's version, and that it counts the first base as 1 in "
        "GFF and as 0 in BED"
    )
    if remedy is not None:
        raise InputFormatError(message + remedy, path=annotation.path)
    logger.warning("%s: %s", annotation.path, message)


def _unique_intervals(
    organism: str,
    junctions: Sequence[IntronChain],
    strand: NDArray[np.int64],
    reads: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[ExcludedTranscript]]:
    """Return indices of the junctions to use, one per interval, their reads, and the excluded."""
    totals: dict[tuple[str, int, int], dict[int, list[int]]] = {}
    for i, (junction, direction) in enumerate(zip(junctions, strand.tolist(), strict=True)):
        directions = totals.setdefault((junction.contig, junction.start, junction.end), {})
        first = directions.setdefault(direction, [i, 0])
        first[1] += int(reads[i])
    chosen = []
    sums = []
    exclusions = []
    n_both = 0
    for (contig, start, end), directions in totals.items():
        stranded = sorted(
            (n, i) for direction, (i, n) in directions.items() if direction != _UNKNOWN
        )
        is_tie = len(stranded) > 1 and stranded[0][0] == stranded[1][0]
        n_both += len(stranded) > 1
        if stranded and not is_tie:
            chosen.append(stranded[-1][1])
            sums.append(stranded[-1][0] + directions.get(_UNKNOWN, [0, 0])[1])
            continue
        line = min(junctions[i].line for i, _ in directions.values())
        reason = BOTH_STRANDS if stranded else NO_STRAND
        exclusions.append(ExcludedTranscript("", contig, start, end, ".", reason, line))
    if n_both:
        logger.info(
            "%s: %d junctions are on both strands; the one with more reads counts", organism, n_both
        )
    return np.array(chosen, dtype=np.int64), np.array(sums, dtype=np.int64), exclusions


def max_overlapping(
    starts: NDArray[np.int64], ends: NDArray[np.int64], reads: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each interval the largest number of reads of those that overlap it."""
    if not starts.size:
        return reads
    edges = np.unique(np.concatenate([starts, ends]))
    first, last = np.searchsorted(edges, starts), np.searchsorted(edges, ends)
    most_reads = np.zeros(edges.size, dtype=np.int64)
    for i in np.argsort(reads, kind="stable").tolist():  # the strongest overwrite the others
        most_reads[first[i] : last[i]] = reads[i]
    result: NDArray[np.int64] = np.maximum.reduceat(
        most_reads, np.stack([first, last], axis=1).ravel()
    )
    return result[::2]
