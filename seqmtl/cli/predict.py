"""``seqmtl predict``: score windows."""

from __future__ import annotations

import argparse
import logging
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import IO, TYPE_CHECKING, Any

from seqmtl.cli import _options
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.models.kernel_model import KernelModel
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl predict splice.seqmtl windows.tsv.gz -o scores.tsv
  seqmtl predict splice.seqmtl candidates.fa --organism c_elegans > scores.tsv
  seqmtl predict splice.seqmtl --genome worm=worm.fa --sites worm=sites.bed -o scores.tsv
  seqmtl predict splice.seqmtl new.fa --organism c_briggsae --from-relatives
  seqmtl predict m.seqmtl expression.csv -o scores.tsv     # a model of train --method

A model of train --method takes the columns of its training table by their names; others are left
out. It writes name, task, score and class, or for more than two classes their votes."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "predict", run, "score windows: name, organism, score, probability", _EXAMPLES
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(
        parser, "windows to score (labels are not needed)", tables="a table for models of such"
    )
    add_scoring_options(parser)
    parser.add_argument(
        "-o", "--output", default="-", metavar="TSV", help="scores (default: standard output)"
    )


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Add what `predict` and `evaluate` share."""
    parser.add_argument(
        "--organism", "--task", help="organism or task of all rows (default: what the data say)"
    )
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
    from seqmtl.models.kernel_model import KernelModel

    if args.output != "-":
        check_writable(args.output)
    model = load_model(args.model)
    if isinstance(model, KernelModel):
        from seqmtl.cli._kernel_use import predict_kernels

        return predict_kernels(model, args)
    windows = read_for(model, args, require_labels=False)
    scores, probability = score(model, windows, args)
    tasks, names = windows.tasks, windows.names
    with open_output(args.output) as stream:
        stream.write("name\torganism\tscore\tprobability\n")
        for first in range(0, len(windows), 65_536):
            part = slice(first, first + 65_536)
            rows = zip(names[part], tasks[part], scores[part], probability[part], strict=True)
            stream.write("".join(f"{n}\t{t}\t{s:.6g}\t{p:.6g}\n" for n, t, s, p in rows))
    logger.info("scored %d windows", len(windows))
    return 0


def load_model(path: str) -> MultiTaskModel | KernelModel:
    """Read a model of either kind."""
    from seqmtl.io.model_file import read_arrays
    from seqmtl.models.kernel_model import KIND, KernelModel
    from seqmtl.models.model import MultiTaskModel

    description, arrays = read_arrays(path)
    kind = KernelModel if description.get("model") == KIND else MultiTaskModel
    return kind.from_arrays(description, arrays, path)


def read_for(model: MultiTaskModel, args: argparse.Namespace, *, require_labels: bool) -> Windows:
    """Read the windows of a model of weights."""
    return read_windows_for(
        args, model.tasks, model.length, model.shift, require_labels=require_labels
    )


def read_windows_for(
    args: argparse.Namespace,
    tasks: tuple[str, ...],
    length: int,
    shift: int,
    *,
    require_labels: bool,
) -> Windows:
    """Read the windows at the model's length; of one organism where there is only one."""
    from seqmtl.cli._input import read_input

    if not args.organism and len(tasks) == 1 and not args.genome and _is_fasta(args.data):
        args.organism = tasks[0]
    split = None if args.split == "all" else args.split
    windows = read_input(
        args, split=split, window=length, require_labels=require_labels, shift=shift
    )
    if windows.task_names == ("task",) and "task" not in tasks:
        raise SeqmtlError(
            f"the windows do not say their organism; name one of {', '.join(tasks)} with --organism"
        )
    return windows


def score(model: Any, windows: Any, args: argparse.Namespace) -> tuple[Any, Any]:
    """Return scores and probabilities of windows."""
    scores = model.decision_function(windows, from_relatives=args.from_relatives)
    return scores, model.probability(scores, windows.tasks)


def _is_fasta(data: str | None) -> bool:
    from seqmtl.io import guess_format

    return bool(data) and data != "-" and guess_format(str(data)) == "fasta"


def open_output(path: str) -> AbstractContextManager[IO[Any]]:
    """Open a file that appears when it is whole, or standard output."""
    from seqmtl.io.atomic import atomic_write

    return nullcontext(sys.stdout) if path == "-" else atomic_write(path)
