"""``seqmtl evaluate``: AUROC and AUPRC of a model, per organism."""

from __future__ import annotations

import argparse
import logging
import os
from typing import TYPE_CHECKING

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, table, write_metrics, write_multiqc
from seqmtl.cli._scoring import add_scoring_options, score_labelled
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.models.base import Model

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl evaluate splice.seqmtl dataset
  seqmtl evaluate splice.seqmtl windows.tsv.gz --json metrics.json --plot curves.png
  seqmtl evaluate splice.seqmtl windows.tsv.gz --split valid

For a `seqmtl dataset` folder, every candidate in the test regions is scored (such as every GT, on
both strands), so AUPRC and precision hold genome-wide. For a table, only its rows are scored.

columns: auprc_genome and precision_50, _80, _95 (precision at 50, 80 and 95 % recall) are at the
prevalence in the regions scored; auprc_genome is equal to auprc where every candidate is scored."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers,
        "evaluate",
        run,
        "AUROC and AUPRC per organism or task, with confidence intervals",
        _EXAMPLES,
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(
        parser, "labelled windows", tables="a table of examples for train-table models"
    )
    add_scoring_options(parser)
    parser.add_argument(
        "--json", metavar="FILE", help="write metrics as JSON; - for standard output"
    )
    parser.add_argument(
        "--multiqc", metavar="FILE_mqc.json", help="write metrics as MultiQC custom content"
    )
    parser.add_argument("--plot", metavar="FILE", help="ROC and PR curves: .png, .svg or .pdf")
    parser.add_argument(
        "--bootstrap", type=int, default=200, metavar="N",
        help="bootstrap resamples for the 95%% intervals; 0 for none (default: 200)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=_options.seed, default=0, help="seed of the bootstrap (default: 0)"
    )
    parser.set_defaults(decoys=10.0)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.evaluation import plot_curves
    from seqmtl.models.saved import load_model

    check_outputs(args, args.json, args.plot, args.multiqc)
    if args.plot:
        _options.check_figure(args.plot)
    model = load_model(args.model)
    for flag in ("plot", "multiqc"):
        if getattr(args, flag) and len(model.classes) > 2:
            raise SeqmtlError(
                f"--{flag} needs a two-class model, got {len(model.classes)} classes; leave it out"
            )
    held, is_split = score_labelled(model, args)
    if not is_split and _is_training_source(model, args.data):
        logger.warning(
            "the model was trained on %s, so these figures are too good; give examples held out "
            "from training, or a split column (train, test)", args.data,
        )  # fmt: skip
    data = (held.labels, held.scores, held.tasks)
    metrics = model.evaluate(*data, counts=held.counts, n_bootstrap=args.bootstrap, seed=args.seed)
    if args.plot:
        plot_curves(*data, args.plot, counts=held.counts)
    if args.multiqc:
        write_multiqc(metrics, args.model, args.multiqc)
    write_metrics(metrics, table(metrics, "organism" if model.can_scan else "task"), args.json)
    return 0


def _is_training_source(model: Model, path: str | None) -> bool:
    """Tell whether a file is one that the model was trained on."""
    sources = model.training.get("sources", [])
    return path is not None and os.path.realpath(path) in map(os.path.realpath, sources)
