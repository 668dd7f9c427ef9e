"""Output shared by several commands: metrics, summaries, version numbers."""

from __future__ import annotations

import argparse
import os
from typing import Any

from seqmtl.cli._console import show
from seqmtl.files.inputs import FilesOfACommand
from seqmtl.files.outputs import (
    check_outputs as check_outputs,
)
from seqmtl.files.outputs import (
    open_output as open_output,
)
from seqmtl.files.outputs import (
    replacing as replacing,
)
from seqmtl.files.outputs import (
    write_json as write_json,
)

#: Exit code if training stopped before reaching its tolerance.
NOT_CONVERGED = 3


def with_input(text: str, args: argparse.Namespace, files: FilesOfACommand) -> str:
    """Put the name of DATA before an error message that names no file of the command."""
    data = getattr(args, "data", None)
    if not data or not os.path.exists(data):
        return text
    paths = [data, *files.inputs.values(), *files.outputs.values()]
    names = [os.path.basename(os.path.normpath(path)) for path in paths]
    return text if any(name in text for name in names) else f"{data}: {text}"


def write_summary(path: str, training: dict[str, Any]) -> None:
    """Write a training summary as JSON."""
    write_json(path, {"schema_version": 1, **training})


def write_metrics(metrics: dict[str, Any], text: str, path: str | None) -> None:
    """Write metrics as a table to standard output and as JSON to `path`; ``-``: JSON only."""
    if path:
        write_json(path, metrics)
    if path != "-":
        show(text)
