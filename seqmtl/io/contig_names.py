"""Tables that say what the contigs of one file are called in another."""

from __future__ import annotations

from seqmtl.exceptions import InputFormatError
from seqmtl.io._fields import read_lines, readable
from seqmtl.io._stream import PAD_BYTES, PathLike, source_name

_N_FIELDS = 2


def read_contig_names(path: PathLike) -> dict[str, str]:
    """Read the FASTA's contig names by those of an annotation.

    Parameters
    ----------
    path : path-like
        Two tab-separated columns: name in the annotation, name in the FASTA. Blank lines and those
        that begin with ``#`` are skipped.

    Raises
    ------
    InputFormatError
        If a line has not two names, or a name of the annotation comes twice.
    """
    source = source_name(path)
    names: dict[str, str] = {}
    for block in read_lines(path):
        for line, row in enumerate(block.text[:-PAD_BYTES].split(b"\n"), block.first_line):
            if not row.strip() or row.startswith(b"#"):
                continue
            fields = readable(row).split("\t")
            if len(fields) != _N_FIELDS or not all(fields):
                raise InputFormatError(
                    "contig names must be two tab-separated columns (annotation, FASTA), got "
                    f"{len(fields)}; correct the line",
                    path=source,
                    line=line,
                )
            if fields[0] in names:
                raise InputFormatError(
                    f"a contig of the annotation must come once, got {fields[0]!r} again; "
                    "leave one line out",
                    path=source,
                    line=line,
                )
            names[fields[0]] = fields[1]
    return names
