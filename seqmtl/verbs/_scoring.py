"""Options and scoring shared by the commands that score with a model."""

from __future__ import annotations

import argparse
import logging
import os
from typing import TYPE_CHECKING, Any, TypeVar, cast

from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from seqmtl.models.base import Model
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.scan.held_out import HeldOut
    from seqmtl.verbs._options import Relatives

logger = logging.getLogger("seqmtl")

Placed = TypeVar("Placed", bound="Relatives")


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
    add_relatives(parser)


def add_relatives(parser: argparse.ArgumentParser) -> None:
    """Add the options that score an organism without training data."""
    parser.add_argument(
        "--from-relatives", action="store_true",
        help="score an organism without training data from its relatives in the model's tree",
    )  # fmt: skip
    parser.add_argument(
        "--like", metavar="NAME",
        help="score an organism that the model lacks from its relatives, in the place of this "
        "organism, genus, clade or taxid of the model or of --tree",
    )  # fmt: skip
    parser.add_argument(
        "--tree", metavar="FILE|NAME",
        help="where --like is looked up: Newick or Nexus file, shipped tree, or folder of an NCBI "
        "taxonomy dump (default: what the model knows, then eukaryotes)",
    )  # fmt: skip


def with_relatives(model: Any, args: Any) -> Any:
    """Return the model with the organism of ``--like``; set the options (of a Namespace)."""
    model, changes = _placed(model, args)
    vars(args).update(changes)
    return model


def in_place(model: Any, request: Placed) -> tuple[Any, Placed]:
    """Return the model with the organism of ``--like``, and the request that scores it.

    It is called by ``--organism``, or else by the name of ``--like``. Without ``--organism``, an
    organism that the model was trained on is scored by its own weights.

    Raises
    ------
    SeqmtlError
        If the model is not one of weights, or `--organism` is all.
    UnknownTaskError
        If no organism or clade has the name; the message lists near matches.
    """
    model, changes = _placed(model, request)
    return model, request.changed(**changes) if changes else request


def _placed(model: Any, request: Any) -> tuple[Any, dict[str, Any]]:
    from seqmtl.models.base import is_known

    if request.like is None:
        if request.tree is not None:
            raise SeqmtlError("--tree is for --like; name the organism to look up, or leave it out")
        return model, {}
    if model.structure != "weights":
        raise SeqmtlError("--like is for models of seqmtl train; leave it out")
    if request.organism == "all" and "all" not in model.tasks:
        raise SeqmtlError("--like places one organism; name it with --organism, or leave that out")
    if request.organism is None and is_known(request.like, model.tasks):
        return model, {"organism": model.match(request.like)}
    name = request.organism or request.like
    placed = model.adapt(name, like=request.like, tree=request.tree)
    return placed, {"organism": name, "from_relatives": True}


def tell_known(
    model: Model, paths: Sequence[str], names: Iterable[str], split: str | None, what: str
) -> None:
    """Warn if a model was trained on rows, or may have been on rows of the same organisms.

    Parameters
    ----------
    model : Model
        Model.
    paths : sequence of str
        Files or datasets of the rows.
    names : iterable of str
        Organisms or tasks of the rows.
    split : str or None
        Split of the rows, or all; None if the data have no splits.
    what : str
        What is too good then.
    """
    from seqmtl.models.base import is_known

    trained = model.training.get("split", "train")
    if split not in (None, "all", trained):
        return
    known = {_place(path) for path in model.training.get("sources", [])}
    if not known.isdisjoint(map(_place, paths)):
        rows = ", ".join(paths) + (f", split {trained}" if split else "")
        logger.warning(
            "the model was trained on %s, so %s too good; give examples held out from training%s",
            rows, what, "" if split else ", or a split column (train, test)",
        )  # fmt: skip
    elif split is not None and any(is_known(name, model.tasks) for name in names):
        logger.warning(
            "if the model was trained on another copy of these rows (split %s of %s), %s too good",
            trained, ", ".join(paths), what,
        )  # fmt: skip


def _place(path: str) -> str:
    """Return the real path of a file, or of the folder of a dataset."""
    return os.path.realpath(path.removesuffix("windows.tsv"))


def score_labelled(model: Model, source: Any, what: str) -> HeldOut:
    """Score every candidate of a dataset, or labelled examples, to evaluate a model.

    `what` is too good if the model was trained on them, of which a warning tells. Labels have the
    form that ``model.evaluate`` takes.
    """
    held, is_split = _score(model, source)
    paths = [source.data] if source.data else [path for _, path in source.genome]
    tell_known(model, paths, held.names, source.split if is_split else None, what)
    return held


def _score(model: Model, source: Any) -> tuple[HeldOut, bool]:
    """Return the scores, and whether they are those of the requested split."""
    import numpy as np

    from seqmtl.io.dataset import is_dataset
    from seqmtl.scan.held_out import HeldOut, score_held_out
    from seqmtl.verbs._examples import read_for_model

    from_relatives = getattr(source, "from_relatives", False)
    if model.can_scan and source.data and not source.genome and is_dataset(source.data):
        split = None if source.split == "all" else source.split
        held = score_held_out(
            cast("MultiTaskModel", model), source.data, split=split, organism=source.organism,
            from_relatives=from_relatives,
        )  # fmt: skip
        return held, True
    examples = read_for_model(model, source, require_labels=True)
    signs, site = model.signs(examples.y), getattr(model, "site", None)
    if site and model.can_scan:
        site.require_in_place(examples.X, signs)
    scores = model.decision_function(examples.X, from_relatives=from_relatives)
    tasks = np.full(len(scores), model.tasks[0]) if examples.tasks is None else examples.tasks
    words = site.word_of(examples.X) if site and len(site.words) > 1 else None
    return HeldOut(signs, scores, tasks, None, words), examples.is_split
