"""``seqmtl predict``: score windows or examples."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, open_output
from seqmtl.cli._scoring import add_scoring_options, with_relatives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl predict splice.seqmtl windows.tsv.gz -o scores.tsv
  seqmtl predict splice.seqmtl candidates.fa --organism c_elegans > scores.tsv
  seqmtl predict splice.seqmtl --genome worm=worm.fa --sites worm=sites.bed -o scores.tsv
  seqmtl predict starter:acceptor candidates.fa --like "Apis mellifera"
  seqmtl predict m.seqmtl expression.csv -o scores.tsv     # a model of train-table

The last column tells whether a window has the letters of the model's sites, such as AG (yes or no).
The score of a window that has lost them means little.

A model of train-table finds its columns by name and ignores others. It writes name, task, score and
class, or, for more than two classes, their votes."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers,
        "predict",
        run,
        "score windows; write name, organism, score, probability, has_site",
        _EXAMPLES,
    )
    parser.add_argument(
        "model", metavar="MODEL", help="model file, starter:donor or starter:acceptor"
    )
    _options.add_window_input(
        parser,
        "windows to score (labels not needed)",
        tables="a table of examples for train-table models",
    )
    add_scoring_options(parser)
    parser.add_argument(
        "-o", "--output", default="-", metavar="TSV", help="scores (default: standard output)"
    )
    _options.add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.cli._examples import read_for_model
    from seqmtl.models.saved import load_model

    check_outputs(args.output)
    model = with_relatives(load_model(args.model), args)
    examples = read_for_model(model, args, require_labels=False)
    found = model.predictions(examples.X, from_relatives=args.from_relatives)
    names = examples.names
    with open_output(args.output) as stream:
        stream.write("\t".join(["name", *found]) + "\n")
        for first in range(0, len(names), 65_536):
            part = slice(first, first + 65_536)
            columns = [map(str, names[part]), *(_texts(column[part]) for column in found.values())]
            stream.write("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)))
    logger.info("scored %d %s", len(names), "windows" if model.inputs == "windows" else "examples")
    return 0


def _texts(column: NDArray[Any]) -> Iterator[str]:
    """Format floats with six digits, truth as yes and no, and other values as they are."""
    form: dict[str, Callable[[Any], str]] = {"f": "{:.6g}".format, "b": ("no", "yes").__getitem__}
    return map(form.get(column.dtype.kind, str), column.tolist())
