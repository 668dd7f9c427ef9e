"""FASTA records, and windows from FASTA files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import check_distinct
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, first_bytes, source_name
from seqmtl.io._fasta_scanner import Header, check_unique, hold, scan_fasta
from seqmtl.io.columns import LABEL_RULE, LabelColumn
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


class FastaSource(NamedTuple):
    """A FASTA file of windows, with the organism and label of its records.

    Attributes
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"``.
    organism : str or None
        Organism; None to read it from the headers (``organism=NAME``).
    label : int or None
        1, or -1 or 0 for negatives; None to read it from the headers (``label=1``).
    """

    path: PathLike
    organism: str | None = None
    label: int | None = None


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
    sources: PathLike | Sequence[FastaSource | tuple[PathLike, str | None, int | None]],
    *,
    window: int | None = None,
    organism: str | None = None,
    require_labels: bool = True,
) -> Windows:
    """Read windows from FASTA files, one per organism and label, or with both in the headers.

    Headers give them as ``key=value``, separated by blanks, commas, ``|`` or ``;``, as in
    ``> chr_num=1, strand=+, position=180699, label=-1``. The label of a file applies to all of its
    records; a header with a different label is an error.

    Parameters
    ----------
    sources : path-like or sequence of FastaSource
        One file, or triples of path, organism and label (None: read the headers).
    window : int, optional
        Keep the central `window` bases, from ``(length - window) // 2`` (0-based); sequences may
        then differ in length. Default: whole sequences, which must have equal lengths.
    organism : str, optional
        Organism of files given without one; overrides the headers.
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
        If a file is not FASTA (see :func:`read_fasta`), names are repeated, labels are missing
        or invalid, lengths differ, or two names of organisms mean the same one.
    """
    if isinstance(sources, (str, os.PathLike)):
        sources = [FastaSource(sources)]
    collector = _Collector(window, require_labels)
    for path, own_organism, label in sources:
        collector.read(FastaSource(path, own_organism or organism, label))
    return collector.windows()


class _Collector:
    """Windows collected from FASTA files."""

    def __init__(self, window: int | None, require_labels: bool) -> None:
        if window is not None and window < 1:
            raise ValueError(
                f"window must be 1 or more, got {window}; leave it out for whole sequences"
            )
        self.window, self.require_labels = window, require_labels
        self.length = window or 0
        self.first = ""  # where the length was first seen
        self.codes = bytearray()
        self.names: list[str] = []
        self.organisms: list[str | None] = []
        self.labels: list[int] = []

    def read(self, source: FastaSource) -> None:
        """Add the records of one file."""
        path = source_name(source.path)
        labels = LabelColumn(path)
        if source.label not in (None, 1, -1, 0):
            raise ValueError(f"{LABEL_RULE}, got {source.label!r} for {path}; correct it")
        fixed = None if source.label is None else (1 if source.label == 1 else -1)
        seen: set[str] = set()
        for header, codes in _records(source.path, unique_names=False):
            name, values = parse_header(header)
            check_unique(header, name, seen)
            self.names.append(name)
            self.organisms.append(source.organism or values.get("organism"))
            self.labels.append(self._label(values.get("label"), fixed, labels, header, name))
            self._add(codes, header, name)

    def _label(
        self, text: str | None, fixed: int | None, labels: LabelColumn, header: Header, name: str
    ) -> int:
        if text is None:
            if fixed is None and self.require_labels:
                header.refuse(
                    "a record must have a label; give one with the file, or write label=1 or "
                    "label=-1 in the header",
                    name=name,
                )
            return fixed or 0
        label = labels.parse_text(text, header.line)
        if fixed is not None and label != fixed:
            header.refuse(
                f"the label must be the file's, {fixed}, but the header says {text}; correct one",
                name=name,
            )
        return label

    def _add(self, codes: NDArray[np.uint8], header: Header, name: str) -> None:
        if self.window is None and not self.length:
            self.length, self.first = codes.size, f"{header.source}:{header.line}"
        if self.window is None and codes.size != self.length:
            header.refuse(
                f"sequences must have equal lengths, got {codes.size} bases here and {self.length} "
                f"in {self.first}; cut them to the same length, or give a window (at most "
                f"{min(codes.size, self.length)}) to take the centre of each",
                name=name,
            )
        if codes.size < self.length:
            header.refuse(
                f"a sequence must have at least the window's {self.window} bases, got {codes.size}"
                "; choose a smaller window or leave the record out",
                name=name,
            )
        left = (codes.size - self.length) // 2
        self.codes += codes[left : left + self.length].data

    def windows(self) -> Windows:
        """Return all windows collected."""
        with_organism = [name for name in self.organisms if name is not None]
        if with_organism and len(with_organism) < len(self.organisms):
            record = self.names[self.organisms.index(None)]
            raise InputFormatError(
                "all records must have an organism or none, but this one has none; write "
                "organism=NAME in its header or give one with the file",
                record=record,
            )
        task_names, task_ids = name_table(with_organism) if with_organism else (["task"], None)
        check_distinct(task_names)
        return Windows(
            np.frombuffer(self.codes, dtype=np.uint8),
            np.arange(len(self.names), dtype=np.int64) * self.length,
            self.length,
            labels=np.array(self.labels, dtype=np.int8),
            task_ids=task_ids,
            task_names=task_names,
            names=self.names,
        )


def parse_header(header: Header) -> tuple[str, dict[str, str]]:
    """Split a header into the record's name and its ``key=value`` pairs (keys in lower case).

    The name is the first word that is not in a pair, or else the number of the record.
    """
    values = {key.lower(): value for key, value in _KEY_VALUE.findall(header.description)}
    pair = _KEY_VALUE.search(header.name)
    name = header.name[: pair.start()] if pair else header.name
    return name.rstrip(",|;") or str(header.number), values
