"""``seqmtl demo``: the whole workflow on simulated genomes, with the commands a user would type."""

from __future__ import annotations

import logging
import os
import shlex
from dataclasses import dataclass
from importlib import import_module

from seqmtl._kinds import require_matplotlib
from seqmtl._messages import messages_from
from seqmtl.cli._command import Command
from seqmtl.cli._console import show
from seqmtl.files.atomic import write_lines
from seqmtl.files.outputs import replacing
from seqmtl.files.streams import read_json, read_text
from seqmtl.request import Request, option
from seqmtl.verbs import _options

logger = logging.getLogger("seqmtl")

_MODELS = ("individual", "union", "default")
_SIMULATE = "simulate -o {0} --seed {1} --chromosomes 8 --chromosome-length 20000 --windows 400"
_FEWER_DECOYS = "\n[decoys]\nratio = 3\n"  # appended to the TOML file to keep the demo fast
_STEPS = (
    "dataset {0}/dataset.toml -o {0}/dataset",
    "train {0}/dataset --window 61 --tol 0.01 -C 1 --selection none --similarity individual "
    "-o {0}/individual.seqmtl",
    "train {0}/dataset --window 61 --tol 0.01 -C 1 --selection none --similarity union "
    "-o {0}/union.seqmtl",
    "train {0}/dataset --window 61 --tol 0.01 -C 1 --tree {0}/tree.nwk -o {0}/default.seqmtl",
    "calibrate {0}/default.seqmtl {0}/dataset -o {0}/default.seqmtl",
    *(
        f"evaluate {{0}}/{name}.seqmtl {{0}}/dataset --json {{0}}/{name}.json"
        for name in _MODELS[:2]
    ),
    "evaluate {0}/default.seqmtl {0}/dataset --json {0}/default.json --plot {0}/curves.svg",
    "scan {0}/default.seqmtl {0}/genomes/velia_nigra.fa --organism velia_nigra "
    "-o {0}/velia_nigra.bw --json {0}/scan.json",
    "explain {0}/default.seqmtl --organism velia_nigra -o {0}/explained",
    "report {0} --tree {0}/tree.nwk -o {0}/report.html",
)

_EXAMPLES = """\
  seqmtl demo                   # writes seqmtl-demo/report.html
  seqmtl demo -o demo --seed 2"""


@dataclass(frozen=True, kw_only=True)
class Demo(Request):
    """Run the whole workflow."""

    output: str = option(
        "-o", default="seqmtl-demo", metavar="DIR", help="folder to write (default: seqmtl-demo)"
    )
    seed: int = _options.seed("seed of the simulation", 1)

    def run(self) -> None:
        """Show and run the commands, logging only warnings and errors."""
        require_matplotlib("the report")
        self._run_step(_SIMULATE)
        self._add_to_config()
        for step in _STEPS:
            self._run_step(step)

    def _run_step(self, step: str) -> None:
        words = [word.format(self.output, self.seed) for word in step.split()]
        command_line = shlex.join(["seqmtl", *words])
        _show_command(command_line)
        args = import_module("seqmtl.cli.main").build_parser(words).parse_args(words)
        with messages_from(logging.WARNING):
            args.of.request_of(args, command_line)()

    def _add_to_config(self) -> None:
        """Append a setting to the TOML file, as a user would with an editor."""
        path = os.path.join(self.output, "dataset.toml")
        text = _FEWER_DECOYS.replace("\n", "\\n")
        _show_command(f"printf '{text}' >> {shlex.quote(path)}")
        with replacing(path, path):
            text = read_text(path, "TOML")
        write_lines(path, [text, _FEWER_DECOYS])


def _show_command(command: str) -> None:
    if logger.isEnabledFor(logging.INFO):
        print(command, flush=True)


def _show(request: Demo, _: None) -> None:
    show(_summary(request.output))


def _summary(folder: str) -> str:
    """Format the AUPRC (genome) of every model by organism, and name the report."""
    metrics = [read_json(os.path.join(folder, f"{name}.json")) for name in _MODELS]
    rows = {name: [found["tasks"][name] for found in metrics] for name in metrics[0]["tasks"]}
    rows["mean"] = [found["mean"] for found in metrics]
    lines = ["\t".join(["AUPRC (genome)", *_MODELS])]
    lines += [
        "\t".join([name, *(f"{t['auprc_genome']:.4f}" for t in row)]) for name, row in rows.items()
    ]
    report = os.path.join(folder, "report.html")
    return "\n".join([*lines, f"{report}: open it in a browser"]) + "\n"


COMMAND = Command(
    Demo, "simulate related genomes, train, evaluate, scan and write a report", _EXAMPLES, _show
)
