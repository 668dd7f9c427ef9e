"""``seqmtl adapt``: add an organism to a trained model, from few labels or none."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, replacing, write_json
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl adapt splice.seqmtl few.tsv --organism c_briggsae --tree nematodes -o new.seqmtl
  seqmtl adapt starter:donor few.tsv --organism midge --like Diptera --prevalence 0.01 -o new.seqmtl
  seqmtl adapt splice.seqmtl --organism c_briggsae --like c_elegans -o new.seqmtl  # no labels

The data that the model was trained on are not needed. The organism starts as a mean of the
organisms of the model, in which its relatives count more; its labels, at least two of each class,
then change the weights of the relatives, the trust in them, and the weights of the k-mers. seqmtl
info shows how much each relative counts. An organism that was adapted before is adapted further:
give only labels that it has not seen. Without labels, score it with --from-relatives.

Probabilities hold at --prevalence. With many labels, calibrate on others: seqmtl calibrate."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "adapt", run,
        "add an organism to a trained model, from few labels or none", _EXAMPLES,
        usage="seqmtl adapt MODEL [DATA] --organism NAME -o MODEL [options]",
    )  # fmt: skip
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="model file of seqmtl train, starter:donor or starter:acceptor",
    )
    _options.add_window_input(parser, "labelled windows of the organism, cut as the model's")
    parser.add_argument("--organism", required=True, metavar="NAME", help="the new organism")
    parser.add_argument(
        "--like", metavar="NAME",
        help="organism of the model, or organism, taxid or clade of the tree, in whose place it is "
        "(default: its own name)",
    )  # fmt: skip
    parser.add_argument(
        "--tree", metavar="FILE|NAME",
        help="Newick or Nexus file, shipped tree, or folder of an NCBI taxonomy dump (default: "
        "what the model knows, and eukaryotes for --like)",
    )  # fmt: skip
    parser.add_argument(
        "--split", default="train", help="split to use, if DATA has a split column (default: train)"
    )
    parser.add_argument(
        "--prevalence", type=_options.share, metavar="SHARE",
        help="share of true sites among the candidates to be scored (default: the genome's if DATA "
        "is a dataset, else that of the windows)",
    )  # fmt: skip
    parser.add_argument(
        "--decoys", type=_options.positive_float, default=10.0, metavar="RATIO",
        help="decoys to draw per site if the file has none (default: 10)",
    )  # fmt: skip
    _options.add_run_options(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.models.model import MultiTaskModel

    check_outputs(args.output, args.json)
    with replacing(args.output, args.model):
        model = MultiTaskModel.load(args.model)
    name = args.organism
    windows = _read(model, args) if args.data or args.genome or args.sites else None
    adapted = model.adapt(
        name, windows, like=args.like, tree=args.tree,
        prevalence=None if windows is None else _prevalence(args),
    )  # fmt: skip
    if windows is not None:
        sources = [args.data] if args.data else [path for _, path in args.genome]
        adapted.training["sources"] = [*adapted.training.get("sources", []), *sources]
    adapted.save(args.output)
    if windows is None:
        logger.info("%s: %s has no labels; score it with --from-relatives", args.output, name)
    else:
        name = adapted.match(name)
        logger.info("%s: %s, %d windows", args.output, name, len(windows))
    if args.json:
        entry = adapted.training.get("adapted", {}).get(name, {})
        write_json(args.json, {"schema_version": 1, "organism": name, **entry})
    return 0


def _read(model: MultiTaskModel, args: argparse.Namespace) -> Windows:
    """Read the labelled windows of the organism, of the model's length.

    Raises
    ------
    SeqmtlError
        If the model is not one of windows, or the data lack the organism.
    """
    import numpy as np

    from seqmtl._names import match_names
    from seqmtl.io.dataset import is_dataset
    from seqmtl.io.tables import is_table_of_windows
    from seqmtl.sequences.quality import find_faults
    from seqmtl.verbs._windows import read_as_of_model, warn_of

    if not model.can_scan:
        raise SeqmtlError(f"{args.model}: is a model of a table; adapt takes models of windows")
    organism = args.organism
    if args.data and not is_dataset(args.data) and is_table_of_windows(args.data):
        organism = None  # the column tells
    windows = read_as_of_model(model, args, organism, require_labels=True)
    place = match_names([args.organism], windows.task_names, args.data or "--genome")[0]
    windows = windows[np.flatnonzero(windows.task_ids == place)]
    warn_of(find_faults([windows]), args)
    return windows


def _prevalence(args: argparse.Namespace) -> float | None:
    """Return the prevalence of the probabilities, or None for that of the rows."""
    from seqmtl._names import match_names
    from seqmtl.io.dataset import is_dataset, read_summary

    if args.prevalence is not None:
        found: float = args.prevalence
        return found
    if not args.data or not is_dataset(args.data):
        return None
    facts = read_summary(args.data)["organisms"]
    own = facts[list(facts)[match_names([args.organism], list(facts), args.data)[0]]]
    return float(own["sites"] / (own["sites"] + own["candidates"]))
