"""``seqmtl evaluate``: AUROC and AUPRC of a model, per organism."""

from __future__ import annotations

import argparse

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, table, write_metrics, write_multiqc
from seqmtl.cli._scoring import add_scoring_options, score_labelled
from seqmtl.exceptions import SeqmtlError

_EXAMPLES = """\
  seqmtl evaluate splice.seqmtl dataset
  seqmtl evaluate splice.seqmtl windows.tsv.gz --json metrics.json --plot curves.png
  seqmtl evaluate splice.seqmtl windows.tsv.gz --split valid

For a `seqmtl dataset` folder, every candidate in the test regions is scored (such as every GT, on
both strands), so AUPRC and precision hold genome-wide. For a table, only its rows are scored."""


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
    held, _ = score_labelled(model, args)
    data = (held.labels, held.scores, held.tasks)
    metrics = model.evaluate(*data, counts=held.counts, n_bootstrap=args.bootstrap, seed=args.seed)
    if args.plot:
        plot_curves(*data, args.plot, counts=held.counts)
    if args.multiqc:
        write_multiqc(metrics, args.model, args.multiqc)
    write_metrics(metrics, table(metrics, "organism" if model.can_scan else "task"), args.json)
    return 0
