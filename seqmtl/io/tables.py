"""Read windows: of a table (organism, label, sequence, optionally split and name), or of FASTA."""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl._messages import is_first_time
from seqmtl.exceptions import InputFormatError, ParameterError
from seqmtl.files.streams import PathLike, first_bytes, readable, source_name
from seqmtl.io.dataset import is_dataset, read_dataset
from seqmtl.io.fasta import guess_format, read_records
from seqmtl.io.tsv import (
    MISSING,
    Columns,
    LabelColumn,
    NameColumn,
    Row,
    check_no_other_name,
    read_table,
    refuse_split,
    separator_of,
)
from seqmtl.sequences import Windows
from seqmtl.sequences.alphabet import CHECKED_CODES, INVALID, OTHER, letter_remedy
from seqmtl.sequences.windows import UNNAMED, pad_codes, row_names

logger = logging.getLogger(__name__)

_WEIGHTS = ("weight", "weights", "sample_weight")


def read_windows(
    path: PathLike,
    *,
    window: int | None = None,
    split: str | None = None,
    organism: str | None = None,
    require_labels: bool = True,
    site: int | None = None,
    pad: bool = False,
) -> Windows:
    """Read labelled windows from a table, a FASTA file, or a dataset of ``seqmtl dataset``.

    The header of a table separated by tabs, or by commas (CSV, also with quotes), names the
    columns, in any order: ``sequence``, ``label`` (1 or +1; -1 or 0 for negatives), and optionally
    ``organism`` (without it all rows are of one, ``"task"``), ``split``, ``name`` and ``site`` (its
    first base in the sequence, 0-based); others are ignored. The file is read in blocks, and only
    the bases kept stay in memory, one byte each. All rows are checked, whether kept or not. For
    datasets see :func:`read_dataset`. Strings in memory are for :meth:`Windows.from_strings`.

    Headers of FASTA give organism and label as ``key=value``, separated by blanks, commas, ``|`` or
    ``;``, as in ``> chr_num=1, strand=+, position=180699, label=-1, organism=worm``, or in
    brackets, as in ``>s1 [organism=Homo sapiens] [label=1]``. ``split=train`` gives the split, and
    ``site=149`` the first base of the site in the sequence (0-based). An organism or a split is one
    word, two as in Homo sapiens, or has its end marked by quotes, a bracket or a comma.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, folder of a dataset, or ``"-"`` for standard input.
    window : int, optional
        Keep the central `window` bases, from ``(length - window) // 2`` (0-based); sequences may
        then differ in length. Default: whole sequences, which must have equal lengths.
    split : str, optional
        Keep only the rows with this value in the column ``split``, records with it in the header,
        or this split of a dataset: train, valid or test. Files without splits are kept as a whole.
    organism : str, optional
        Organism of all rows; overrides the column.
    require_labels : bool
        Whether the column ``label`` is required. Without it labels are 0.
    site : int, optional
        First base of the site in every sequence of a table or FASTA file (0-based); overrides the
        column ``site``, or ``site=`` in the headers. It must be at one base of the windows kept.
    pad : bool
        Whether sequences of a table or FASTA file may differ in length: those shorter than `window`
        or, without it, than the longest are padded with N at their end, for features without
        positions.

    Returns
    -------
    Windows
        Labels +1 and -1. Names are those of the column ``name``, or else 0-based row numbers; of
        FASTA the first words of the headers, which may be repeated, or the 1-based numbers of the
        records if the headers begin with a ``key=value``. Organisms are numbered in order of
        appearance in the rows kept.

    Raises
    ------
    InputFormatError
        If the file is not such a table, or two names of organisms mean the same one; the message
        gives the file and the 1-based line.
    MemoryLimitError
        If the padded sequences do not fit into memory.
    ValueError
        If `path` is a sequence of strings, or `site` is given for a dataset, which has its own.

    Examples
    --------
    >>> windows = read_windows("data.tsv.gz", window=141, split="train")  # doctest: +SKIP
    >>> windows = read_windows("donors", split="train")  # doctest: +SKIP
    >>> windows = read_windows("peaks.csv", pad=True)  # doctest: +SKIP
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(
            f"path must be a file or the folder of a dataset, got {type(path).__name__}; for "
            "strings use Windows.from_strings(sequences, labels, tasks)"
        )
    if is_dataset(path):
        if site is not None:
            raise ValueError(f"site is known of a dataset, got {site}; leave it out")
        windows = read_dataset(path, split=split, organism=organism)
        return windows if window is None else windows.center(window)
    if os.path.isdir(path):
        raise InputFormatError(
            "a folder must be a dataset with windows.tsv and summary.json; make one with seqmtl "
            "dataset, or name a file",
            path=os.fspath(path),
        )
    (windows,) = read_windows_in_parts(
        path,
        window=window,
        split=split,
        organism=organism,
        require_labels=require_labels,
        site=site,
        pad=pad,
    )
    return windows


def read_windows_in_parts(
    path: PathLike, n: int = sys.maxsize, *, require_labels: bool = True, **options: Any
) -> Iterator[Windows]:
    """Yield the windows of a table or of FASTA, about n at a time, by default all.

    Without `window`, padded ones have the length of the longest sequence of their part.

    Parameters
    ----------
    path, require_labels
        See :func:`read_windows`.
    n : int
        Number of windows.
    **options
        `window`, `split`, `organism`, `site` and `pad` of :func:`read_windows`, or, for a model,
        `base`: sequences with a stated site are cut to `window` bases with the site at base `base`
        (0-based), and padded with N. Others are cut without it; if all have one length below
        `window`, they are returned uncut.

    Raises
    ------
    InputFormatError
        As :func:`read_windows`, or if sequences without a stated site are shorter than others.
    """
    reader = _TableReader(path, require_labels, n=n, **options)
    windows = reader.read()
    while len(windows):
        yield windows
        windows = reader.read()
    reader.log()


def is_table_of_windows(path: PathLike) -> bool:
    """Return whether a file is a table for :func:`read_windows`, by its header.

    Such a table is text with the columns ``organism`` and ``sequence``. Standard input is not
    consumed.
    """
    header = first_bytes(path).lstrip().partition(b"\n")[0].rstrip(b"\r")
    names = readable(header).split(separator_of(header))
    return {"organism", "sequence"} <= {name.strip(' "') for name in names}


class _TableReader:
    """Reader of a table, or of FASTA as one, a block of rows at a time.

    It returns all windows, or about n at a time, see :func:`read_windows_in_parts`.
    """

    def __init__(  # noqa: PLR0913
        self,
        path: PathLike,
        require_labels: bool,
        *,
        window: int | None = None,
        split: str | None = None,
        organism: str | None = None,
        site: int | None = None,
        base: int | None = None,
        n: int = sys.maxsize,
        pad: bool = False,
    ) -> None:
        if window is not None and window < 1:
            raise ParameterError(f"must be 1 or more, got {window}; leave it out for all", "window")
        self._n = n
        self._pad = pad
        self._longest = 0, 0  # its length, its line
        self._source = source_name(path)
        self._window = window
        self._split = split
        self._organism = organism
        self._is_fasta = guess_format(path) == "fasta"
        if self._is_fasta:
            given = {"organism": organism, "site": site}
            keys = [key for key in ("organism", "split", "site") if given.get(key) is None]
            self._columns, blocks = read_records(
                path, keys=keys, split=split, require_labels=require_labels
            )
        else:
            self._columns, blocks = read_table(path, ["sequence"] + ["label"] * require_labels)
        named = self._columns, self._source
        if organism is None and "organism" not in self._columns:
            check_no_other_name(*named, "organism", "give the organism of all rows")
            self._organism = UNNAMED
        if split is not None:
            check_no_other_name(*named, "split", "use all rows (--split all)")
        if site is None:
            check_no_other_name(*named, "site", "remove it")
        for name in self._columns if require_labels and not self._is_fasta else ():
            if name.lower() in _WEIGHTS and is_first_time((self._source, name)):
                logger.warning(
                    "%s: the column %r is not read, so all rows count alike; for weights use "
                    "sample_weight of the estimators in Python",
                    self._source,
                    name,
                )
        self._blocks = (part for rows in blocks for part in rows.split(n))
        self._labels = LabelColumn(self._source, blank=self._is_fasta)
        self._organisms = NameColumn("organism", self._columns.get("organism", -1))
        self._splits = NameColumn("split", self._columns.get("split", -1))
        self._split_counts = Counter[str]()
        self._n_rows = self._n_kept = 0
        self._sizes = sys.maxsize, 0  # bases of the shortest and the longest window
        self._length = window or 0
        self._first_length: tuple[int, int] | None = None
        self._site = site
        self._base = base
        self._has_site = site is not None or "site" in self._columns
        self._first_site: tuple[int, int] | None = None

    def read(self) -> Windows:
        """Read the next rows, until there are n windows or a few more, and return these."""
        codes, n_kept = bytearray(), 0
        parts: dict[str, list[NDArray[Any]]] = {}
        for rows in self._blocks:
            block, block_codes = self._window_columns(rows)
            codes += block_codes
            for name, column in block.items():
                parts.setdefault(name, []).append(column)
            n_kept += block["numbers"].size
            if n_kept >= self._n:
                break
        if not codes:
            self._refuse_empty()
        columns: dict[str, Any] = {name: np.concatenate(part) for name, part in parts.items()}
        numbers = columns.pop("numbers", np.empty(0, dtype=np.int32))
        lengths = columns.pop("lengths", np.empty(0, dtype=np.int64))
        if self._pad and self._window is None and numbers.size:
            self._length = int(lengths.max())
        self._n_kept += numbers.size
        self._sizes = (
            min(self._sizes[0], int(lengths.min(initial=sys.maxsize))),
            max(self._sizes[1], self._length if numbers.size else 0),
        )
        self._organisms.check_organisms(self._source)
        columns["task_names"] = self._organisms.names
        if self._organism is not None:
            columns["task_names"] = (self._organism,)
        if "names" not in columns:
            all_rows = numbers.size == self._n_rows
            columns["locator"] = partial(row_names, self._length, None if all_rows else numbers)
        if self._has_site:
            columns["site"] = self._base if self._first_site is None else self._first_site[0]
        return Windows(
            pad_codes(codes, lengths, self._length, f"{self._source}:{self._longest[1]}"),
            np.arange(numbers.size, dtype=np.int64) * self._length,
            self._length,
            split_names=self._splits.names,
            is_padded=bool((lengths != self._length).any()),
            **columns,
        )

    def log(self) -> None:
        """Log what was read of a table, once if it is read twice."""
        if self._is_fasta:
            return
        shortest, longest = self._sizes
        notes = [
            f"{self._source}: kept {self._n_kept} of {self._n_rows} rows, "
            f"{'at most ' if shortest < longest else ''}{longest} bases each"
        ]
        if self._organism == UNNAMED:
            notes.insert(0, f"{self._source} has no column organism: all rows are of one")
        for note in notes:
            if is_first_time(note):
                logger.info(note)

    def _window_columns(self, rows: Columns) -> tuple[dict[str, NDArray[Any]], bytes]:
        """Check a block of rows; return the columns and codes of those of the requested split."""
        letters, lengths = self._letters(rows)
        used = self._lengths_of_windows(lengths)
        first_bases = self._first_bases(rows, lengths, used)
        numbers = np.arange(self._n_rows, self._n_rows + len(rows), dtype=np.int32)
        self._n_rows += len(rows)
        columns: dict[str, NDArray[Any]] = {"numbers": numbers, "lengths": used}
        if "label" in self._columns:
            columns["labels"] = self._labels.signs(rows, self._columns["label"])
        chosen = np.ones(len(rows), dtype=np.bool_)
        if "split" in self._columns:
            splits = columns["splits"] = self._splits.numbers(rows)
            names = np.array(self._splits.names)
            for number, n in enumerate(np.bincount(splits).tolist()):
                self._split_counts[names[number]] += n
            if self._split is not None:
                chosen = names[splits] == self._split
        if "name" in self._columns:
            columns["names"] = np.array(rows.texts(self._columns["name"]), dtype=object)
        columns = {name: column[chosen] for name, column in columns.items()}
        if self._organism is None and chosen.any():
            columns["task_ids"] = self._organisms.numbers(rows.take(chosen))
        if chosen.all() and not first_bases.any() and (lengths == used).all():
            return columns, letters
        begins = np.cumsum(lengths) - lengths
        spans = np.column_stack([begins, begins + lengths, first_bases, used])[chosen].tolist()
        pieces = (_cut(letters[begin:end], first, n) for begin, end, first, n in spans)
        return columns, b"".join(pieces)

    def _lengths_of_windows(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many bases of each sequence, or N around it, a window has before padding."""
        if not self._pad:
            return np.full_like(lengths, self._length)
        return lengths if self._window is None else np.minimum(lengths, self._window)

    def _letters(self, rows: Columns) -> tuple[bytes, NDArray[np.int64]]:
        """Return the codes of all sequences, one after the other, and their lengths."""
        sequences = rows.texts(self._columns["sequence"])
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        codes = "".join(sequences).encode()
        if not self._is_fasta:  # of which they are codes
            codes = codes.translate(CHECKED_CODES)
            _check_letters(rows, sequences, codes)
        if self._first_length is None:
            self._set_length(rows.row(0), len(sequences[0]))
        if lengths.max() > self._longest[0]:
            self._longest = int(lengths.max()), rows.row(int(lengths.argmax())).line
        for row_number in np.flatnonzero(self._is_odd(lengths))[:1].tolist():
            self._refuse_length(rows.row(row_number), int(lengths[row_number]))
        return codes, lengths

    def _set_length(self, first: Row, length: int) -> None:
        """Decide by the first row whether whole sequences are read, and of which length."""
        self._first_length = length, first.line
        if self._base is not None and not self._has_site and length < self._length:
            self._window = None  # all are shorter than the model's windows
        if self._window is None:
            self._length = length

    def _is_odd(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which sequences have a length from which no window can be cut."""
        if self._pad or (self._base is not None and self._has_site):
            return lengths == 0
        if self._window is not None:
            return lengths < self._window
        return (lengths != self._length) | (lengths == 0)

    def _refuse_length(self, row: Row, length: int) -> NoReturn:
        if length == 0:
            row.refuse("sequence must not be empty; fill the field")
        if self._window is not None:
            whose, remedy = "window's", "choose a smaller window or leave the row out"
            if self._base is not None:
                whose, remedy = "model's", "add a column site, or site= to headers of FASTA"
            row.refuse(
                f"a sequence must have at least the {whose} {self._window} bases, got {length}; "
                f"{remedy}"
            )
        expected, line = self._first_length or (0, 0)
        row.refuse(
            f"sequences must have equal lengths, got {length} bases here and {expected} on line "
            f"{line}; {one_length(min(length, expected))}"
        )

    def _first_bases(
        self, rows: Columns, lengths: NDArray[np.int64], used: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the first base of each sequence to keep; negative if N is added before it."""
        centred = (lengths - used) // 2
        if not self._has_site:
            return centred
        sites = np.full(len(rows), self._site)
        if self._site is None:
            sites = rows.integers(self._columns["site"], "site (its first base, 0-based)")
        for number in np.flatnonzero(sites >= lengths)[:1].tolist():
            rows.row(number).refuse(
                f"site must be a base of the sequence, 0 to {lengths[number] - 1}, got "
                f"{sites[number]}; correct it"
            )
        if self._base is not None:
            return sites - self._base
        bases = sites - centred
        if self._first_site is None:
            self._first_site = int(bases[0]), rows.row(0).line
        base, line = self._first_site
        is_bad = (bases != base) | (bases < 0) | (bases >= used)
        for number in np.flatnonzero(is_bad)[:1].tolist():
            rule = f"at base {base} as on line {line}"
            if bases[number] == base:
                rule = "inside the window"
            rows.row(number).refuse(
                f"the site must be {rule}, got base {bases[number]} of the {used[number]} bases "
                "kept; cut the sequences to the same length around it, or take another window"
            )
        return centred

    def _refuse_empty(self) -> None:
        """Refuse a table without windows; there may be none after the last part."""
        if not self._n_rows:
            raise InputFormatError(
                "the table must have rows, but it has only a header; check how it was written",
                path=self._source,
            )
        if self._split_counts and self._split and not self._split_counts[self._split]:
            refuse_split(self._split, self._split_counts, self._source)


def _check_letters(rows: Columns, sequences: list[str], codes: bytes) -> None:
    """Refuse sequences that are missing or have other letters, given the codes of all."""
    if not MISSING.isdisjoint(map(str.lower, sequences)):
        for row, sequence in zip(rows, sequences, strict=True):
            if sequence.lower() in MISSING:
                row.refuse(
                    f"sequence must not be missing, got {sequence!r}; fill the field, or leave the "
                    "row out"
                )
    if INVALID in codes:
        for row, sequence in zip(rows, sequences, strict=True):
            for number, letter in enumerate(sequence, 1):
                if CHECKED_CODES[min(ord(letter), 255)] == INVALID:
                    row.refuse(
                        f"sequence must be of IUPAC nucleotide letters, got {letter!r} at letter "
                        f"{number}; {letter_remedy(sequence.encode())}"
                    )


def _cut(sequence: bytes, start: int, length: int) -> bytes:
    """Return `length` codes from base `start`, with N for those outside the sequence."""
    inner = sequence[max(start, 0) : max(start + length, 0)]
    if len(inner) == length:
        return inner
    return (bytes([OTHER] * -start) + inner).ljust(length, bytes([OTHER]))


def one_length(shortest: int) -> str:
    """Return what to do with sequences of different lengths."""
    return (
        f"give a window (at most {shortest}) to take the centre of each, or features that need no "
        "positions, such as gapped:8/6"
    )
