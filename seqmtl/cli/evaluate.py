"""``seqmtl evaluate``: AUROC and AUPRC of a model, per organism."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any, cast

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, table, write_metrics, write_multiqc
from seqmtl.exceptions import SeqmtlError
from seqmtl.verbs._scoring import add_scoring_options, score_labelled, tell_known, with_relatives

if TYPE_CHECKING:
    from seqmtl.models.base import Model
    from seqmtl.models.paired import PairedModel
    from seqmtl.scan.held_out import HeldOut

logger = logging.getLogger("seqmtl")

_FIGURES = "these figures are"
_EXAMPLES = """\
  seqmtl evaluate splice.seqmtl dataset
  seqmtl evaluate splice.seqmtl windows.tsv.gz --json metrics.json --plot curves.png
  seqmtl evaluate splice.seqmtl windows.tsv.gz --split valid
  seqmtl evaluate splice.seqmtl donors acceptors     # a model of seqmtl pair

For a `seqmtl dataset` folder, every candidate in the test regions is scored (such as every GT, on
both strands), so AUPRC and precision hold genome-wide: the column is auprc_genome. Of a table, only
the rows are scored: auprc_windows, which is higher if decoys are fewer than in the genome.

columns: precision_50, _80 and _95 are the precision at 50, 80 and 95 % recall. expected, of a
calibrated model and a dataset, is the number of true sites by the model, the sum of all
probabilities (positive: the true number). error_0.1 is the mean absolute difference of probability
and share of true sites, over bins, among the candidates above .1.

The second table compares both numbers for all candidates, those above .1, and bins of the
probability. true_95 is where the true number would be by chance if the model is right (blocks of
the genome, and a Poisson variable). holds: yes, if both are within a factor of 1.25; by chance, if
not, but the expected number is in true_95; no, if the probabilities do not hold.

A model of seqmtl pair takes two datasets, and compares the sites alone with those that see their
partners, on the regions that are in the same split of both."""


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
    parser.add_argument(
        "acceptors", nargs="?", metavar="ACCEPTORS",
        help="dataset of acceptors for a model of seqmtl pair; DATA is that of donors",
    )  # fmt: skip
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
    _options.add_threads(parser)
    parser.set_defaults(decoys=10.0)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.evaluation import plot_curves
    from seqmtl.models.saved import load_model

    check_outputs(args.json, args.plot, args.multiqc)
    if args.plot:
        _options.check_figure(args.plot)
    model = with_relatives(load_model(args.model), args)
    for flag in ("plot", "multiqc"):
        if getattr(args, flag) and len(model.classes) > 2:
            raise SeqmtlError(
                f"--{flag} needs a two-class model, got {len(model.classes)} classes; leave it out"
            )
    if model.structure == "pairs":
        return _evaluate_pairs(model, args)
    if args.acceptors:
        raise SeqmtlError(f"{args.model} takes one DATA; two are for a model of seqmtl pair")
    held = score_labelled(model, args, _FIGURES)
    data = (held.labels, held.scores, held.tasks)
    auprc = "auprc_windows" if model.inputs == "windows" else "auprc"
    auprc = auprc if held.counts is None else "auprc_genome"
    metrics = model.evaluate(
        *data, counts=held.counts, auprc=auprc, n_bootstrap=args.bootstrap, seed=args.seed
    )
    text = _texts(model, held, metrics)
    if args.plot:
        plot_curves(*data, args.plot, counts=held.counts, auprc=auprc)
    if args.multiqc:
        write_multiqc(metrics, args.model, args.multiqc)
    write_metrics(metrics, text, args.json)
    return 0


def _texts(model: Model, held: HeldOut, metrics: dict[str, Any]) -> str:
    """Return the tables; those of a calibrated model have expected numbers of sites."""
    from seqmtl.evaluation import add_expected, reliability_table

    details = ""
    if model.curves and held.counts is not None:
        p = model.probability(held.scores, held.tasks.tolist())
        add_expected(metrics, held.labels, p, held.tasks, held.counts, held.blocks)
        details = f"\n{reliability_table(metrics['tasks'])}"
    return table(metrics, "organism" if model.can_scan else "task") + details


def _evaluate_pairs(model: Model, args: argparse.Namespace) -> int:
    """Compare the sites alone with those that see their partners."""
    from seqmtl.evaluation import add_expected, reliability_table
    from seqmtl.models.probability_curve import to_probability
    from seqmtl.pairs import score_paired

    if not (args.data and args.acceptors):
        raise SeqmtlError(
            "a model of seqmtl pair is evaluated on two datasets; name that of donors, then that "
            "of acceptors"
        )
    for flag in ("plot", "multiqc", "from_relatives", "genome", "sites"):
        if getattr(args, flag):
            name = flag.replace("_", "-")
            raise SeqmtlError(f"--{name} is not for a model of seqmtl pair; leave it out")
    for end, path in (("donor", args.data), ("acceptor", args.acceptors)):
        tell_known(getattr(model, end), [path], model.tasks, args.split, _FIGURES)
    if args.split in (model.training.get("split"), "all"):
        logger.warning(
            "the layer was fitted on the %s regions, so its figures there are too good",
            model.training.get("split"),
        )
    split = None if args.split == "all" else args.split
    found = score_paired(
        cast("PairedModel", model), args.data, args.acceptors, split=split, organism=args.organism
    )
    signals: dict[str, Any] = {}
    lines: list[str] = []
    details: list[str] = []
    for signal, held in found.items():
        signals[signal] = {}
        p_alone = getattr(model, signal).probability(held.alone, held.tasks.tolist())
        for method, scores, p in (
            ("alone", held.alone, p_alone), ("paired", held.paired, to_probability(held.paired)),
        ):  # fmt: skip
            metrics = model.evaluate(
                held.labels, scores, held.tasks, counts=[1] * held.labels.size,
                auprc="auprc_genome", n_bootstrap=args.bootstrap, seed=args.seed,
            )  # fmt: skip
            add_expected(metrics, held.labels, p, held.tasks, None, held.blocks)
            signals[signal][method] = metrics
            head, *rows = reliability_table(metrics["tasks"]).splitlines()
            details += [] if details else [f"\nsignal\tmethod\t{head}"]
            details += [f"{signal}\t{method}\t{row}" for row in rows]
            head, *rows = table(metrics).splitlines()
            lines += [] if lines else [f"signal\tmethod\t{head}"]
            lines += [f"{signal}\t{method}\t{row}" for row in rows]
    summary = {
        "schema_version": 2, "model": args.model, "split": args.split, "signals": signals,
    }  # fmt: skip
    write_metrics(summary, "\n".join(lines + details) + "\n", args.json)
    return 0
