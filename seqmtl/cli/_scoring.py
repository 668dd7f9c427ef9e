"""What ``predict`` and ``evaluate`` share: their options, the model, the windows, the scores."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.models.kernel_model import KernelModel
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
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


def load_model(path: str) -> MultiTaskModel | KernelModel:
    """Read a model of either kind."""
    from seqmtl.io.model_file import read_arrays
    from seqmtl.models.kernel_model import KIND, KernelModel
    from seqmtl.models.model import MultiTaskModel

    description, arrays = read_arrays(path)
    kind = KernelModel if description.get("model") == KIND else MultiTaskModel
    return kind.from_arrays(description, arrays, path)


def read_for(model: MultiTaskModel, args: argparse.Namespace, *, require_labels: bool) -> Windows:
    """Read the windows of a model of weights.

    Raises
    ------
    SeqmtlError
        If they are of a dataset whose signal is another or elsewhere in the window.
    """
    from seqmtl.cli._input import site_in_dataset

    site = site_in_dataset(args.data, model.length, model.shift)
    if site is not None and model.site.signal:
        theirs, ours = (f"{s.signal} sites at base {s.offset}" for s in (site, model.site))
        if theirs != ours:
            raise SeqmtlError(
                f"the model has {ours} of its {model.length}, but {args.data} has {theirs}; build "
                "a dataset with the model's signal and shift"
            )
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


def warn_of_coarse_decoys(name: str, y: Any, weights: Any) -> None:
    """Say so where one decoy more or less decides about what holds over the genome.

    Parameters
    ----------
    name : str
        Organism.
    y, weights : ndarray, shape (n,)
        Labels of its windows, and how many places of the genome each stands for.
    """
    n_true = int((y > 0).sum())
    places = float(weights[y <= 0].max(initial=0.0))
    if places > n_true > 0:
        logger.warning(
            "%s: a decoy stands for up to %.0f places of the genome, more than the %d true sites: "
            "high probabilities and precision over the genome are guesses; build the dataset with "
            'more decoys, or all ([decoys] valid = "all", test = "all")',
            name, places, n_true,
        )  # fmt: skip


def _is_fasta(data: str | None) -> bool:
    from seqmtl.io import guess_format, is_dataset

    if not data or data == "-" or is_dataset(data):
        return False
    return guess_format(data) == "fasta"
