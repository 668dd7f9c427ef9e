"""Commands in this process, for fixtures that live longer than a test; tests take ``seqmtl``."""

from __future__ import annotations

import shlex

from seqmtl.cli.main import main


def exit_code(words: list[str]) -> int:
    """Run a command and return its exit code: 1 if data or a file is at fault, 2 an option."""
    try:
        return main(words)
    except SystemExit as stop:
        return stop.code


def run(command: str, code: int = 0) -> None:
    """Run a command without its messages, and check its exit code."""
    assert exit_code([*shlex.split(command), "-q"]) == code, command
