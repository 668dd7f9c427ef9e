"""Chains of introns: those of the transcripts of a file, or its introns one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, numbered_lines, source_name
from seqmtl.io.annotation import read_annotation
from seqmtl.io.junctions import (
    Intron,
    IntronChain,
    introns_by_line,
    is_gff,
    is_hint,
    is_intron,
    read_junctions,
)
from seqmtl.io.tsv import read_rows

#: The attribute that a copy of a file gets.
ATTRIBUTE = "intron_probability"

_BED6_FIELDS, _BED12_FIELDS = 6, 12
_N_BLOCKS = 9  # column of the number of blocks
_GTF_NAME = re.compile(rb'(?:^|[\s;])transcript_id\s+["\w]')


def has_genes(path: PathLike) -> bool:
    """Return whether a file is GFF3 or GTF of genes; AUGUSTUS writes hints before them."""
    for row in read_rows(path):
        if not is_gff(row.fields):
            return False
        if not (is_intron(row.fields) or is_hint(row.fields)):
            return True
    return False


def read_intron_chains(path: PathLike) -> tuple[list[IntronChain], str]:
    """Read introns: of GFF3, GTF or BED12 those of transcripts, of other files one by one.

    BED12 in which every row has two blocks is one of splice junctions, as regtools writes it.

    Parameters
    ----------
    path : path-like
        What :func:`seqmtl.io.annotation.read_annotation` or
        :func:`seqmtl.io.junctions.read_junctions` reads; not standard input.

    Returns
    -------
    chains : list of IntronChain
        In the order of the file.
    format : {"genes", "hints", "rows"}
        Genes are GFF3 or GTF; hints are GFF of introns alone; rows are BED or SJ.out.tab, which
        have no attributes.

    Raises
    ------
    InputFormatError
        If it cannot be read.
    """
    first = next(read_rows(path), None)
    if first is None or len(first.fields) < _BED6_FIELDS:
        content = "no row" if first is None else f"{len(first.fields)} columns in line {first.line}"
        raise InputFormatError(
            "introns must be GFF3, GTF, BED12, BED6, SJ.out.tab or hints (GFF), with tabs between "
            f"the columns, got {content}; check that it is the right file",
            path=source_name(path),
        )
    is_of_genes = has_genes(path)
    if is_of_genes or _has_transcripts(path):
        transcripts = read_annotation(path).transcripts
        chains = {
            (transcript.name, transcript.contig, transcript.exons): IntronChain(
                transcript.contig,
                "-" if transcript.is_reverse else "+",
                tuple(transcript.introns),
                transcript.name,
                transcript.gene,
                None,
                transcript.row,
            )
            for transcript in transcripts
        }
        return [*chains.values()], "genes" if is_of_genes else "rows"
    return read_junctions(path), "hints" if is_gff(first.fields) else "rows"


def _has_transcripts(path: PathLike) -> bool:
    """Return whether a file is BED12 in which a row has another number of blocks than two."""
    for row in read_rows(path):
        if len(row.fields) < _BED12_FIELDS or is_gff(row.fields):
            return False
        if row.fields[_N_BLOCKS] != "2":
            return True
    return False


def lines_with_probabilities(
    path: PathLike, chains: Iterable[tuple[IntronChain, Sequence[str]]]
) -> Iterator[bytes]:
    """Yield the lines of GFF3 or GTF; the row of each transcript gets the attribute.

    Parameters
    ----------
    path : path-like
        The file.
    chains : iterable of (IntronChain, sequence of str)
        Each with the probabilities of its introns in reading direction.
    """
    rows = {chain.line: values for chain, values in chains}
    for number, text in numbered_lines(path):
        added = _attribute(text, ",".join(rows[number])) if number in rows else b""
        yield text + added + b"\n"


def introns_with_probabilities(
    path: PathLike, probabilities: Mapping[Intron, float], least: float, *, are_hints: bool
) -> Iterator[bytes]:
    """Yield the lines of hints, BED or SJ.out.tab without those of less probable introns.

    Parameters
    ----------
    path : path-like
        The file.
    probabilities : mapping of (contig, start, end, strand) to float
        Those of the introns that are judged.
    least : float
        Least probability of all introns of a row.
    are_hints : bool
        Whether rows have attributes.
    """
    introns_of = introns_by_line(path)
    for number, text in numbered_lines(path):
        judged = [key for key in introns_of.get(number, ()) if key in probabilities]
        known = [probabilities[key] for key in judged]
        known = [p for p in known if p == p]
        if known and min(known) < least:
            continue
        added = b""
        if known and are_hints:
            added = _attribute(text, probability_text(min(known)))
        yield text + added + b"\n"


def probability_text(p: float) -> str:
    """Return a probability with four significant digits, a dot for NaN."""
    return f"{p:.4g}" if p == p else "."


def _attribute(text: bytes, value: str) -> bytes:
    """Return what a row of GFF3, GTF or hints gets at its end."""
    attributes = text.rsplit(b"\t", 1)[1].rstrip()
    separator = b"" if attributes.endswith(b";") or not attributes else b";"
    if _GTF_NAME.search(attributes):
        return b'%s %s "%s";' % (separator, ATTRIBUTE.encode(), value.encode())
    return b"%s%s=%s" % (separator, ATTRIBUTE.encode(), value.encode())
