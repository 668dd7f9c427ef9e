"""NumPy archives (.npz) as features, labels and tasks."""

from __future__ import annotations

import functools
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.exceptions import InputFormatError
from seqmtl.io._table_columns import Cells, Places, Roles, TableFile, check_distinct, refuse_missing

_DAMAGED = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    RuntimeError,  # also NotImplementedError: encrypted, or an unknown compression
    zipfile.BadZipFile,
    zlib.error,
    MemoryError,  # the shape is larger than the data
)


class Archive(TableFile):
    """The arrays of an open archive, each read on demand; no code in it is executed.

    Raises
    ------
    InputFormatError
        If the archive is damaged, or an array is missing, holds objects, or has a wrong shape.
    """

    aliases: Mapping[str | None, str] = {
        "label": "y",
        "task": "tasks",
        "id": "names",
        "split": "splits",
    }
    rule, feature_rule = "the archive must have the array", "X must have the column"

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
        self.names = self.arrays.files
        members: Any = self.arrays.zip.infolist()  # type: ignore[union-attr]
        self._sizes = {own.filename.removesuffix(".npy"): own.file_size for own in members}

    def is_number(self, column: int) -> bool:
        """Tell whether an array holds numbers."""
        return self._array(self.names[column]).dtype.kind != "U"

    def features(self, taken: set[int | None]) -> dict[str, int]:
        """Return names and indices of the columns of X; x0, x1, ... if it names none."""
        d = self._matrix.shape[1]
        if "feature_names" not in self.names:
            return {f"x{j}": j for j in range(d)}
        names = self._of_length("feature_names", d, "column of X").astype(str).tolist()
        check_distinct(names, self.source)
        return {name: j for j, name in enumerate(names)}

    def read(self, roles: Roles) -> Cells:
        """Return the values of the arrays with a role."""
        if roles.sequence is not None:
            examples: NDArray[Any] = self._sequences(self.names[roles.sequence])
        elif roles.features == tuple(range(self._matrix.shape[1])):
            examples = self._matrix
        else:
            examples = self._matrix[:, roles.features]
        n = len(examples)
        return Cells(
            examples=examples,
            labels=self._vector(roles.label, n),
            tasks=self._tasks(roles.task, n),
            names=_as_text(self._vector(roles.name, n)),
            splits=_as_text(self._vector(roles.split, n)),
        )

    @functools.cached_property
    def _matrix(self) -> NDArray[np.float64]:
        """Feature matrix X, shape (n, d)."""
        array = self._array("X")
        if array.dtype.kind == "U":
            self._refuse("X", "hold numbers", "text", "say which array holds sequences")
        if array.ndim != 2 or not array.shape[1]:
            remedy = "put one example in each row and one feature in each column"
            self._refuse("X", "have the shape (n, d)", str(array.shape), remedy)
        return np.ascontiguousarray(array, dtype=np.float64)

    def _array(self, name: str) -> NDArray[Any]:
        """Return an array of numbers or text."""
        if name not in self.names:
            refuse_missing(self.rule, name, self.names, self)
        size = self._sizes[name]
        require_memory(
            2.0 * size, f"{self.source}: array {name!r} of {size:,} bytes", "split the file"
        )
        try:
            array = self.arrays[name]
            if not isinstance(array, np.ndarray):
                raise ValueError("it is not an array")
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

    def _sequences(self, name: str) -> NDArray[np.str_]:
        """Return an array of text, shape (n,)."""
        array = self._array(name)
        if array.dtype.kind != "U" or array.ndim != 1:
            got = f"the dtype {array.dtype} and the shape {array.shape}"
            self._refuse(name, "hold one text for each example", got)
        return array

    def _vector(self, column: int | None, n: int) -> NDArray[Any] | None:
        """Return an array with one value per example, or None if there is none."""
        return None if column is None else self._of_length(self.names[column], n, "example")

    def _tasks(self, column: int | None, n: int) -> NDArray[Any] | None:
        """Return the task of each example, by name if ``task_names`` has one."""
        if column is None:
            return None
        name, named = self.names[column], "task_names"
        tasks = self._of_length(name, n, "example")
        if named not in self.names or tasks.dtype.kind not in "iu":
            return tasks
        names = self._array(named)
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
        array = self._array(name)
        if array.shape != (n,):
            remedy = f"give one value for each {what}"
            self._refuse(name, f"have the shape ({n},)", str(array.shape), remedy)
        return array

    def _refuse(self, name: str, rule: str, got: str, remedy: str = "write it so") -> NoReturn:
        raise InputFormatError(f"array {name!r} must {rule}, got {got}; {remedy}", path=self.source)


def _as_text(array: NDArray[Any] | None) -> NDArray[np.str_] | None:
    return None if array is None else array.astype(str)
