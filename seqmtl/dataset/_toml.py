"""Read tables of a TOML file key by key, with errors that give file and key."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection
from difflib import get_close_matches
from typing import Any, NoReturn

from seqmtl.exceptions import InputFormatError
from seqmtl.files.whole import read_bytes


class Table:
    """A table of a TOML file; keys that have not been read by the end are errors.

    Parameters
    ----------
    values : dict
        Table as parsed by tomllib.
    path : str
        Path of the file, for messages.
    name : str
        Dotted name of the table; "" for the top level.
    """

    def __init__(self, values: dict[str, Any], path: str, name: str = "") -> None:
        self.values, self.path, self.name = values, path, name
        self._known: list[str] = []

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Table:
        """Read a file.

        Raises
        ------
        InputFormatError
            If it is not valid TOML.
        """
        source = os.fspath(path)
        try:
            return cls(tomllib.loads(read_bytes(source).decode()), source)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputFormatError(f"the file is not TOML: {error}", path=source) from error

    def refuse(self, key: str, rule: str, got: Any, remedy: str) -> NoReturn:
        """Raise an error that gives file and key."""
        if key not in self.values and (close := get_close_matches(key, self.values, n=1)):
            remedy = f"{close[0]!r} is no key: did you mean {key!r}?"
        raise InputFormatError(
            f"{self._full(key)} must be {rule}, got {got!r}; {remedy}", self.path
        )

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def _full(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def _get(self, key: str) -> Any:
        self._known.append(key)
        return self.values.get(key)

    def table(self, key: str) -> Table:
        """Return a subtable, or an empty one if it is missing."""
        value = self._get(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            self.refuse(key, "a table", value, f"write [{self._full(key)}]")
        return Table(value, self.path, self._full(key))

    def tables(self, key: str) -> dict[str, Table]:
        """Return the subtables of a table, at least one."""
        outer = self.table(key)
        if not outer.values:
            self.refuse(key, "a table with at least one entry", {}, f"add [{self._full(key)}.NAME]")
        return {name: outer.table(name) for name in outer.values}

    def text(self, key: str) -> str | None:
        """Return a non-empty string, or None if it is missing."""
        value = self._get(key)
        if value is not None and not (isinstance(value, str) and value):
            self.refuse(key, "a text", value, "put it in quotes")
        return value

    def choice(self, key: str, choices: Collection[str], default: str | None = None) -> str:
        """Return one of the given choices."""
        value = self._get(key)
        value = default if value is None else value
        if value not in choices:
            close = get_close_matches(str(value), choices, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else "choose one of them"
            self.refuse(key, f"one of {', '.join(choices)}", value, remedy)
        return str(value)

    def integer(self, key: str, default: int, lowest: int | None) -> int:
        """Return an integer of at least `lowest`."""
        value = self._get(key)
        value = default if value is None else value
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number or (lowest is not None and value < lowest):
            rule = "a whole number" + ("" if lowest is None else f" of {lowest} or more")
            self.refuse(key, rule, value, "correct it")
        return int(value)

    def number(self, key: str, default: float, lowest: float, highest: float) -> float:
        """Return a number from `lowest` to `highest`."""
        value = self._get(key)
        value = default if value is None else value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not lowest <= value <= highest:
            rule = f"a number from {lowest:g} to {highest:g}"
            self.refuse(key, rule, value, "correct it")
        return float(value)

    def boolean(self, key: str) -> bool:
        """Return true or false; false if it is missing."""
        value = self._get(key)
        if value is not None and not isinstance(value, bool):
            self.refuse(key, "true or false", value, "correct it")
        return bool(value)

    def words(self, key: str) -> tuple[str, ...] | None:
        """Return a non-empty list of strings, or None if it is missing."""
        value = self._get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not value or not all(isinstance(w, str) for w in value):
            self.refuse(key, "a list of texts", value, 'write ["...", "..."]')
        return tuple(value)

    def file(self, key: str) -> str | None:
        """Return the path of an existing file, relative to the folder of the TOML file."""
        value = self.text(key)
        if value is None:
            return None
        path = os.path.join(os.path.dirname(self.path), value)
        if not os.path.isfile(path):
            remedy = "paths are relative to the folder of this file"
            self.refuse(key, "a file", path, remedy)
        return path

    def finish(self) -> None:
        """Raise an error for keys that have not been read."""
        for key in self.values:
            if key not in self._known:
                close = get_close_matches(key, self._known, n=1)
                remedy = f"did you mean {close[0]!r}?" if close else "leave it out"
                known = ", ".join(sorted(self._known))
                raise InputFormatError(
                    f"{self._full(key)} is no key of this table ({known}); {remedy}", self.path
                )
