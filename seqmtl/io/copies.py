"""Separate transcripts that share one ID in GFF3 and GTF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from seqmtl.io.transcript_rows import (
    CDS,
    EXON,
    START,
    STOP,
    UNKNOWN_ENDS,
    UTR,
    ParentRow,
    TranscriptRows,
    join,
    join_exons,
    overlap,
)
from seqmtl.io.transcripts import Segment

_CODON = 3
_MAX_GAP = 7_000_000  # bases between exons of one transcript; the longest introns known have 4
_MAX_STEPS = 10_000


def is_one(rows: TranscriptRows) -> bool:
    """Return whether nothing in rows contradicts that they are one transcript; sort its exons."""
    if len(rows.parts[START]) > 1 or not rows.parts[EXON]:
        return False
    exons = rows.parts[EXON] = sorted(rows.parts[EXON])
    return exons[-1][0] - exons[0][1] < _MAX_GAP and not overlap(exons)


def separate_copies(
    rows: TranscriptRows, spans: Sequence[ParentRow]
) -> list[TranscriptRows] | None:
    """Return the copies of a transcript on one strand, or None if they cannot be separated.

    Parameters
    ----------
    rows : TranscriptRows
        All rows of an ID on one strand of a contig.
    spans : sequence of ParentRow
        The rows of the transcript itself there, if the file has any.
    """
    if len(spans) < 2:
        copies = _chains(rows) if _contradict(rows.parts[EXON]) else [rows]
        return copies and [piece for copy in copies for piece in _cut(copy)]
    if _is_discontinuous(rows, spans) or _is_duplicated(rows, spans):
        return [rows]
    return _by_order(rows, spans) or _by_cluster(rows, spans)


def _is_discontinuous(rows: TranscriptRows, spans: Sequence[ParentRow]) -> bool:
    """Return whether rows of a transcript are its exons, one by one on consecutive lines."""
    lines = sorted(span.line for span in spans)
    is_together = lines[-1] - lines[0] == len(lines) - 1
    return is_together and sorted((span.start, span.end) for span in spans) == [
        *join_exons(rows.parts)
    ]


def _is_duplicated(rows: TranscriptRows, spans: Sequence[ParentRow]) -> bool:
    """Return whether all rows of one transcript are repeated as often as its own row."""
    intervals = {(span.start, span.end) for span in spans}
    counts = Counter(rows.parts[rows.chained])
    is_alike = len(intervals) == 1 and {*counts.values()} == {len(spans)}
    return is_alike and not overlap(sorted(counts))


def _by_order(rows: TranscriptRows, spans: Sequence[ParentRow]) -> list[TranscriptRows] | None:
    """Return copies by the order of the file, if each follows its row and lies inside it."""
    ordered = sorted(spans, key=lambda span: span.line)
    marks = [span.marks or (0,) * len(rows.parts) for span in ordered]
    if any(marks[0]):
        return None
    copies = []
    for span, begin, end in zip(ordered, marks, [*marks[1:], rows.marks], strict=True):
        copy = rows.select([range(a, b) for a, b in zip(begin, end, strict=True)], span.line)
        chain = copy.parts[copy.chained]
        is_inside = all(span.start <= a and b <= span.end for a, b in chain)
        if not chain or not is_inside or overlap(sorted(chain)):
            return None
        copies.append(copy)
    return copies


def _by_cluster(rows: TranscriptRows, spans: Sequence[ParentRow]) -> list[TranscriptRows] | None:
    """Return copies by the rows of the transcript that they lie in."""
    copies: list[TranscriptRows] = []
    n_rows = 0
    for cluster in _clusters(spans):
        first, last = cluster[0].start, max(span.end for span in cluster)
        inside = rows.select(
            [[i for i, (a, b) in enumerate(part) if a < last and b > first] for part in rows.parts],
            cluster[0].line,
        )
        n_rows += len(inside.segments)
        chain = inside.parts[inside.chained]
        parts_of_cluster: list[TranscriptRows] | None = [inside] if chain else []
        if overlap(sorted(chain)):
            parts_of_cluster = _chains(inside, cluster)
        if parts_of_cluster is None:
            return None
        copies += parts_of_cluster
    return copies if n_rows >= len(rows.segments) else None


def _clusters(spans: Sequence[ParentRow]) -> list[list[ParentRow]]:
    """Return groups of overlapping rows."""
    clusters: list[list[ParentRow]] = []
    end = -1
    for span in sorted(spans, key=lambda span: span.start):
        if span.start < end:
            clusters[-1].append(span)
        else:
            clusters.append([span])
        end = max(end, span.end)
    return clusters


def _contradict(exons: Sequence[Segment]) -> bool:
    """Return whether an exon covers what is an intron between two others."""
    ordered = sorted({*exons})
    if not overlap(ordered):
        return False
    for start, end in ordered:
        overlapping = [
            row for row in ordered if row[0] < end and row[1] > start and row != (start, end)
        ]
        if any(start < left[1] < right[0] < end for left, right in pairwise(join(overlapping))):
            return True
    return False


def _chains(rows: TranscriptRows, spans: Sequence[ParentRow] = ()) -> list[TranscriptRows] | None:
    """Return copies whose exons do not overlap, each as long as one of the transcript's rows.

    Which exons are in one chain does not matter for the set of splice sites, as long as the first
    and the last exons are those of the rows.
    """
    kind = rows.chained
    part = rows.parts[kind]
    order = sorted(range(len(part)), key=lambda i: (part[i][0], -part[i][1]))
    segments = [part[i] for i in order]
    chain_of = _fit(segments, spans, kind == CDS) if spans else _colour(segments)
    if chain_of is None:
        return None
    copies = []
    for number in sorted({*chain_of}):
        chosen: list[Sequence[int]] = [[] for _ in rows.parts]
        chosen[kind] = [
            i for i, copy_number in zip(order, chain_of, strict=True) if copy_number == number
        ]
        copies.append(rows.select(chosen, spans[number].line if spans else rows.line))
    return copies if kind == CDS else _with_coding(rows, copies)


def _colour(segments: Sequence[Segment]) -> list[int]:
    """Return numbers of as few chains as possible, of segments in order."""
    ends: list[int] = []
    chain_of = []
    for start, end in segments:
        fitting = [number for number, last in enumerate(ends) if last < start]
        number = max(fitting, key=ends.__getitem__) if fitting else len(ends)
        ends[number : number + 1] = [end]
        chain_of.append(number)
    return chain_of


def _fit(
    segments: Sequence[Segment], spans: Sequence[ParentRow], is_coding: bool
) -> list[int] | None:
    """Return numbers of the rows that segments in order belong to, or None if they do not fit.

    The first and the last one of a row begin and end with it, unless they are coding segments.
    """
    stack: list[tuple[list[int], tuple[int, ...]]] = [([], (-1,) * len(spans))]
    for _ in range(_MAX_STEPS):
        if not stack:
            return None
        chain_of, ends = stack.pop()
        if len(chain_of) == len(segments):
            if is_coding or all(e in (-1, span.end) for e, span in zip(ends, spans, strict=True)):
                return chain_of
            continue
        start, end = segments[len(chain_of)]
        for number, span in enumerate(spans):
            is_first = ends[number] < 0 and (start == span.start or is_coding)
            if (is_first or 0 <= ends[number] < start) and span.start <= start and end <= span.end:
                after = (*ends[:number], end, *ends[number + 1 :])
                stack.append(([*chain_of, number], after))
    return None


def _with_coding(rows: TranscriptRows, copies: list[TranscriptRows]) -> list[TranscriptRows] | None:
    """Give the coding sequence to the one copy that has its introns; None if UTRs contradict.

    If several copies have them, or none, it is left out, and the ends of all copies are unknown.
    """
    exons = [join(copy.parts[EXON]) for copy in copies]
    if any(not any(_is_inside(utr, chain) for chain in exons) for utr in rows.parts[UTR]):
        return None
    if not rows.parts[CDS]:
        return copies
    coding = join([*rows.parts[CDS], *rows.parts[START], *rows.parts[STOP]])
    introns = {(left[1], right[0]) for left, right in pairwise(coding)}
    fits = [
        all(_is_inside(segment, chain) for segment in coding)
        and introns <= {(left[1], right[0]) for left, right in pairwise(chain)}
        for chain in exons
    ]
    if sum(fits) != 1:
        return [replace(copy, flags=copy.flags | UNKNOWN_ENDS) for copy in copies]
    copy_index = fits.index(True)
    parts = [copies[copy_index].parts[EXON], *rows.parts[1:]]
    copies[copy_index] = replace(copies[copy_index], parts=parts, phases=rows.phases)
    return copies


def _is_inside(segment: Segment, exons: Sequence[Segment]) -> bool:
    return any(start <= segment[0] and segment[1] <= end for start, end in exons)


def _cut(rows: TranscriptRows) -> list[TranscriptRows]:
    """Cut rows where no transcript can continue.

    That is over gaps of 7 million bases, and after a stop codon if a start codon follows.
    """
    exons = join_exons(rows.parts)
    far_starts = [right[0] for left, right in pairwise(exons) if right[0] - left[1] > _MAX_GAP]
    bounds = sorted({*far_starts, *_between_frames(rows, exons)})
    if not bounds:
        return [rows]
    pieces = []
    for first, end in pairwise([exons[0][0], *bounds, exons[-1][1]]):
        chosen = [[i for i, (a, _) in enumerate(part) if first <= a < end] for part in rows.parts]
        pieces.append(rows.select(chosen, rows.line))
    return [piece for piece in pieces if piece.segments]


def _between_frames(rows: TranscriptRows, exons: Sequence[Segment]) -> list[int]:
    """Return where to cut between a stop codon and the start codon after it."""
    starts, stops = (_codons(rows.parts[part]) for part in (START, STOP))
    if len(starts) < 2 or len(starts) != len(stops):
        return []
    marks = sorted(
        [(position, False) for position in starts] + [(position, True) for position in stops]
    )
    if rows.strand == b"-":
        marks = [(position, not is_stop) for position, is_stop in marks]
    if any(is_stop != bool(i % 2) for i, (_, is_stop) in enumerate(marks)):
        return []
    cuts = []
    for (stop, _), (start, _) in zip(marks[1:-1:2], marks[2::2], strict=True):
        gaps = [
            (right[0] - left[1], right[0])
            for left, right in pairwise(exons)
            if stop < left[1] and right[0] <= start
        ]
        if not gaps:
            return []
        cuts.append(max(gaps)[1])
    return cuts


def _codons(segments: Sequence[Segment]) -> list[int]:
    """Return the first bases of codons, each of which may be in two or three rows."""
    codons = []
    length = 0
    for start, end in sorted({*segments}):
        if length % _CODON == 0:
            codons.append(start)
        length += end - start
    return codons
