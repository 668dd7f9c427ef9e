"""Parsers whose messages name the argument typed and the one probably meant."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import takewhile
from typing import Any, NoReturn

from seqmtl.commands import _removed
from seqmtl.commands._console import show

_ALIKE = 0.6  # least similarity of two spellings


class Parser(argparse.ArgumentParser):
    """A parser that refuses unknown options first, takes no abbreviations, and answers in a line.

    Abbreviations would change their meaning with each new option.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)
        self.arguments: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, after refusing options that the parser does not have."""
        self.arguments = [*(sys.argv[1:] if args is None else args)]
        arguments = self.arguments
        if self._subparsers is not None:  # arguments after the command belong to it
            arguments = [*takewhile(lambda word: word.startswith("-"), arguments)]
        for word in takewhile(lambda word: word != "--", arguments):
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self._option_string_actions:
                replacement = _removed.replacement_of_option(self.prog.partition(" ")[2], name)
                if replacement:
                    self.error(f"{name} was removed: {replacement}")
                flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
                self.error(f"there is no option {name}{did_you_mean(name, flags)}")
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        meant = did_you_mean(str(value), action.choices)
        if isinstance(action, argparse._SubParsersAction):
            if value in _removed.COMMANDS:
                self.error(f"{value} was removed: {_removed.COMMANDS[value]}")
            self.error(f"there is no command {value!r}{meant or '; seqmtl lists them'}")
        choices = ", ".join(map(str, action.choices))
        raise argparse.ArgumentError(action, f"must be one of {choices}, got {value!r}{meant}")

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is sys.stdout:
            show(message)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        """Exit with code 2, after one line that names an option as it was typed."""
        match = re.fullmatch(r"argument (\S+): (.*)", message, flags=re.DOTALL)
        if match:
            space = " " if match[2].startswith("must ") else ": "
            message = f"{self._as_typed(match[1].split('/'))}{space}{match[2]}"
        _, _, command = self.prog.partition(" ")
        of = f" ({self.prog.partition(' ')[0]} help {command})" if command else ""
        self.exit(2, f"{self.prog}: error: {message}{of}\n")

    def _as_typed(self, names: Sequence[str]) -> str:
        """Return the name of an option that is among the arguments, or else its last."""
        typed = [
            name
            for name in names
            for word in self.arguments
            if word.partition("=")[0] == name or (len(name) == 2 and word.startswith(name))
        ]
        return typed[0] if typed else names[-1]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return a question that suggests a similar name, or an empty string."""
    near = get_close_matches(word, [*map(str, names)], n=1, cutoff=_ALIKE)
    return f"; did you mean {near[0]!r}?" if near else ""
