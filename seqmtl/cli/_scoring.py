"""Options and scoring shared by ``predict``, ``evaluate`` and ``calibrate``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from seqmtl.models.base import Model
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.scan.held_out import HeldOut


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--organism", "--task", help="organism or task of all rows (default: as in DATA)"
    )
    parser.add_argument(
        "--split", default="test",
        help="split to use, if DATA is a dataset or has a split column; all for every row "
        "(default: test)",
    )  # fmt: skip
    parser.add_argument(
        "--from-relatives", action="store_true",
        help="score an organism without training data from its relatives in the model's tree",
    )  # fmt: skip


def score_labelled(model: Model, args: argparse.Namespace) -> tuple[HeldOut, bool]:
    """Score every candidate of a dataset, or labelled examples, to evaluate a model.

    Returns
    -------
    held : HeldOut
        Scores, and labels in the form ``model.evaluate`` takes.
    is_split : bool
        Whether they come from the requested split; False if the data have no splits.
    """
    import numpy as np

    from seqmtl.cli._examples import read_for_model
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
