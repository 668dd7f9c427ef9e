"""Weights in a model file: all rows, the nonzero rows, or compressed columns of many tasks.

Rows of float32 that 16 bits hold are stored with these, compressed by zlib (``W16z``), and read as
float32; this saves most where they are multiples of one step.

A file of many tasks has the virtual weights V_g of all groups, column by column, each compressed by
zlib; columns of small clades are sparse and take little space. What one task needs is decompressed
when it is used, and checked then: the columns are not part of the checksum of the file.

=========  =====================================================================================
columns    uint8; all columns, compressed
ends       int64, one per column: where it ends
checks     int64, one per column: its CRC-32
kernels    float64; K_g of all groups, for each view
widths     int64, one per group: its columns
group      int64, (T, L); this and the next two as in :mod:`seqmtl.core.grouped_kernel`
column     int64, (T, L)
scale      float64, (T, L)
=========  =====================================================================================
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.weights import TaskWeights
from seqmtl.exceptions import ModelFileError

if TYPE_CHECKING:
    from seqmtl.files.model_file import Forms

_SPARSE_BELOW = 0.5  # store nonzero rows only if their share is below this
_SLAB = 1 << 16  # rows
_SOME = 1 << 12  # rows from which the step of all is seen
_LEVEL = 1  # of compression; higher ones take much longer and save little
_HIGHER = 4  # of rounded weights; 5 takes twice as long to save 2 %, the highest far longer
_STEPS = 2.0 ** -np.arange(3, 9)  # of rounded weights, the largest first
_MOST = 256  # times that weights are compressed at most; those of starters are 7 times


def pack_weights(weights: TaskWeights) -> dict[str, NDArray[Any]]:
    """Return weights as arrays of a model file."""
    if weights.groups.is_single:
        W = weights.tables[0]
        is_used = np.zeros(W.shape[0], dtype=bool)
        for column in W.T:  # np.any is slow on rows this narrow
            is_used |= column != 0
        if is_used.sum() >= _SPARSE_BELOW * W.shape[0]:
            return _by_name(W)
        return {"rows": np.flatnonzero(is_used).astype(np.int32), **_by_name(W[is_used])}
    parts, checks = [], []
    for table in weights.tables:
        for column in table.T:
            packed = zlib.compress(np.ascontiguousarray(column).tobytes(), _LEVEL)
            parts.append(packed)
            checks.append(zlib.crc32(packed))
    groups = weights.groups
    return {
        "columns": np.frombuffer(b"".join(parts), dtype=np.uint8),
        "ends": np.cumsum([len(packed) for packed in parts], dtype=np.int64),
        "checks": np.array(checks, dtype=np.int64),
        "kernels": groups.flat_kernels()[0],
        "widths": groups.widths,
        "group": groups.group,
        "column": groups.column,
        "scale": groups.scale,
    }


def round_weights(W: NDArray[Any], step: float = 0.0) -> NDArray[Any]:
    """Return weights that 16 bits hold, of the same type; a file of them has half the size.

    Parameters
    ----------
    W : ndarray
        Weights.
    step : float, default 0
        If above 0, a power of 2 that the weights become multiples of; a file of them has a tenth of
        the size, or even less.
    """
    W = np.round(W / step) * step if step else W
    with np.errstate(over="ignore"):  # to infinity, which no weight is
        return W.astype(np.float16).astype(W.dtype)


def step_of(weights: TaskWeights) -> float:
    """Return the power of 2 that some rows of W are multiples of, or 0 for other weights."""
    if not weights.groups.is_single:
        return 0.0
    W = weights.tables[0]
    some = W[:: max(1, W.shape[0] // _SOME)].astype(np.float64)
    return next((step for step in _STEPS.tolist() if not np.mod(some, step).any()), 0.0)


def _by_name(W: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the array of all weights, with 16 bits if these hold them."""
    slabs = (W[first : first + _SLAB] for first in range(0, W.shape[0], _SLAB))
    if W.dtype == np.float32 and all(np.array_equal(slab, round_weights(slab)) for slab in slabs):
        packed = zlib.compress(W.astype("<f2").tobytes(), _HIGHER)
        return {"W16z": np.frombuffer(packed, dtype=np.uint8)}
    return {"W": W}


def forms_of_weights(arrays: Mapping[str, Any], T: int, n: int, dtype: str) -> Forms:
    """Return types and shapes of the arrays, for n features of T tasks."""
    of_tasks = (T, None)
    if "columns" not in arrays:
        rows: Forms = {"rows": ("int32", (None,))} if "rows" in arrays else {}
        shape = (len(arrays["rows"]) if rows else n, T)
        if dtype == "float32" and "W16z" in arrays:
            return rows | {"W16z": ("uint8", (None,))}
        return rows | {"W": (dtype, shape)}
    return {
        "columns": ("uint8", (None,)),
        "ends": ("int64", (None,)),
        "checks": ("int64", (None,)),
        "kernels": ("float64", (None,)),
        "widths": ("int64", (None,)),
        "group": ("int64", of_tasks),
        "column": ("int64", of_tasks),
        "scale": ("float64", of_tasks),
    }


def unpack_weights(
    arrays: Mapping[str, NDArray[Any]], views: Sequence[slice], T: int, dtype: Any
) -> TaskWeights:
    """Return the weights of a model file of T tasks; columns are read when they are used.

    Raises
    ------
    ValueError
        If arrays contradict each other.
    MemoryLimitError
        If nonzero rows do not fit into memory with the others.
    """
    if "columns" in arrays:
        return _of_columns(arrays, views, dtype)
    W = arrays.get("W")
    if W is None:
        n_rows = len(arrays["rows"]) if "rows" in arrays else views[-1].stop
        W = _decompressed(arrays["W16z"], (n_rows, T)).astype(dtype)
    if "rows" not in arrays:
        return TaskWeights.of(W, views)
    rows, n = arrays["rows"], views[-1].stop
    if (np.diff(rows, prepend=-1) <= 0).any() or (rows.size and rows[-1] >= n):
        raise ValueError(f"array rows must hold rising numbers below {n}")
    require_memory(
        n * W.shape[1] * W.dtype.itemsize,
        f"weights of {n:,} features for {W.shape[1]} tasks",
        "use a machine with more memory",
    )
    spread = np.zeros((n, W.shape[1]), dtype=W.dtype)
    spread[rows] = W
    return TaskWeights.of(spread, views)


def _decompressed(packed: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.float16]:
    """Return weights of 16 bits that were compressed."""
    size = 2 * shape[0] * shape[1]
    what = f"weights of {shape[0]:,} features for {shape[1]} tasks"
    raw = b""
    if size <= _MOST * packed.size:
        require_memory(4.0 * size, what, "use a machine with more memory")
        with suppress(zlib.error):
            raw = zlib.decompressobj().decompress(packed.tobytes(), size + 1)
    if len(raw) != size:
        raise ValueError(f"array W16z must hold the {what}")
    weights = np.frombuffer(raw, dtype="<f2").reshape(shape)
    if not np.isfinite(weights).all():
        raise ValueError("array W16z must hold finite numbers")
    return weights


def _of_columns(
    arrays: Mapping[str, NDArray[Any]], views: Sequence[slice], dtype: Any
) -> TaskWeights:
    names = ("ends", "checks", "kernels", "widths", "group", "column", "scale")
    ends, checks, kernels, widths, group, column, scale = (np.array(arrays[n]) for n in names)
    sizes = len(views) * widths.astype(float) ** 2
    is_right = (
        (widths > 0).all()
        and 0 < sizes.sum() == kernels.size
        and ends.size == checks.size == widths.sum()
        and np.diff(ends, prepend=0).min() > 0
        and ends[-1] == arrays["columns"].size
        and group.shape == column.shape == scale.shape
        and group.min(initial=0) >= -1
        and group.max(initial=-1) < widths.size
        and (column >= 0).all()
        and (column < np.where(group >= 0, widths[group], column + 1)).all()
    )
    if not is_right:
        raise ValueError("arrays of the columns must belong together")
    parts = np.split(kernels, np.cumsum(sizes)[:-1].astype(np.int64))
    shapes = [(len(views), w, w) for w in widths.tolist()]
    packed = tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    tables = _Columns(arrays["columns"], ends, checks, widths, (views[-1].stop, np.dtype(dtype)))
    return TaskWeights(tables, GroupedKernel(packed, group, column, scale), views, dtype)


class _Columns(Sequence[NDArray[Any]]):
    """The tables of a model file, decompressed when they are used."""

    def __init__(
        self,
        data: NDArray[Any],
        ends: NDArray[np.int64],
        checks: NDArray[np.int64],
        widths: NDArray[np.int64],
        form: tuple[int, np.dtype[Any]],
    ) -> None:
        self._data, self._checks, self._form = data, checks, form
        self._begins = np.append(0, ends)
        self._first = np.append(0, np.cumsum(widths))

    def __len__(self) -> int:
        return self._first.size - 1

    def __getitem__(self, g: Any) -> Any:
        """Return V_g, shape (n_features, w)."""
        columns = range(int(self._first[g]), int(self._first[g + 1]))
        n_bytes = float(self._form[0] * len(columns) * self._form[1].itemsize)
        what = f"weights of {self._form[0]:,} features for {len(columns)} tasks"
        require_memory(n_bytes, what, "use a machine with more memory")
        table = np.empty((self._form[0], len(columns)), dtype=self._form[1])
        for at, c in enumerate(columns):
            table[:, at] = self._read(c)
        return table

    def _read(self, c: int) -> NDArray[Any]:
        raw = self._data[self._begins[c] : self._begins[c + 1]].tobytes()
        n, dtype = self._form
        try:
            if zlib.crc32(raw) != self._checks[c]:
                raise ValueError("its weights do not match their checksum; copy it again")
            values = np.frombuffer(zlib.decompressobj().decompress(raw, n * dtype.itemsize), dtype)
            if values.size != n or not np.isfinite(values).all():
                raise ValueError(f"every column must have {n:,} finite weights; train again")
        except (ValueError, zlib.error) as error:
            path = getattr(self._data, "filename", None)
            raise ModelFileError(f"is damaged: {error}", path=path) from error
        return values
