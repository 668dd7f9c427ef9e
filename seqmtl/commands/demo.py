"""Annotate a new genome without labels: simulate, train, annotate, report.

examples:
  seqmtl demo   # writes seqmtl-demo/report.html
"""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl._messages import messages_from
from seqmtl.commands._parser import Parser
from seqmtl.commands._request import Request, option
from seqmtl.commands.main import command_named
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.reporting.contents import FolderContents

logger = logging.getLogger("seqmtl")

_NEW, _RELATIVE = "brunia_parva", "brunia_magna"
_CONFIG = "relatives.toml"
#: What a user would do with an editor: leave out the new organism, and draw few decoys, to be fast.
_EDIT = (
    f"(sed '/{_NEW}/,/^$/d' {{0}}/dataset.toml; printf '\\n[decoys]\\nratio = 2\\n') "
    f"> {{0}}/{_CONFIG}"
)
_SIGNALS = ("donor", "acceptor")
_STEPS = {
    f"six simulated organisms, related by a tree; of {_NEW}, only the genome is used": (
        "simulate -o {0} --seed 1 --chromosomes 4 --chromosome-length 50000 --windows 600",
    ),
    "a model of the other five, from their annotations": (
        _EDIT,
        *(
            step.format("{0}", signal=signal)
            for signal in _SIGNALS
            for step in (
                "dataset {0}/relatives.toml --signal {signal} -o {0}/{signal}s",
                "train {0}/{signal}s --window 61 -C 1 --selection none "
                "--tree {0}/tree.nwk -o {0}/{signal}.seqmtl",
                "calibrate {0}/{signal}.seqmtl {0}/{signal}s -o {0}/{signal}.seqmtl",
            )
        ),
        "pair {0}/donor.seqmtl {0}/acceptor.seqmtl {0}/donors {0}/acceptors -o {0}/pair.seqmtl",
    ),
    "the new genome, without labels": (
        f"annotate {{0}}/genomes/{_NEW}.fa --like {_RELATIVE} --model {{0}}/pair.seqmtl "
        f"-o {{0}}/{_NEW} --force",
    ),
    "accuracy": (
        "evaluate {0}/pair.seqmtl {0}/donors {0}/acceptors --json {0}/pair.json",
        f"report {{0}} --annotation {_NEW}={{0}}/annotation/{_NEW}.gff3 -o {{0}}/report.html",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Demo(Request):
    """Annotate a new genome without labels."""

    output: str = option("-o", default="seqmtl-demo", metavar="DIR", help="folder to write")

    def run(self) -> object:
        """Show and run the commands, logging only warnings and errors; return the result."""
        _check_folder(self.output)
        result = None
        for comment, steps in _STEPS.items():
            _tell(f"# {comment}")
            for step in steps:
                result = self._run_step(step)
        return result

    def _run_step(self, step: str) -> object:
        if step is _EDIT:
            line = step.format(shlex.quote(self.output))
            _tell(line)
            return subprocess.run(["sh", "-c", line], check=True)
        arguments = [word.format(self.output) for word in step.split()]
        command_line = shlex.join(["seqmtl", *arguments])
        _tell(command_line)
        command = command_named(arguments[0])
        values, _ = Parser(command).values(arguments[1:])
        with messages_from(logging.WARNING):
            return command(**values, command_line=command_line)()

    def show(self, contents: FolderContents) -> str:
        """Show the summary of the page, and name both pages."""
        from seqmtl.reporting.summary_text import summarise

        pages = [os.path.join(self.output, name, "report.html") for name in (_NEW, "")]
        lines = [
            *summarise(contents),
            f"{pages[0]}: the new genome without labels; open it in a browser",
            f"{pages[1]}: the same, compared with its annotation, and the model of the five",
        ]
        return "".join(f"{line}\n" for line in lines)


def _check_folder(folder: str) -> None:
    """Check that a folder is new, or of an earlier demonstration.

    Raises
    ------
    SeqmtlError
        If it has other files.
    """
    from seqmtl.simulation.writing import NAMES, is_of_simulation

    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    others = [name for name in names if not name.startswith(".") and name not in NAMES]
    if others and not is_of_simulation(os.path.join(folder, _CONFIG)):
        raise SeqmtlError(
            f"{folder} must be empty or of an earlier demonstration, but it has {others[0]}; "
            "choose another folder"
        )


def _tell(line: str) -> None:
    if logger.isEnabledFor(logging.INFO):
        print(line, flush=True)
