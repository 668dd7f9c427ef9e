"""What ``predict``, ``evaluate`` and ``calibrate`` share: options, windows, scores."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast

from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.models.base import Model
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.scan.held_out import HeldOut
    from seqmtl.sequences import Windows


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--organism", "--task", help="organism or task of all rows (default: what the data say)"
    )
    parser.add_argument(
        "--split", default="test",
        help="split of a dataset, or rows of a table with a split column; all for all "
        "(default: test)",
    )  # fmt: skip
    parser.add_argument(
        "--from-relatives", action="store_true",
        help="score an organism without training data by its relatives in the model's tree",
    )  # fmt: skip


def score_labelled(model: Model, args: argparse.Namespace) -> tuple[HeldOut, bool]:
    """Score what is to judge a model: every candidate of a dataset, or labelled examples.

    Returns
    -------
    held : HeldOut
        Labels as ``model.evaluate`` takes them, and scores.
    is_split : bool
        Whether they are of the split asked for; else the data have none.
    """
    import numpy as np

    from seqmtl.cli._kernel_input import read_for_model
    from seqmtl.io.dataset import is_dataset
    from seqmtl.scan.held_out import HeldOut, score_held_out

    from_relatives = getattr(args, "from_relatives", False)
    if model.can_scan and args.data and not args.genome and is_dataset(args.data):
        split = None if args.split == "all" else args.split
        held = score_held_out(
            cast("MultiTaskModel", model), args.data, split=split, organism=args.organism,
            from_relatives=from_relatives,
        )  # fmt: skip
        return held, True
    examples = read_for_model(model, args, require_labels=True)
    scores = model.decision_function(examples.X, from_relatives=from_relatives)
    tasks = np.full(len(scores), model.tasks[0]) if examples.tasks is None else examples.tasks
    return HeldOut(model.signs(examples.y), scores, tasks, None), examples.is_split


def read_windows_for(model: Model, args: argparse.Namespace, *, require_labels: bool) -> Windows:
    """Read the windows at the model's length; of one organism where there is only one."""
    from seqmtl.cli._input import read_input
    from seqmtl.io.dataset import is_dataset

    if args.data and is_dataset(args.data):
        model.check_dataset(args.data)
    if not args.organism and len(model.tasks) == 1 and not args.genome and _is_fasta(args.data):
        args.organism = model.tasks[0]
    split = None if args.split == "all" else args.split
    windows = read_input(
        args, split=split, window=model.length, require_labels=require_labels, shift=model.shift
    )
    if windows.task_names == ("task",) and "task" not in model.tasks:
        names = ", ".join(model.tasks)
        raise SeqmtlError(
            f"the windows do not say their organism; name one of {names} with --organism"
        )
    return windows


def _is_fasta(data: str | None) -> bool:
    from seqmtl.io import guess_format, is_dataset

    if not data or data == "-" or is_dataset(data):
        return False
    return guess_format(data) == "fasta"
