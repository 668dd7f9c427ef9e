"""Commands in this process, for fixtures that live longer than a test; and what they write."""

from __future__ import annotations

import shlex
from pathlib import Path

from seqmtl.commands.main import main


def exit_code(words: list[str]) -> int:
    """Run a command and return its exit code: 1 if data or a file is at fault, 2 an option."""
    try:
        return main(words)
    except SystemExit as stop:
        return stop.code


def run(command: str, code: int = 0) -> None:
    """Run a command without its messages, and check its exit code."""
    assert exit_code([*shlex.split(command), "-q"]) == code, command


def rows_of(path: Path) -> list[list[str]]:
    """Return the fields of the lines of a table that are no comments."""
    lines = path.read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]
