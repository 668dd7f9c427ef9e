"""``seqmtl predict``: score windows."""

from __future__ import annotations

import argparse
import logging
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

from seqmtl.cli import _options
from seqmtl.exceptions import SeqmtlError

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl predict splice.seqmtl windows.tsv.gz -o scores.tsv
  seqmtl predict splice.seqmtl candidates.fa --organism c_elegans > scores.tsv
  seqmtl predict splice.seqmtl --genome worm=worm.fa --sites worm=sites.bed -o scores.tsv
  seqmtl predict splice.seqmtl new.fa --organism c_briggsae --from-relatives"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "predict", run, "score windows: name, organism, score, probability", _EXAMPLES
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(parser, "windows to score (labels are not needed)")
    add_scoring_options(parser)
    parser.add_argument(
        "-o", "--output", default="-", metavar="TSV", help="scores (default: standard output)"
    )


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Add what `predict` and `evaluate` share."""
    parser.add_argument("--organism", help="organism of all windows (default: what the data say)")
    parser.add_argument(
        "--split", default="test",
        help="rows to use, where DATA has a split column; all for all (default: test)",
    )  # fmt: skip
    parser.add_argument(
        "--from-relatives", action="store_true",
        help="score an organism without training data by its relatives in the model's tree",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.io.atomic import check_writable
    from seqmtl.models.model import MultiTaskModel

    if args.output != "-":
        check_writable(args.output)
    model = MultiTaskModel.load(args.model)
    windows = read_for(model, args, require_labels=False)
    scores, probability = score(model, windows, args)
    tasks, names = windows.tasks, windows.names
    with _open_output(args.output) as stream:
        stream.write("name\torganism\tscore\tprobability\n")
        for first in range(0, len(windows), 65_536):
            part = slice(first, first + 65_536)
            rows = zip(names[part], tasks[part], scores[part], probability[part], strict=True)
            stream.write("".join(f"{n}\t{t}\t{s:.6g}\t{p:.6g}\n" for n, t, s, p in rows))
    logger.info("scored %d windows", len(windows))
    return 0


def read_for(model: Any, args: argparse.Namespace, *, require_labels: bool) -> Any:
    """Read the windows at the model's length; of one organism where there is only one."""
    from seqmtl.cli._input import read_input

    if not args.organism and len(model.tasks) == 1 and not args.genome:
        args.organism = _only_organism(args.data, model)
    split = None if args.split == "all" else args.split
    windows = read_input(
        args, split=split, window=model.length, require_labels=require_labels, shift=model.shift
    )
    if windows.task_names == ("task",) and "task" not in model.tasks:
        raise SeqmtlError(
            "the windows do not say their organism; name one of "
            f"{', '.join(model.tasks)} with --organism"
        )
    return windows


def score(model: Any, windows: Any, args: argparse.Namespace) -> tuple[Any, Any]:
    """Return scores and probabilities of windows."""
    scores = model.decision_function(windows, from_relatives=args.from_relatives)
    return scores, model.probability(scores, windows.tasks)


def _only_organism(data: str | None, model: Any) -> str | None:
    """Return the organism of a FASTA file where the model has only one."""
    from seqmtl.io import guess_format

    if data and data != "-" and guess_format(data) == "fasta":
        return str(model.tasks[0])
    return None


def _open_output(path: str) -> AbstractContextManager[IO[Any]]:
    from seqmtl.io.atomic import atomic_write

    return nullcontext(sys.stdout) if path == "-" else atomic_write(path)
