"""Map contig names between files."""

from __future__ import annotations

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, numbered_lines, readable, source_name


def read_chrom_map(path: PathLike) -> dict[str, str]:
    """Read a two-column table: the name used, and the name in the genome.

    Blank lines and lines that begin with ``#`` are skipped. ``bcftools annotate --rename-chrs``
    takes the same file.

    Parameters
    ----------
    path : path-like
        Table separated by tabs (or blanks), plain or gzip.

    Raises
    ------
    InputFormatError
        If a line does not have two columns, or a name is repeated in the first column.
    """
    names: dict[str, str] = {}
    for line, text in numbered_lines(path):
        row = readable(text).split()
        if not row or row[0].startswith("#"):
            continue
        if len(row) != 2 or row[0] in names:
            fault = f"{len(row)} columns" if len(row) != 2 else f"{row[0]} twice"
            raise InputFormatError(
                "a table of contig names must have two columns, the name in use (each once) "
                f"and the name in the genome, got {fault}; correct the line",
                path=source_name(path),
                line=line,
            )
        names[row[0]] = row[1]
    return names
