"""Positions of a signal according to transcripts, before the genome is considered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from seqmtl.exceptions import InputFormatError
from seqmtl.io.transcripts import (
    Annotation,
    Segment,
    Transcript,
    UncertainRegion,
    describe_features,
)
from seqmtl.sequences.sites import Sites

_CODON = 3

SHORT_INTRON = "intron shorter than min_intron"
NO_UTR = "transcript that ends where its coding sequence does (no UTR annotated)"
INCOMPLETE = "coding sequence incomplete (its first phase is not 0)"
NO_END = "end of a transcript that is incomplete there, as the annotation says"
NO_CODON = "end of a coding sequence that is incomplete there, as the annotation says"
EXCLUDED = "site of an excluded transcript"
SPANNING = "codon that spans an intron"
ODD_LENGTH = "coding sequence whose length is not a multiple of three"
PSEUDOGENE = "end of a pseudogene"
SMALL_RNA = "end of a small RNA (tRNA, rRNA and the like)"

# They are cut out of longer ones: the transcription of a tRNA begins before its first base.
_SMALL = r"(?:t|r|tm|sn|sno|sca|mi|pi|si)rna"
_SMALL_TYPE = re.compile(rf"(?:^|_){_SMALL}(?:_gene)?$", re.I)
_ANY_TYPE = ("", "gene", "transcript", "rna", "mrna")  # then the name may tell it
# As tRNA-Ala-AGC-1-1, LSR1_snRNA, SCR1_ncRNA (Ensembl), trnL, rrn16 (organelles), tA(AGC)D (SGD).
_SMALL_NAME = re.compile(
    rf"(?i:(?:^|[-_:.|]){_SMALL}(?![a-z])|_ncrna$)"
    r"|(?:^|[-_:])(?:trn[A-Zf](?![a-z])|rrn[SL\d]|snR\d|t[A-Z]\([ACGTU]{3}\))"
)


#: Contig, first base, whether it is on the minus strand, transcript, line, reason of exclusion,
#: alternative first base, and whether the evidence is weak.
SiteRow = tuple[str, int, bool, str, int, str, int, bool]


def site_columns(rows: Iterable[SiteRow]) -> Sites:
    """Return annotated sites as columns; their starts count from the first base of the contig.

    The columns are contigs and names, those of the annotation; lines, from 1; reasons of the
    exclusion of sites, or ""; alternatives, other starts of sites that lack the consensus, or -1;
    and is_weak, whether the evidence is too weak for a true site and to exclude decoys nearby.
    """
    columns = [*zip(*rows, strict=True)] or [()] * 8
    contigs, starts, is_reverse, names, lines, reasons, alternatives, is_weak = columns
    return Sites(
        np.array(starts, dtype=np.int64),
        np.array(is_reverse, dtype=bool),
        {
            "contigs": np.array(contigs, dtype=object),
            "names": np.array(names, dtype=object),
            "lines": np.array(lines, dtype=np.int64),
            "reasons": np.array(reasons, dtype=object),
            "alternatives": np.array(alternatives, dtype=np.int64),
            "is_weak": np.array(is_weak, dtype=bool),
        },
    )


def positions_of(sites: Sites) -> list[tuple[str, int, bool]]:
    """Return contig, start and strand of annotated sites."""
    columns = sites["contigs"], sites.starts, sites.is_reverse
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def annotated_sites(annotation: Annotation, signal: str, min_intron: int) -> Sites:
    """Return the sites of a signal in all transcripts, including those with a reason of exclusion.

    A position occurs once for each transcript that has it.

    Parameters
    ----------
    annotation : Annotation
        Transcripts.
    signal : str
        One of :data:`seqmtl.linear_model.site.SIGNALS`.
    min_intron : int
        Length in bases of the shortest intron with splice sites.

    Raises
    ------
    InputFormatError
        If no transcript of an annotation has such a site; the message says what the file has.
    """
    if signal in ("donor", "acceptor"):
        rows = [p for t in annotation.transcripts for p in _splice(t, signal, min_intron)]
        needed = "introns (gaps between exons of one transcript)"
    elif signal in ("tss", "polya"):
        rows = [_end(t, signal == "tss") for t in annotation.transcripts]
        needed = "transcripts with a strand"
    else:
        rows = [p for t in annotation.transcripts if t.is_cds_certain for p in _codon(t, signal)]
        needed = "coding sequences"
    if not rows and annotation.format != "junctions":
        reasons = Counter(row.reason for row in annotation.exclusions)
        excluded = "".join(f"; excluded: {reason} ({n:,})" for reason, n in reasons.items())
        raise InputFormatError(
            f"an annotation must have {needed} for {signal} sites, but this one has none: "
            f"{len(annotation.transcripts):,} transcripts of "
            f"{describe_features(annotation.features)}{excluded}; "
            "give a richer annotation or choose another signal",
            path=annotation.path,
        )
    return site_columns(rows)


def uncertain_sites(annotation: Annotation, signal: str) -> Sites:
    """Return possible sites of excluded transcripts and other uncertain regions.

    They are neither true sites nor decoys. Each end of an exon may be a splice site, since
    trans-splicing joins the outer ones, too.

    Parameters
    ----------
    annotation : Annotation
        Transcripts.
    signal : str
        One of :data:`seqmtl.linear_model.site.SIGNALS`.
    """
    return site_columns(
        (row.contig, start, row.is_reverse, "", 0, EXCLUDED, -1, False)
        for row in annotation.uncertain
        for start in _uncertain_starts(row, signal)
    )


def _uncertain_starts(row: UncertainRegion, signal: str) -> list[int]:
    if signal in ("donor", "acceptor"):
        if (signal == "donor") == row.is_reverse:
            return [start - 2 for start, _ in row.exons] + [end - 2 for _, end in row.introns]
        return [end for _, end in row.exons] + [start for start, _ in row.introns]
    if signal in ("tss", "polya"):
        at_start = (signal == "tss") != row.is_reverse
        return [row.exons[0][0] if at_start else row.exons[-1][1] - 1] if row.exons else []
    if not row.cds:
        return []
    at_start = (signal == "start") != row.is_reverse
    start, _ = _codon_at(row.cds, at_start=at_start)
    if signal == "start":
        return [start]
    return [start, _codon_after(row.exons, row.cds, at_start=at_start)]


def _splice(transcript: Transcript, signal: str, min_intron: int) -> Iterator[SiteRow]:
    """Yield the first or last two bases of each intron in reading direction."""
    at_start = (signal == "donor") != transcript.is_reverse
    for start, end in transcript.introns:
        reason = SHORT_INTRON if end - start < min_intron else ""
        yield _row(transcript, start if at_start else end - 2, reason)


def _end(transcript: Transcript, is_tss: bool) -> SiteRow:
    """Return the first or last base of a transcript in reading direction."""
    at_start = is_tss != transcript.is_reverse
    start = transcript.start if at_start else transcript.end - 1
    reason = _reason_of_type(transcript)
    if ("tss" if is_tss else "polya") in transcript.incomplete:
        reason = reason or NO_END
    elif transcript.cds and transcript.is_cds_certain:
        cds_end = transcript.cds[0][0] if at_start else transcript.cds[-1][1] - 1
        stop = transcript.stop_codon
        if stop and not is_tss:  # in GTF the stop codon follows the coding sequence
            cds_end = min(cds_end, stop[0][0]) if at_start else max(cds_end, stop[-1][1] - 1)
        reason = reason or (NO_UTR if cds_end == start else "")
    return _row(transcript, start, reason)


def _codon(transcript: Transcript, signal: str) -> Iterator[SiteRow]:
    """Yield the start or stop codon as annotated, or else the first or last one of the CDS.

    The stop codon may also be the one after the coding sequence.
    """
    is_start = signal == "start"
    annotated = transcript.start_codon if is_start else transcript.stop_codon
    at_start = is_start != transcript.is_reverse
    if not (annotated or transcript.cds):
        return
    start, is_contiguous = _codon_at(annotated or transcript.cds, at_start=at_start)
    reason = "" if is_contiguous and _is_in_exon(transcript, start) else SPANNING
    other = -1
    if not annotated and is_start and transcript.phase:
        reason = INCOMPLETE
    elif not annotated and not is_start:
        other = _codon_after(transcript.exons, transcript.cds, at_start=at_start)
        n_coding = sum(end - begin for begin, end in transcript.cds) - (transcript.phase or 0)
        reason = ODD_LENGTH if n_coding % _CODON else reason
    if signal in transcript.incomplete:
        reason = NO_CODON
    yield _row(transcript, start, _reason_of_type(transcript) or reason, other)


def _reason_of_type(transcript: Transcript) -> str:
    """Return why the ends of a transcript of this type, or of this name, are not used, or ""."""
    if "pseudo" in transcript.biotype.lower():
        return PSEUDOGENE
    is_small = bool(_SMALL_TYPE.search(transcript.biotype))
    if transcript.biotype.lower() in _ANY_TYPE:
        is_small = any(map(_SMALL_NAME.search, (transcript.name, transcript.gene)))
    return SMALL_RNA if is_small and not transcript.cds else ""


def _codon_at(segments: Sequence[Segment], *, at_start: bool) -> tuple[int, bool]:
    """Return the start of the outermost codon, and whether it lies in one segment."""
    begin, end = segments[0] if at_start else segments[-1]
    return (begin if at_start else end - _CODON), end - begin >= _CODON


def _codon_after(exons: Sequence[Segment], cds: Sequence[Segment], *, at_start: bool) -> int:
    """Return the start of the codon after a coding sequence, perhaps beyond an intron.

    The last exon may end before it: programs that leave out the stop codon may leave out UTRs, too.
    It is -1 if an intron splits the codon.
    """
    if at_start:
        after = [exon for exon in reversed(exons) if exon[0] < cds[0][0]]
        start = min([cds[0][0], *(end for _, end in after[:1])]) - _CODON
    else:
        after = [exon for exon in exons if cds[-1][1] < exon[1]]
        start = max([cds[-1][1], *(begin for begin, _ in after[:1])])
    is_split = len(after) > 1 and not after[0][0] <= start <= after[0][1] - _CODON
    return -1 if is_split else start


def _is_in_exon(transcript: Transcript, start: int) -> bool:
    """Return whether a codon lies in one exon: some programs write three bases over an intron."""
    return any(begin <= start and start + _CODON <= end for begin, end in transcript.exons)


def _row(transcript: Transcript, start: int, reason: str, other: int = -1) -> SiteRow:
    of_transcript = transcript.name, transcript.line, transcript.weak or reason
    return (
        transcript.contig,
        start,
        transcript.is_reverse,
        *of_transcript,
        other,
        bool(transcript.weak),
    )
