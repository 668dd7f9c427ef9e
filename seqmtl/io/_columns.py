"""Parse columns across all blocks of a file: labels, and names as numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import readable
from seqmtl.io._fields import Fields

_VALUES = {"1": 1, "+1": 1, "-1": -1, "0": 0}
RULE = "label must be 1, -1 or 0"

_MOST_NAMES = int(np.iinfo(np.int16).max)


class LabelColumn:
    """Parse labels block by block, and reject files with both -1 and 0 for negatives.

    Parameters
    ----------
    source : str
        Name of the file.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._first_line: dict[int, int] = {}

    def parse(self, fields: Fields, column: int) -> NDArray[np.int8]:
        """Return +1 and -1 (also for 0), shape (n_rows,).

        Raises
        ------
        InputFormatError
            If a label is not 1, +1, -1 or 0, or the file has both -1 and 0.
        """
        begins, lengths = fields.begins(column), fields.lengths(column)
        first, second = fields.text[begins], fields.text[begins + 1]
        is_one = ((lengths == 1) & (first == ord("1"))) | (
            (lengths == 2) & (first == ord("+")) & (second == ord("1"))
        )
        is_minus = (lengths == 2) & (first == ord("-")) & (second == ord("1"))
        is_zero = (lengths == 1) & (first == ord("0"))
        known = is_one | is_minus | is_zero
        if not known.all():
            row = int(np.flatnonzero(~known)[0])
            fields.refuse(row, f"{RULE}, got {fields.string(row, column)!r}; correct the field")
        for value, mask in ((-1, is_minus), (0, is_zero)):
            if value not in self._first_line and mask.any():
                self._see(value, int(fields.lines[mask.argmax()]))
        return np.where(is_one, 1, -1).astype(np.int8)

    def parse_text(self, text: str, line: int) -> int:
        """Return +1 or -1 for one label."""
        value = _VALUES.get(text)
        if value is None:
            raise InputFormatError(f"{RULE}, got {text!r}; correct it", path=self.source, line=line)
        if value <= 0 and value not in self._first_line:
            self._see(value, line)
        return 1 if value == 1 else -1

    def _see(self, value: int, line: int) -> None:
        self._first_line[value] = line
        if len(self._first_line) == 2:
            (earlier, first), (later, second) = sorted(
                self._first_line.items(), key=lambda item: item[1]
            )
            raise InputFormatError(
                f"labels must be 1 and -1, or 1 and 0, but this file has {earlier} on line {first} "
                f"and {later} on line {second}; use one of them for negatives",
                path=self.source,
                line=second,
            )


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
        self.lines: list[int] = []  # where each was first seen
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
        order = np.argsort(first)
        new = new[order]
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
        self.lines += fields.lines[rows[first[order]]].tolist()
        order = np.argsort(known)
        self._sorted, self._ids = known[order], ids[order]
