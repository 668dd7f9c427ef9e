"""Parse labels: 1 and -1, or 1 and 0, consistently within a file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.io._fields import Fields

_VALUES = {"1": 1, "+1": 1, "-1": -1, "0": 0}
RULE = "label must be 1, -1 or 0"


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
