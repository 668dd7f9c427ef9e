"""Commands: a request, its help, and how its result is printed."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from seqmtl.commands._kinds import positive_int
from seqmtl.commands._request import Option, Request, name_of, option, options_of

_WIDTH = 100  # columns of the help, at most
_INDENT = 25  # columns before what an option is for


@dataclass(frozen=True, kw_only=True)
class Messages(Request):
    """Options of every command."""

    quiet: bool = option("-q", "show only warnings and errors", default=False)
    log_json: bool = option("log messages as JSON lines", default=False)
    debug: bool = option("show the traceback of errors", default=False)


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes
    ----------
    request : type
        Its options, and what it does.
    summary : str
        One line about it.
    text : str
        Examples, and notes.
    show : callable
        Text for people, given the request and what its ``run`` returned. It is not printed if JSON
        goes to standard output.
    has_converged : callable
        Whether the tolerance was reached, given what ``run`` returned.
    """

    request: type[Request]
    summary: str
    text: str
    show: Callable[..., str] = lambda request, result: ""
    has_converged: Callable[..., bool] = lambda result: True

    @property
    def name(self) -> str:
        """Its name, such as ``scan``."""
        return name_of(self.request)

    def groups(self) -> dict[str, list[Option]]:
        """Return its options by the title of their group."""
        groups: dict[str, list[Option]] = {"arguments": [], "options": []}
        for each in sorted(options_of(self.request), key=lambda each: not each.is_required):
            title = each.group or ("arguments" if each.is_positional else "options")
            groups.setdefault(title, []).append(each)
        groups["messages"] = list(options_of(Messages))
        return {title: options for title, options in groups.items() if options}

    def usage(self) -> str:
        """Return how it is typed: its arguments and the options that it needs."""
        parts = ["seqmtl", self.name]
        options = sorted(options_of(self.request), key=lambda each: not each.is_positional)
        for each in options:
            if each.is_positional:
                name = each.names[0] + "..." * each.is_repeated
                parts.append(name if each.is_required else f"[{name}]")
            elif each.is_required:
                parts.append(f"{each.names[0]} {value_of(each)}")
        return " ".join([*parts, "[options]"])

    def help(self) -> str:
        """Return its help, as wide as the terminal."""
        lines = [f"usage: {self.usage()}", "", self.summary]
        for title, options in self.groups().items():
            lines += ["", f"{title}:", *in_columns((heading(each), each.help) for each in options)]
        return "\n".join([*lines, "", "examples:", self.text, ""])


def heading(each: Option) -> str:
    """Return an option as it is typed: ``-o, --output FILE``."""
    value = "" if each.is_positional or each.is_flag else f" {value_of(each)}"
    return f"{', '.join(each.names)}{value}"


def value_of(each: Option) -> str:
    """Return how the help shows the value of an option."""
    if each.metavar is None and each.choices is not None:
        return f"{{{','.join(each.choices)}}}"
    return each.metavar or ("N" if each.kind is positive_int else each.name.upper())


def in_columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return lines of names and, beside them, texts, as wide as the terminal."""
    width = min(shutil.get_terminal_size().columns - 2, _WIDTH)
    indent = " " * _INDENT
    lines = []
    for name, text in rows:
        first = f"  {name:{_INDENT - 4}}  "
        is_long = len(first) > _INDENT
        lines += [first.rstrip()] * is_long
        start = indent if is_long else first
        lines += textwrap.wrap(
            text, width, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
        )
    return lines
