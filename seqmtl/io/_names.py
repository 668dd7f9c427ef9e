"""Number the names of a column across all blocks of a file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import readable
from seqmtl.io._fields import Fields

_MOST_NAMES = int(np.iinfo(np.int16).max)


class NameTable:
    """Names of a column, numbered in order of appearance across all blocks.

    Parameters
    ----------
    what : str
        What the names stand for, in messages.
    most : int
        Maximum number of distinct names.
    """

    def __init__(self, what: str, most: int = _MOST_NAMES) -> None:
        self.what, self.most = what, most
        self.names: list[str] = []
        self._sorted = np.empty(0, dtype="S1")
        self._ids = np.empty(0, dtype=np.int64)

    def encode(self, fields: Fields, column: int) -> NDArray[np.int64]:
        """Return the number of the name in each row, shape (n_rows,).

        Raises
        ------
        InputFormatError
            If a name is empty or longer than 255 bytes, or there are too many names.
        """
        values = fields.bytes_of(column, self.what)
        ids, is_known = self._look_up(values)
        if not is_known.all():
            self._learn(fields, values, np.flatnonzero(~is_known))
            ids, _ = self._look_up(values)
        return ids

    def number(self, name: str) -> int:
        """Return the number of a name, or -1 if it is unknown."""
        return self.names.index(name) if name in self.names else -1

    def _look_up(self, values: NDArray[np.bytes_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        if not self._ids.size:
            return np.zeros(values.size, np.int64), np.zeros(values.size, np.bool_)
        places = np.minimum(np.searchsorted(self._sorted, values), self._ids.size - 1)
        return self._ids[places], self._sorted[places] == values

    def _learn(self, fields: Fields, values: NDArray[np.bytes_], rows: NDArray[np.int64]) -> None:
        new, first = np.unique(values[rows], return_index=True)
        new = new[np.argsort(first)]
        if (new == b"").any():
            row = int(np.flatnonzero(values == b"")[0])
            fields.refuse(row, f"{self.what} must not be empty; fill the field")
        known = np.concatenate([self._sorted, new])
        ids = np.concatenate([self._ids, len(self.names) + np.arange(new.size)])
        if ids.size > self.most:
            raise InputFormatError(
                f"there must be at most {self.most:,} different values of {self.what}; "
                "check that it is the right column",
                path=fields.source,
            )
        self.names += [readable(name) for name in new.tolist()]
        order = np.argsort(known)
        self._sorted, self._ids = known[order], ids[order]
