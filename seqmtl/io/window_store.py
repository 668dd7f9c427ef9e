"""Labelled windows on disk, in parts of which each fits into memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._schema import items, whole, word
from seqmtl.exceptions import InputFormatError
from seqmtl.files.model_file import Forms, check_arrays, read_arrays, write_arrays
from seqmtl.files.write import make_folder
from seqmtl.sequences import Windows, concatenate

#: Windows of a part, at most.
PART = 1 << 20

_COLUMNS = {
    "codes": "uint8",
    "starts": "int64",
    "is_reverse": "uint8",
    "labels": "int32",
    "task_ids": "int32",
}


class StoredPart(NamedTuple):
    """Consecutive windows of a store, in a file.

    Attributes
    ----------
    path : str
        The file.
    first, n : int
        Number of its first window in the store, and the number of its windows.
    length : int
        Window length in bases.
    task_names : tuple of str
        Organisms of the store.
    site : int or None
        First base of the site in every window (0-based); None if unknown.
    """

    path: Annotated[str, word]
    first: int
    n: Annotated[int, whole(1)]
    length: Annotated[int, whole(1)]
    task_names: Annotated[tuple[str, ...], items(word, 1, distinct=True)]
    site: int | None

    def load(self) -> Windows:
        """Read the windows.

        Raises
        ------
        SeqmtlError
            If the file cannot be read.
        """
        forms: Forms = {name: (dtype, (self.n,)) for name, dtype in _COLUMNS.items()}
        try:
            columns: dict[str, Any] = read_arrays(self.path)[1]
            check_arrays(columns, {**forms, "codes": ("uint8", (None,))})
            names, site = self.task_names, self.site
            return Windows(length=self.length, task_names=names, site=site, **columns)
        except ValueError as error:  # also a ModelFileError
            raise InputFormatError(
                f"cannot read stored windows ({error}); train again without --resume", self.path
            ) from error


class WindowStore:
    """Windows on disk, indexed like :class:`~seqmtl.sequences.Windows`.

    Parameters
    ----------
    parts : sequence of StoredPart
        In order.
    labels : ndarray of int8, shape (n,)
        +1 or -1.
    task_ids : ndarray of int16, shape (n,)
        Index into `task_names`.
    """

    def __init__(
        self, parts: Iterable[StoredPart], labels: NDArray[np.int8], task_ids: NDArray[np.int16]
    ) -> None:
        self.parts = tuple(parts)
        self.labels = labels
        self.task_ids = task_ids
        self.task_names = self.parts[0].task_names
        self.shape = labels.size, self.parts[0].length
        sites = {part.site for part in self.parts}
        self.site = self.parts[0].site if len(sites) == 1 else None

    @classmethod
    def of(cls, parts: Sequence[StoredPart]) -> WindowStore:
        """Return a store that has been written before."""
        loaded = [part.load() for part in parts]
        labels = np.concatenate([windows.labels for windows in loaded])
        return cls(parts, labels, np.concatenate([windows.task_ids for windows in loaded]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[np.int64]) -> Windows:
        """Read the windows of these numbers, in their order."""
        rows = np.asarray(rows)
        order = np.argsort(rows, kind="stable")
        bounds = np.searchsorted(rows[order], [part.first for part in self.parts] + [len(self)])
        parts = [
            compact(part.load()[rows[order[begin:end]] - part.first])
            for part, (begin, end) in zip(self.parts, pairwise(bounds), strict=True)
            if begin < end
        ]
        return concatenate(parts)[np.argsort(order)]


def store_windows(batches: Iterable[Windows], folder: str) -> WindowStore:
    """Write windows to a folder, which is made.

    Parameters
    ----------
    batches : iterable of Windows
        Labelled windows of one length. Organisms are numbered in order of appearance.
    folder : str
        A new folder.

    Raises
    ------
    ValueError
        If there are no windows.
    """
    make_folder(folder)
    parts: list[StoredPart] = []
    names: dict[str, int] = {}
    labels = []
    task_ids = []
    n = 0
    for windows in _pieces(batches):
        used, first = np.unique(windows.task_ids, return_index=True)
        for t in used[np.argsort(first)].tolist():
            names.setdefault(windows.task_names[t], len(names))
        number = [names.get(name, -1) for name in windows.task_names]
        windows.task_ids = np.array(number, dtype=np.int16)[windows.task_ids]
        path = os.path.join(folder, f"{len(parts):05}.windows")
        part = StoredPart(path, n, len(windows), windows.length, (), windows.site)
        columns = {name: getattr(windows, name).astype(dtype) for name, dtype in _COLUMNS.items()}
        write_arrays(part.path, {}, columns)
        parts.append(part)
        labels.append(windows.labels)
        task_ids.append(windows.task_ids)
        n += len(windows)
    if not parts:
        raise ValueError("training needs windows, got none; check the split and files")
    named = (part._replace(task_names=tuple(names)) for part in parts)
    return WindowStore(named, np.concatenate(labels), np.concatenate(task_ids))


def _pieces(batches: Iterable[Windows]) -> Iterator[Windows]:
    for windows in batches:
        for first in range(0, len(windows), PART):
            yield compact(windows[first : first + PART])


def compact(windows: Windows) -> Windows:
    """Return windows with a buffer of their own that has little else; no names, splits."""
    codes = windows.codes
    starts = windows.starts
    L = windows.length
    if len(windows):
        begin, end = int(starts.min()), int(starts.max()) + L
        if end - begin <= len(windows) * L:
            codes = codes[begin:end].copy()
            starts = starts - begin
        else:
            codes = np.lib.stride_tricks.sliding_window_view(codes, L)[starts].reshape(-1)
            starts = np.arange(len(windows), dtype=np.int64) * L
    return Windows(
        codes,
        starts,
        L,
        is_reverse=windows.is_reverse,
        labels=windows.labels,
        task_ids=windows.task_ids,
        task_names=windows.task_names,
        site=windows.site,
    )
