"""``seqmtl demo``: the whole workflow on simulated genomes, with the commands a user would type."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shlex
from importlib.util import find_spec

from seqmtl.cli import (
    _options,
    calibrate,
    dataset,
    evaluate,
    explain,
    report,
    scan,
    simulate,
    train,
)
from seqmtl.cli._console import setup_logging, show
from seqmtl.cli._output import replacing
from seqmtl.cli._program import run_command
from seqmtl.exceptions import SeqmtlError

_COMMANDS = (simulate, dataset, train, calibrate, evaluate, scan, explain, report)
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


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "demo", run,
        "simulate related genomes, train, evaluate, scan and write a report", _EXAMPLES,
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", default="seqmtl-demo", metavar="DIR",
        help="folder to write (default: seqmtl-demo)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=_options.seed, default=1, help="seed of the simulation (default: 1)"
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if find_spec("matplotlib") is None:
        raise SeqmtlError("the report needs matplotlib; pip install 'seqmtl[plots]'")
    code = _run_step(_SIMULATE, args)
    if not code:
        _add_to_config(args)
    for step in _STEPS:
        code = code or _run_step(step, args)
    if not code:
        show(_summary(args.output))
    return code


def _run_step(step: str, args: argparse.Namespace) -> int:
    """Show and run one command, logging only warnings and errors; return its exit code."""
    words = [word.format(args.output, args.seed) for word in step.split()]
    _show(shlex.join(["seqmtl", *words]), args)
    flags = ["--quiet", *["--log-json"] * args.log_json, *["--debug"] * args.debug]
    with contextlib.redirect_stdout(io.StringIO()):
        code = run_command(_COMMANDS, [*words, *flags])
    setup_logging(args)  # the command set up its own
    return code


def _add_to_config(args: argparse.Namespace) -> None:
    """Append a setting to the TOML file, as a user would with an editor."""
    from seqmtl.files.atomic import write_lines
    from seqmtl.files.whole import read_text

    path = os.path.join(args.output, "dataset.toml")
    text = _FEWER_DECOYS.replace("\n", "\\n")
    _show(f"printf '{text}' >> {shlex.quote(path)}", args)
    with replacing(path, path):
        text = read_text(path, "TOML")
    write_lines(path, [text, _FEWER_DECOYS])


def _show(command: str, args: argparse.Namespace) -> None:
    if not args.quiet:
        print(command, flush=True)


def _summary(folder: str) -> str:
    """Format the AUPRC (genome) of every model by organism, and name the report."""
    from seqmtl.files.whole import read_json

    metrics = [read_json(os.path.join(folder, f"{name}.json")) for name in _MODELS]
    rows = {name: [found["tasks"][name] for found in metrics] for name in metrics[0]["tasks"]}
    rows["mean"] = [found["mean"] for found in metrics]
    lines = ["\t".join(["AUPRC (genome)", *_MODELS])]
    lines += [
        "\t".join([name, *(f"{t['auprc_genome']:.4f}" for t in row)]) for name, row in rows.items()
    ]
    report = os.path.join(folder, "report.html")
    return "\n".join([*lines, f"{report}: open it in a browser"]) + "\n"
