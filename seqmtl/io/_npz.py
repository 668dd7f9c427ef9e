"""NumPy archives (.npz) as features, labels and tasks."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import PathLike, open_seekable, source_name
from seqmtl.io._table_columns import (
    LABEL_COLUMN,
    NAME_COLUMNS,
    SPLIT_COLUMN,
    TASK_COLUMN,
    Columns,
    Places,
    Wanted,
    check_distinct,
    log_left_out,
    refuse_missing,
)

_DAMAGED = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    RuntimeError,  # also NotImplementedError: encrypted, or an unknown compression
    zipfile.BadZipFile,
    zlib.error,
)


def read_npz(path: PathLike, wanted: Wanted) -> Columns:
    """Read the arrays ``X``, ``y``, ``task`` and what names them; nothing in a file is executed.

    Raises
    ------
    InputFormatError
        If the archive is damaged, or an array is missing, of objects, or of another shape.
    """
    with open_seekable(path) as stream:
        archive = _Archive(stream, source_name(path))
        if wanted.sequence is None:
            examples: NDArray[Any] = archive.matrix("X")
            feature_names = archive.feature_names(examples.shape[1])
            if wanted.features is not None:
                examples = examples[:, archive.places_of(wanted.features, feature_names)]
                feature_names = wanted.features
        else:
            examples = archive.sequences(wanted.sequence)
            feature_names = (wanted.sequence,)
        n = len(examples)
        label_name = archive.find(wanted.label, "y" if wanted.label == LABEL_COLUMN else None)
        if label_name is None and wanted.require_labels:
            archive.refuse_missing("y" if wanted.label == LABEL_COLUMN else wanted.label)
        task_name = archive.find(wanted.task, "tasks" if wanted.task == TASK_COLUMN else None)
        if task_name is None and wanted.task != TASK_COLUMN:
            archive.refuse_missing(wanted.task)
        splits = archive.vector(archive.find(SPLIT_COLUMN, "splits"), n)
        return Columns(
            places=archive.places,
            examples=examples,
            feature_names=feature_names,
            labels=archive.vector(label_name, n),
            tasks=archive.tasks(task_name, n),
            label_name=label_name or wanted.label,
            task_name=task_name or wanted.task,
            names=_as_text(archive.vector(archive.find(*NAME_COLUMNS, "names"), n)),
            splits=splits if splits is not None and splits.dtype.kind == "U" else None,
        )


class _Archive:
    """The arrays of an open archive, each read when it is asked for."""

    def __init__(self, stream: IO[bytes], source: str) -> None:
        self.source, self.places = source, Places(source, what="array")
        try:
            self.arrays = np.load(stream, allow_pickle=False)
            if not isinstance(self.arrays, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array, not an archive of named arrays")
        except _DAMAGED as error:
            raise InputFormatError(
                f"the file must be an archive of numpy.savez, but it cannot be read ({error}); "
                "fetch or write it again",
                path=source,
            ) from error

    def find(self, *names: str | None) -> str | None:
        """Return the first of these names that the archive has."""
        return next((name for name in names if name in self.arrays.files), None)

    def refuse_missing(self, name: str) -> NoReturn:
        """Raise the error of an array that is not there."""
        refuse_missing("the archive must have the array", name, self.arrays.files, self.source)

    def read(self, name: str) -> NDArray[Any]:
        """Return an array of numbers or of text."""
        if name not in self.arrays.files:
            self.refuse_missing(name)
        try:
            array = self.arrays[name]
            if not isinstance(array, np.ndarray):
                raise ValueError("it is no array")
        except _DAMAGED as error:
            problem = "it holds Python objects" if "allow_pickle" in str(error) else str(error)
            raise InputFormatError(
                f"array {name!r} must hold plain numbers or text, but it cannot be read "
                f"({problem}); write it again with such a dtype",
                path=self.source,
            ) from error
        if array.dtype.kind == "S":
            array = np.char.decode(array, "utf-8", "backslashreplace")
        if array.dtype.kind not in "biufU":
            self._refuse(name, "hold plain numbers or text", f"the dtype {array.dtype}")
        return array if array.dtype.kind != "U" else np.char.strip(array)

    def matrix(self, name: str) -> NDArray[np.float64]:
        """Return a table of numbers, shape (n, d)."""
        array = self.read(name)
        if array.dtype.kind == "U":
            self._refuse(name, "hold numbers", "text", "say which array holds sequences")
        if array.ndim != 2 or not array.shape[1]:
            remedy = "put one example in each row and one feature in each column"
            self._refuse(name, "have the shape (n, d)", str(array.shape), remedy)
        return np.ascontiguousarray(array, dtype=np.float64)

    def sequences(self, name: str) -> NDArray[np.str_]:
        """Return an array of text, shape (n,)."""
        array = self.read(name)
        if array.dtype.kind != "U" or array.ndim != 1:
            got = f"the dtype {array.dtype} and the shape {array.shape}"
            self._refuse(name, "hold one text for each example", got)
        return array

    def vector(self, name: str | None, n: int) -> NDArray[Any] | None:
        """Return an array of one value for each example; None where there is none."""
        return None if name is None else self._of_length(name, n, "example")

    def feature_names(self, d: int) -> tuple[str, ...]:
        """Return the names of the columns of X; x0, x1, ... where the archive has none."""
        name = self.find("feature_names")
        if name is None:
            return tuple(f"x{j}" for j in range(d))
        names = tuple(map(str, self._of_length(name, d, "column of X").tolist()))
        check_distinct(names, self.source)
        return names

    def places_of(self, wanted: Sequence[str], names: Sequence[str]) -> list[int]:
        """Return the columns of X with the wanted names."""
        place = {name: j for j, name in enumerate(names)}
        for name in wanted:
            if name not in place:
                refuse_missing("X must have the column", name, names, self.source)
        left_out = [name for name in names if name not in set(wanted)]
        if left_out:
            log_left_out(left_out, self.source)
        return [place[name] for name in wanted]

    def tasks(self, name: str | None, n: int) -> NDArray[Any] | None:
        """Return the task of each example, by its name where ``task_names`` has one."""
        tasks = self.vector(name, n)
        named = self.find(TASK_COLUMN + "_names")
        if tasks is None or named is None or tasks.dtype.kind not in "iu":
            return tasks
        names = self.read(named)
        if names.ndim != 1 or names.dtype.kind != "U":
            got = f"the dtype {names.dtype} and the shape {names.shape}"
            self._refuse(named, "hold one text for each task", got)
        strays = np.flatnonzero((tasks < 0) | (tasks >= names.size))
        if strays.size:
            self.places.refuse(
                int(strays[0]),
                f"array {name!r} must hold numbers from 0 to {names.size - 1}, as {named!r} has "
                f"{names.size} names",
                tasks[strays[0]],
                "correct the number or add the name",
            )
        return names[tasks]

    def _of_length(self, name: str, n: int, what: str) -> NDArray[Any]:
        array = self.read(name)
        if array.shape != (n,):
            remedy = f"give one value for each {what}"
            self._refuse(name, f"have the shape ({n},)", str(array.shape), remedy)
        return array

    def _refuse(self, name: str, rule: str, got: str, remedy: str = "write it so") -> NoReturn:
        raise InputFormatError(f"array {name!r} must {rule}, got {got}; {remedy}", path=self.source)


def _as_text(array: NDArray[Any] | None) -> NDArray[np.str_] | None:
    return None if array is None else array.astype(str)
