"""What ``predict`` and ``evaluate`` share: their options, the model, the windows, the scores."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.models.kernel_model import KernelModel
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


def load_model(path: str) -> MultiTaskModel | KernelModel:
    """Read a model of either kind."""
    from seqmtl.files.model_file import read_arrays
    from seqmtl.models.kernel_model import KIND, KernelModel
    from seqmtl.models.model import MultiTaskModel

    description, arrays = read_arrays(path)
    kind = KernelModel if description.get("model") == KIND else MultiTaskModel
    return kind.from_arrays(description, arrays, path)


def score_labelled(model: MultiTaskModel, args: argparse.Namespace) -> tuple[HeldOut, bool]:
    """Score what is to judge a model of weights: every candidate of a dataset, or labelled windows.

    Returns
    -------
    held : HeldOut
        Labels and scores.
    is_split : bool
        Whether they are of the split asked for; else the data have none.
    """
    from seqmtl.io.dataset import is_dataset
    from seqmtl.scan.held_out import HeldOut, score_held_out

    from_relatives = getattr(args, "from_relatives", False)
    if args.data and not args.genome and is_dataset(args.data):
        split = None if args.split == "all" else args.split
        held = score_held_out(
            model, args.data, split=split, organism=args.organism, from_relatives=from_relatives
        )
        return held, True
    windows = read_for(model, args, require_labels=True)
    scores = model.decision_function(windows, from_relatives=from_relatives)
    held = HeldOut(windows.labels, scores, windows.tasks, None)
    return held, windows.splits is not None


def read_for(model: MultiTaskModel, args: argparse.Namespace, *, require_labels: bool) -> Windows:
    """Read the windows of a model of weights.

    Raises
    ------
    SeqmtlError
        If they are of a dataset whose signal is another or elsewhere in the window.
    """
    from seqmtl.io.dataset import is_dataset
    from seqmtl.models.site import site_of_model

    if args.data and is_dataset(args.data):
        site_of_model(model.site, args.data, model.length, model.shift)
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
    from seqmtl.io import guess_format, is_dataset

    if not data or data == "-" or is_dataset(data):
        return False
    return guess_format(data) == "fasta"
