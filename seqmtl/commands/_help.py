"""The help of a command: its options, and the docstring of its module."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from seqmtl.commands._kinds import positive_int
from seqmtl.commands._request import Option, Request, name_of, option, options_of

_WIDTH = 100  # columns of the help, at most
_INDENT = 25  # columns before what an option is for
_WITHOUT_DOCSTRINGS = "Described in a docstring, which python -OO leaves out."


@dataclass(frozen=True, kw_only=True)
class Common(Request):
    """Options of every command; a Python function has the threads of ``seqmtl.use_threads``."""

    threads: int | None = option("threads (default: all usable cores)")
    quiet: bool = option("-q", "show only warnings and errors", default=False)
    debug: bool = option("show the traceback of errors", default=False)


def described(command: type[Request]) -> tuple[str, str]:
    """Return one line about a command, and its examples and notes: the docstring of its module."""
    docstring = sys.modules[command.__module__].__doc__ or _WITHOUT_DOCSTRINGS
    line, _, text = docstring.partition("\n\n")
    first = line[0] if line[1].isupper() else line[0].lower()
    return f"{first}{line[1:]}".removesuffix("."), text.rstrip()


def groups(command: type[Request]) -> dict[str, list[Option]]:
    """Return the options of a command by the title of their group."""
    by_title: dict[str, list[Option]] = {"arguments": [], "options": []}
    for each in sorted(options_of(command), key=lambda each: not each.is_required):
        title = each.group or ("arguments" if each.is_positional else "options")
        by_title.setdefault(title, []).append(each)
    by_title["of every command"] = list(options_of(Common))
    return {title: options for title, options in by_title.items() if options}


def usage(command: type[Request]) -> str:
    """Return how a command is typed: its arguments and the options that it needs."""
    parts = ["seqmtl", name_of(command)]
    for each in sorted(options_of(command), key=lambda each: not each.is_positional):
        if each.is_positional:
            name = each.names[0] + "..." * each.is_repeated
            parts.append(name if each.is_required else f"[{name}]")
        elif each.is_required:
            parts.append(f"{each.names[0]} {value_of(each)}")
    return " ".join([*parts, "[options]"])


def help_of(command: type[Request]) -> str:
    """Return the help of a command, as wide as the terminal."""
    summary, text = described(command)
    lines = [f"usage: {usage(command)}", "", summary]
    for title, options in groups(command).items():
        lines += ["", f"{title}:", *in_columns((heading(each), each.help) for each in options)]
    return "\n".join([*lines, "", text, ""])


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
