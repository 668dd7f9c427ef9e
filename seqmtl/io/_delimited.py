"""Records of comma- or tab-separated text with a header."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from itertools import chain

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PAD_BYTES, PathLike, first_bytes, line_blocks, readable

_LONGEST_FIELD = 2**31 - 1
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_COMPRESSIONS = (".gz", ".bgz")
_TITLES = {",": "commas", "\t": "tabs"}
_OTHER_SEPARATORS = ",;\t|"

#: The 1-based first line and the fields of a record.
Record = tuple[int, list[str]]


def delimiter_of(path: PathLike) -> str:
    """Return the separator of a table: by the name of the file, else by its first line."""
    name = os.fspath(path).lower()
    for compression in _COMPRESSIONS:
        name = name.removesuffix(compression)
    ending = os.path.splitext(name)[1]
    if ending in _DELIMITERS:
        return _DELIMITERS[ending]
    return "\t" if b"\t" in first_bytes(path).lstrip().partition(b"\n")[0] else ","


def open_records(path: PathLike, delimiter: str, source: str) -> tuple[Record, Iterator[Record]]:
    """Return the header of a table, and its records that are not blank, with all fields.

    Raises
    ------
    InputFormatError
        If the first line does not name columns; later, if a row has a different number of fields,
        or the quoting is not that of CSV.
    """
    records = _records(path, delimiter, source)
    line, row = next((record for record in records if not _is_blank(record[1])), (1, []))
    names = [name.strip() for name in row]
    _check_header(names, delimiter, source, line)
    return (line, names), _rows(records, len(names), delimiter, source)


def is_number(cell: str) -> bool:
    """Tell whether a cell is a number; 1_000 is one in Python only."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _records(path: PathLike, delimiter: str, source: str) -> Iterator[Record]:
    texts = (readable(block.text[:-PAD_BYTES]) for block in line_blocks(path))
    lines = chain.from_iterable(map(io.StringIO, texts))
    csv.field_size_limit(_LONGEST_FIELD)  # a global setting of csv; its default is 131,072
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    line = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            shown = str(error).replace("\t", "tab")
            raise InputFormatError(
                f"the line must be quoted as in CSV, but it cannot be read ({shown}); correct its "
                "quotes and its end",
                path=source,
                line=line,
            ) from error
        if row is None:
            return
        yield line, row
        line = 1 + reader.line_num


def _rows(
    records: Iterator[Record], n_columns: int, delimiter: str, source: str
) -> Iterator[Record]:
    for line, row in records:
        if len(row) == n_columns and (n_columns > 1 or row[0].strip()):
            yield line, row
        elif not _is_blank(row):
            raise InputFormatError(
                f"a row must have {n_columns} fields separated by {_TITLES[delimiter]} like the "
                f"header, got {len(row)}; correct the line",
                path=source,
                line=line,
            )


def _is_blank(row: list[str]) -> bool:
    return not "".join(row).strip()


def _check_header(names: list[str], delimiter: str, source: str, line: int) -> None:
    """Check for a table header with this separator."""
    if not names:
        raise InputFormatError(
            "the file must hold a table, but it is empty; check how it was written", path=source
        )
    fault = _fault_of(names, delimiter)
    if fault:
        raise InputFormatError(fault, path=source, line=line)


def _fault_of(names: list[str], delimiter: str) -> str:
    """Return what is wrong with a header, or ""."""
    if names[0].startswith(">"):
        return (
            f"the file must hold a table, got {names[0]!r}, which looks like FASTA; give a table "
            "with a header line"
        )
    if len(names) == 1 and any(mark in names[0] for mark in _OTHER_SEPARATORS):
        return (
            f"the columns must be separated by {_TITLES[delimiter]}, got the header {names[0]!r}; "
            "write the table that way, or name the file .csv (commas) or .tsv (tabs) accordingly"
        )
    is_numbered = names == [str(i) for i in range(len(names))]
    if all(map(is_number, names)) and not is_numbered:
        got = ", ".join(names[:5])
        return f"the first line must name the columns, got the numbers {got}; add a header line"
    return ""
