"""``seqmtl predict``: score windows."""

from __future__ import annotations

import argparse
import logging

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, open_output
from seqmtl.cli._scoring import add_scoring_options, load_model, read_for, score

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


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.models.kernel_model import KernelModel

    check_outputs(args.output)
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
