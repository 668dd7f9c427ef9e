"""Introns that ``seqmtl annotate`` found: how many, and how many of them an annotation has."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from seqmtl._html import Markup, join
from seqmtl.evaluation.tables import Column
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.streams import PathLike, numbered_lines
from seqmtl.io.annotation import read_annotation
from seqmtl.report._html import column_table

#: An intron: contig, first base and the base after the last (0-based), whether on the minus strand.
Intron = tuple[str, int, int, bool]

_LEVELS = (0.1, 0.5, 0.9)
_CALLED = 1  # the level of the summary
#: Columns of rows of :func:`intron_rows`.
COLUMNS = (
    Column("Probability", "least", ".1f"),
    Column("Found", "found", ","),
    Column("Annotated", "known", ","),
    Column("Others", "others", ","),
    Column("Missed", "missed", ","),
)


class FoundIntrons(NamedTuple):
    """What was found in the genome of an organism.

    Attributes
    ----------
    organism : str
        Its name.
    rows : list of dict
        See :func:`intron_rows`.
    annotation : str
        File that the introns are compared with, or "".
    """

    organism: str
    rows: list[dict[str, Any]]
    annotation: str = ""

    def sentence(self) -> str:
        """Tell how many introns are more likely than not, and how many of them are known."""
        row = self.rows[_CALLED]
        text = f"{self.organism}: {row['found']:,} introns of probability {row['least']} or more"
        if not self.annotation:
            return f"{text}."
        return (
            f"{text}, {row['known']:,} of them among the {row['known'] + row['missed']:,} of "
            f"{os.path.basename(self.annotation)}."
        )


def read_found(path: PathLike) -> dict[Intron, float]:
    """Read the introns of a GFF3 file of ``seqmtl annotate`` or ``scan``, and their probabilities.

    Parameters
    ----------
    path : path-like
        Such as FOLDER/sites.introns.gff3.
    """
    found: dict[Intron, float] = {}
    for _, line in numbered_lines(path):
        if line[:1] != b"#":
            contig, _, _, start, end, p, strand = line.split(b"\t")[:7]
            found[contig.decode(), int(start) - 1, int(end), strand == b"-"] = float(p)
    return found


def read_known(path: PathLike, contigs: Collection[str]) -> set[Intron]:
    """Read the introns of an annotation, each once.

    Parameters
    ----------
    path : path-like
        GFF3, GTF or BED12.
    contigs : collection of str
        Contigs with introns that were found.

    Raises
    ------
    SeqmtlError
        If the annotation has none of the contigs.
    """
    annotation = read_annotation(path)
    if contigs and not set(contigs) & set(annotation.contigs):
        raise SeqmtlError(
            f"{annotation.path}: introns were found on {min(contigs)} and others, the annotation "
            f"has {', '.join(annotation.contigs[:3])}; give that of the same genome"
        )
    return {
        (transcript.contig, start, end, transcript.is_reverse)
        for transcript in annotation.transcripts
        for start, end in transcript.introns
    }


def intron_rows(
    found: Mapping[Intron, float], known: Collection[Intron] | None = None
) -> list[dict[str, Any]]:
    """Count introns by their least probability: .1, .5 and .9.

    Parameters
    ----------
    found : mapping of tuple to float
        Result of :func:`read_found`.
    known : collection of tuple, optional
        Result of :func:`read_known`. Both ends must be the same.

    Returns
    -------
    list of dict
        "least", "found", and with `known` "known" (of those found), "others" and "missed".
    """
    rows = []
    for least in _LEVELS:
        called = {intron for intron, p in found.items() if p >= least}
        row: dict[str, Any] = {"least": least, "found": len(called)}
        if known is not None:
            n_known = len(called.intersection(known))
            row |= {
                "known": n_known,
                "others": len(called) - n_known,
                "missed": len(known) - n_known,
            }
        rows.append(row)
    return rows


def introns(found: Iterable[FoundIntrons]) -> Markup:
    """Return a table of the introns of every organism by probability."""
    tables = []
    for own in found:
        caption = f"{own.organism}, without labels: introns of this probability or more"
        if own.annotation:
            caption += f", and how many of them are in {own.annotation}, with the same ends"
        tables.append(column_table(COLUMNS, own.rows, caption))
    return join(tables)
