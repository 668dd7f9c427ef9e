"""FASTA records, and windows from FASTA files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import check_distinct
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, first_bytes, source_name
from seqmtl.io._fasta_scanner import Header, check_unique, hold, scan_fasta
from seqmtl.io.columns import LabelColumn
from seqmtl.sequences import Windows
from seqmtl.sequences.windows import name_table

_KEY_VALUE = re.compile(r"(?:^|[\s,|;])(\w+)=([^\s,|;]+)")


def guess_format(path: PathLike) -> str:
    """Distinguish FASTA from a table by the first bytes.

    Parameters
    ----------
    path : path-like
        File, plain or gzip, or ``"-"``.

    Returns
    -------
    {"fasta", "table"}
        "fasta" if the first byte that is not white space is ``>``. An empty file is a table.
    """
    return "fasta" if first_bytes(path).lstrip().startswith(b">") else "table"


def read_fasta(path: PathLike) -> Iterator[tuple[str, str, NDArray[np.uint8]]]:
    """Yield the records of a FASTA file one by one.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.

    Yields
    ------
    name : str
        First word of the header.
    description : str
        The whole header without ``>``.
    codes : ndarray of uint8
        Encoded sequence, see :mod:`seqmtl.sequences.alphabet`.

    Raises
    ------
    InputFormatError
        If the file is empty or not FASTA, a record has no sequence or an invalid letter, or a
        name is repeated; the message gives the file, the record and the line.
    """
    for header, codes in _records(path, unique_names=True):
        yield header.name, header.description, codes


def _records(path: PathLike, *, unique_names: bool) -> Iterator[tuple[Header, NDArray[np.uint8]]]:
    header: Header | None = None
    codes = bytearray()
    for item in scan_fasta(path, unique_names=unique_names):
        if isinstance(item, bytes):
            hold(codes, item, path)
            continue
        if header is not None:
            yield header, np.frombuffer(codes, dtype=np.uint8)
        header, codes = item, bytearray()
    if header is not None:
        yield header, np.frombuffer(codes, dtype=np.uint8)


def read_fasta_windows(
    path: PathLike,
    *,
    window: int | None = None,
    organism: str | None = None,
    require_labels: bool = True,
) -> Windows:
    """Read windows from a FASTA file, with the organism and the label of each in its header.

    Headers give them as ``key=value``, separated by blanks, commas, ``|`` or ``;``, as in
    ``> chr_num=1, strand=+, position=180699, label=-1, organism=worm``.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"``.
    window : int, optional
        Keep the central `window` bases, from ``(length - window) // 2`` (0-based); sequences may
        then differ in length. Default: whole sequences, which must have equal lengths.
    organism : str, optional
        Organism of all records; overrides the headers.
    require_labels : bool
        Whether every record must have a label. Records without a label get 0.

    Returns
    -------
    Windows
        Names are the first words of the headers, or the 1-based numbers of the records if the
        headers begin with a ``key=value``. The task is ``"task"`` if no organism is given.

    Raises
    ------
    InputFormatError
        If the file is not FASTA (see :func:`read_fasta`), names are repeated, labels are missing
        or invalid, lengths differ, or two names of organisms mean the same one.
    """
    if window is not None and window < 1:
        raise ValueError(
            f"window must be 1 or more, got {window}; leave it out for whole sequences"
        )
    column = LabelColumn(source_name(path))
    rows: dict[str, tuple[int, str | None]] = {}
    codes, first = bytearray(), None
    for header, own in _records(path, unique_names=False):
        name, values = parse_header(header)
        check_unique(header, name, rows)
        first = first or (own.size, header.line)
        length = window or first[0]
        _check_length(own.size, window, first, header, name)
        left = (own.size - length) // 2
        codes += own[left : left + length].data
        label = values.get("label")
        if label is None and require_labels:
            header.refuse("a record must have a label; write label=1 or label=-1 in the header",
                          name=name)  # fmt: skip
        sign = 0 if label is None else column.parse_text(label, header.line)
        rows[name] = sign, organism or values.get("organism")
    labels, organisms = zip(*rows.values(), strict=True)
    task_names, task_ids = _tasks(organisms, list(rows))
    return Windows(
        np.frombuffer(codes, dtype=np.uint8),
        np.arange(len(rows), dtype=np.int64) * length,
        length,
        labels=np.array(labels, dtype=np.int8),
        task_ids=task_ids,
        task_names=task_names,
        names=list(rows),
    )


def _check_length(
    size: int, window: int | None, first: tuple[int, int], header: Header, name: str
) -> None:
    if window is None and size != first[0]:
        header.refuse(
            f"sequences must have equal lengths, got {size} bases here and {first[0]} on line "
            f"{first[1]}; cut them to the same length, or give a window (at most "
            f"{min(size, first[0])}) to take the centre of each",
            name=name,
        )
    if window is not None and size < window:
        header.refuse(
            f"a sequence must have at least the window's {window} bases, got {size}"
            "; choose a smaller window or leave the record out",
            name=name,
        )


def _tasks(
    organisms: Sequence[str | None], names: Sequence[str]
) -> tuple[list[str], NDArray[np.int16] | None]:
    """Return the names of the tasks, and the number of each record's; all have one, or none."""
    given = [name for name in organisms if name is not None]
    if not given:
        return ["task"], None
    if len(given) < len(organisms):
        raise InputFormatError(
            "all records must have an organism or none, but this one has none; write "
            "organism=NAME in its header or give one with the file",
            record=names[organisms.index(None)],
        )
    task_names, task_ids = name_table(given)
    check_distinct(task_names)
    return task_names, task_ids


def parse_header(header: Header) -> tuple[str, dict[str, str]]:
    """Split a header into the record's name and its ``key=value`` pairs (keys in lower case).

    The name is the first word that is not in a pair, or else the number of the record.
    """
    values = {key.lower(): value for key, value in _KEY_VALUE.findall(header.description)}
    pair = _KEY_VALUE.search(header.name)
    name = header.name[: pair.start()] if pair else header.name
    return name.rstrip(",|;") or str(header.number), values
