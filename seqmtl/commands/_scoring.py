"""Options and scoring shared by the commands that score with a model."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, TypeVar

from seqmtl._messages import messages_from
from seqmtl.exceptions import SeqmtlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from seqmtl.commands._options import Relatives
    from seqmtl.linear_model.base import Model
    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.scanning.candidate_scores import CandidateScores
    from seqmtl.splicing.model import PairedModel
    from seqmtl.splicing.self_training import SelfTraining

logger = logging.getLogger("seqmtl")

#: A request that has ``--like``.
WithLike = TypeVar("WithLike", bound="Relatives")

#: The name of ``--like`` for which no tree says how much the organisms of the model count.
AUTO = "auto"


def with_organism_of_like(
    model: MultiTaskModel | PairedModel, request: WithLike, *, has_genome: bool = False
) -> tuple[MultiTaskModel | PairedModel, WithLike]:
    """Return the model with the organism of ``--like``, and the request that scores it.

    It is called by ``--organism``, or else by the name of ``--like``. Without ``--organism``, an
    organism that the model was trained on is scored by its own weights. A paired model is returned
    as it is, if the request `has_genome`: :func:`place_unlabelled` then adds the organism.

    Raises
    ------
    SeqmtlError
        If it cannot be added to the model, or `--organism` is all.
    UnknownTaskError
        If no organism or clade has the name; the message lists near matches.
    """
    from seqmtl.adaptation import adapt
    from seqmtl.linear_model.base import is_known
    from seqmtl.splicing.model import PairedModel

    like, organism = request.like, request.organism
    if like is None:
        if request.tree is not None:
            raise SeqmtlError("--tree is for --like; name the organism to look up, or leave it out")
        return model, request
    if isinstance(model, PairedModel) and not has_genome:
        raise SeqmtlError(
            "--like with a model of seqmtl pair is for seqmtl scan and adapt, which look at the "
            "genome; add the organism with seqmtl adapt, and leave --like out"
        )
    if organism == "all" and "all" not in model.tasks:
        raise SeqmtlError("--like places one organism; name it with --organism, or leave that out")
    if organism is None and is_known(like, model.tasks):
        return model, request.changed(organism=model.match(like))
    organism = organism or like
    request = request.changed(organism=organism)
    if isinstance(model, PairedModel):
        check_new(model, organism, like, request.tree)
        return model, request
    return adapt(model, organism, **relatives(like, request.tree)), request


def relatives(like: str | None, tree: str | None) -> dict[str, Any]:
    """Return the arguments of :func:`seqmtl.adaptation.adapt` for the relatives of an organism.

    Raises
    ------
    SeqmtlError
        If a tree is given that is not used.
    """
    if like == AUTO and tree is not None:
        raise SeqmtlError(f"--like {AUTO} uses no tree; leave --tree out, or name a relative")
    return {"like": None if like == AUTO else like, "tree": tree}


def check_new(model: PairedModel, name: str, like: str | None, tree: str | None) -> None:
    """Check that a new organism can be added to a paired model, and log its relatives.

    Raises
    ------
    UsageError
        If the model has the organism.
    UnknownTaskError
        If no organism or clade has the name; the message lists near matches.
    """
    from seqmtl.adaptation import adapt
    from seqmtl.linear_model.base import is_known

    if is_known(name, model.tasks):
        raise UsageError(f"organism {name!r} is in the model already; give it another name")
    adapt(model.donor, name, **relatives(like, tree))


def add_unlabelled(
    model: PairedModel,
    name: str,
    genome: str,
    like: str | None,
    tree: str | None,
    introns: str | None = None,
    **how: Any,
) -> SelfTraining:
    """Add an organism to a paired model by its genome, after :func:`check_new`.

    `how` are the checkpoint, and what watches the rounds: see `SelfTraining`.
    """
    from seqmtl.datasets.known_introns import read_known_introns
    from seqmtl.splicing.genome_sample import sample_genome
    from seqmtl.splicing.self_training import SelfTraining

    evidence = None
    if introns is not None:
        evidence = read_known_introns(introns, name, genome, (model.donor, model.acceptor))
        logger.info(
            "%s: %d donors and %d acceptors are known",
            name,
            len(evidence.donors),
            len(evidence.acceptors),
        )
    sample = sample_genome(genome, max(model.donor.length, model.acceptor.length))
    with messages_from(logging.ERROR):
        self_training = SelfTraining(
            model, name, sample, known_introns=evidence, **relatives(like, tree), **how
        )
    if like == AUTO:
        counts = dict(zip(model.donor.tasks, self_training.weights, strict=True))
        counts_text = ", ".join(f"{task} {a:.2f}" for task, a in counts.items())
        logger.info("%s: relatives count by what each finds in the genome: %s", name, counts_text)
    return self_training


def contents_of(
    model: str, genome: str, tree: str | None, introns: str | None
) -> dict[str, str | None]:
    """Return digests of the files that an organism without labels is learnt from, and the version.

    Of a folder, these are its files that are read; a tree that is no file stands for itself.

    Raises
    ------
    OSError
        If a file cannot be read.
    """
    from seqmtl._version import __version__
    from seqmtl.files.catalogue import model_path
    from seqmtl.files.streams import sha256_of
    from seqmtl.relations.ncbi_taxonomy import DUMP

    read = {"model": model_path(model), "genome": genome}
    read |= {"introns": introns} if introns else {}
    if tree is not None and os.path.isfile(tree):
        read["tree"] = tree
    elif tree is not None and os.path.isdir(tree):
        read |= {name: os.path.join(tree, name) for name in DUMP}
    digests = {
        name: sha256_of(path) if os.path.exists(path) else None for name, path in read.items()
    }
    return {"seqmtl_version": __version__, "tree": tree, **digests}


def log_warnings(name: str, facts: Mapping[str, Any]) -> None:
    """Log the expected precision of calls in a genome without labels, and warnings on them."""
    from seqmtl.splicing.model import expectation

    for line in expectation(facts):
        logger.info("%s: %s", name, line)
    for warning in facts["warnings"]:
        logger.warning("%s: %s; check some introns in a genome browser before use", name, warning)


def warn_if_trained_on(
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
    from seqmtl.linear_model.base import is_known

    trained = model.training.get("split", "train")
    if trained != "all" and split not in (None, "all", trained):
        return
    sources = {_real_path(path) for path in model.training.get("sources", [])}
    if not sources.isdisjoint(map(_real_path, paths)):
        rows = ", ".join(paths) + (f", split {trained}" if split else "")
        logger.warning(
            "the model was trained on %s, so %s too good; give examples held out from training%s",
            rows,
            what,
            "" if split else ", or a split column (train, test)",
        )
    elif split is not None and any(is_known(name, model.tasks) for name in names):
        logger.warning(
            "if the model was trained on another copy of these rows (split %s of %s), %s too good",
            trained,
            ", ".join(paths),
            what,
        )


def _real_path(path: str) -> str:
    """Return the real path of a file, or of the folder of a dataset."""
    return os.path.realpath(path.removesuffix("windows.tsv"))


def score_labelled(model: MultiTaskModel, source: Any, what: str) -> CandidateScores:
    """Score every candidate of a dataset, or labelled windows, to evaluate a model.

    Warns that `what` is too good if the model was trained on them.
    """
    held, is_split = _score(model, source)
    warn_if_trained_on(model, [source.data], held.names, source.split if is_split else None, what)
    return held


def _score(model: MultiTaskModel, source: Any) -> tuple[CandidateScores, bool]:
    """Return the scores, and whether they are those of the requested split."""
    from seqmtl.commands._examples import read_for_model
    from seqmtl.scanning.candidate_scores import CandidateScores, score_candidates

    if model.can_scan and source.is_dataset:
        split = None if source.split == "all" else source.split
        held = score_candidates(
            model,
            source.data,
            split=split,
            organism=source.organism,
        )
        return held, True
    windows = read_for_model(model, source, require_labels=True)
    site = model.site
    site.check_consensus(windows, windows.labels)
    scores = model.decision_function(windows)
    consensus = site.consensus_of(windows) if len(site.consensus) > 1 else None
    held = CandidateScores(windows.labels, scores, windows.tasks, None, consensus)
    return held, windows.splits is not None
