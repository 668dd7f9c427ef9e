"""Names of windows that are derived from their location instead of stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Locator(Protocol):
    """Names windows of one encoded buffer."""

    def window_names(
        self, starts: NDArray[np.int64], length: int, is_reverse: NDArray[np.bool_]
    ) -> list[str]:
        """Return a name for each window.

        Parameters
        ----------
        starts : ndarray of int64, shape (n,)
            0-based starts in the buffer.
        length : int
            Window length in bases.
        is_reverse : ndarray of bool, shape (n,)
            Windows on the minus strand.
        """
        ...


@dataclass(frozen=True, eq=False)
class RowNames:
    """Name the windows of a table by their row, also after slicing or cutting.

    Parameters
    ----------
    stride : int
        Bases per row in the buffer.
    rows : ndarray of int32, optional
        Number of each row in the file, if not all rows were kept.
    """

    stride: int
    rows: NDArray[np.int32] | None = None

    def window_names(
        self, starts: NDArray[np.int64], length: int, is_reverse: NDArray[np.bool_]
    ) -> list[str]:
        """Return the 0-based row numbers as text, see :class:`Locator`."""
        rows = starts // self.stride
        return [str(row) for row in (rows if self.rows is None else self.rows[rows]).tolist()]


@dataclass(frozen=True, eq=False)
class JoinedLocator:
    """Locators of concatenated buffers.

    Parameters
    ----------
    begins : ndarray of int64
        Start of each buffer in the joined one, increasing from 0.
    parts : sequence of Locator
        One per buffer.
    """

    begins: NDArray[np.int64]
    parts: Sequence[Locator]

    def window_names(
        self, starts: NDArray[np.int64], length: int, is_reverse: NDArray[np.bool_]
    ) -> list[str]:
        """Delegate to the locator of each window's buffer, see :class:`Locator`."""
        names: NDArray[Any] = np.empty(starts.size, dtype=object)
        part_of = np.searchsorted(self.begins, starts, side="right") - 1
        for number, part in enumerate(self.parts):
            mine = np.flatnonzero(part_of == number)
            if mine.size:
                names[mine] = part.window_names(
                    starts[mine] - self.begins[number], length, is_reverse[mine]
                )
        return list(names)
