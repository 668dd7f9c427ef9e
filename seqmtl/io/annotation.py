"""Annotations: transcripts from GFF3, GTF and BED12."""

from __future__ import annotations

import logging
from collections.abc import Collection
from itertools import chain

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, numbered_lines, source_name
from seqmtl.io._gff import read_gff
from seqmtl.io.rows import is_row, rows_of
from seqmtl.io.transcripts import Annotation, read_bed12

logger = logging.getLogger(__name__)

_GFF_FIELDS, _BED_FIELDS = 9, 12
_FOREIGN = {
    b">": "this looks like FASTA, not an annotation",
    b"LOCUS": "this looks like GenBank: convert it to GFF3",
    b"ID  ": "this looks like EMBL: convert it to GFF3",
    b"SQLite": "this looks like a gffutils database: give the GFF3 or GTF it was made from",
}


def read_annotation(path: PathLike, *, sources: Collection[str] | None = None) -> Annotation:
    """Read transcripts from GFF3, GTF or BED12; the format is detected from the content.

    A transcript is the parent of exons or coding segments (CDS): by ``Parent`` in GFF3, where a row
    may have several, and by ``transcript_id`` in GTF. If a transcript has no exons, they are
    derived from its coding segments, UTRs and codons. A coding sequence whose parent is a gene, or
    that has only an ``ID``, counts as a transcript. Intron rows are ignored: introns are the gaps
    between exons. Exons of a transcript that overlap or touch are merged. Overlapping coding
    sequences of a transcript with different IDs are alternatives.

    Some transcripts are left out and listed: those without a strand, those with exons on two
    strands or contigs (trans-splicing), those that are part of another one, such as microRNAs of a
    precursor, and exons of a gene that has transcripts of its own. ``##FASTA`` ends the annotation.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.
    sources : collection of str, optional
        Use only rows with one of these in the second column (GFF3, GTF).

    Returns
    -------
    Annotation
        Transcripts in the order of the file.

    Raises
    ------
    InputFormatError
        If the file has another format, a row is invalid (with its line), or there is no
        transcript.

    Examples
    --------
    >>> annotation = read_annotation("genes.gff3.gz")  # doctest: +SKIP
    """
    source = source_name(path)
    lines = numbered_lines(path)
    line, first = next((numbered for numbered in lines if is_row(numbered[1])), (0, b""))
    n_fields = first.count(b"\t") + 1
    if n_fields == _GFF_FIELDS and all(field.isdigit() for field in first.split(b"\t")[1:]):
        raise InputFormatError(
            "an annotation must have text in columns 2, 3 and 7, but all columns after the first "
            "are numbers; this looks like STAR's SJ.out.tab: name it junctions instead of "
            "annotation",
            path=source,
            line=line,
        )
    lines = chain([(line, first)], lines)
    if n_fields == _GFF_FIELDS:
        annotation = read_gff(lines, source, sources)
    elif n_fields == _BED_FIELDS:
        if sources:
            raise InputFormatError(
                "sources must be left out for BED12, which has no such column; name them for the "
                "organisms with GFF3 or GTF",
                path=source,
            )
        annotation = read_bed12(rows_of(lines, source), source)
    else:
        raise InputFormatError(
            f"an annotation must have nine tab-separated fields (GFF3, GTF) or twelve (BED12), "
            f"got {n_fields if first else 0}; {_hint(first)}",
            path=source,
            line=line if first else None,
        )
    logger.info(
        "%s: %s, %d transcripts on %d contigs, %d left out",
        source,
        annotation.format,
        len(annotation.transcripts),
        len(annotation.contigs),
        len(annotation.left_out),
    )
    return annotation


def _hint(first: bytes) -> str:
    """Suggest what a file may be instead."""
    if not first:
        return "the file has no rows; check how it was written"
    for start, remedy in _FOREIGN.items():
        if first.startswith(start):
            return remedy
    if first.count(b"\t") + 1 in (6, 3, 4, 5):
        return "this looks like BED; a BED of sites is not an annotation"
    return "separate the fields by tabs" if b"\t" not in first else "check how it was written"
