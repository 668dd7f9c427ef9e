"""Add an organism without labels to a paired model: by its genome, and by its relatives."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._messages import messages_from
from seqmtl._progress import RoundProgress
from seqmtl.adaptation import adapt
from seqmtl.adaptation.relatives import weights_of_relatives
from seqmtl.datasets.known_introns import read_known_introns
from seqmtl.exceptions import UsageError
from seqmtl.linear_model.base import is_known
from seqmtl.splicing.estimates import estimates_of_relatives
from seqmtl.splicing.genetic_code import STOPS, stops_of
from seqmtl.splicing.genome_sample import sample_genome
from seqmtl.splicing.model import ROUNDS, PairedModel, expectation, round_line
from seqmtl.splicing.rounds import SelfTrainingRound
from seqmtl.splicing.self_training import CEILING, SelfTraining
from seqmtl.training.solver import ONE_THREAD

logger = logging.getLogger(__name__)


#: Letters of donors by default.
DONORS = "GT,GC"
_MAX_NAMES = 4  # of relatives in a message
_LEAST = 0.005  # weight of one that is named


def other_donors(model: PairedModel, consensus: str | None) -> tuple[str, ...]:
    """Return the letters of donors beside those of the model.

    Raises
    ------
    UsageError
        If they lack the letters of the model.
    """
    words, of_model = (consensus or DONORS).split(","), model.donor.site.consensus
    if lacking := [word for word in of_model if word not in words]:
        raise UsageError(
            f"must have the letters of the model's donors, {', '.join(lacking)}, got {consensus}: "
            "others are scored as these",
            "consensus",
        )
    return tuple(word for word in words if word not in of_model)


def check_new(
    model: PairedModel,
    name: str,
    like: str | None,
    tree: str | None = None,
    consensus: str | None = None,
) -> None:
    """Check that a new organism can be added to a paired model; warn if its relatives are far.

    Raises
    ------
    UsageError
        If the model has the organism, or letters of donors that `consensus` lacks.
    UnknownTaskError
        If no organism or clade has the name; the message lists near matches.
    """
    if is_known(name, model.tasks):
        raise UsageError(
            f"organism {name!r} is in the model already; leave --like out, or give another name"
        )
    other_donors(model, consensus)
    with messages_from(logging.WARNING):
        adapt(model.donor, name, like=like, tree=tree)


def with_relatives(model: PairedModel, name: str, like: str) -> PairedModel:
    """Return a paired model with an organism that has the mean of its relatives, by their tree.

    Raises
    ------
    UnknownTaskError
        If no organism or clade has the name `like`; the message lists near matches.
    """
    kernel, tasks = model.donor.kernel, model.donor.tasks
    relatives = weights_of_relatives(kernel, tasks, name, like=like)
    weights = relatives.weights
    stops = stops_of(name, like)
    _log_relatives(name, like, tasks, relatives.source, weights, stops)
    estimates = estimates_of_relatives(
        model,
        name,
        weights,
        weights,
        other_donors(model, None),
        stops,
    )
    donor, acceptor = estimates.whole
    return replace(
        model,
        donor=donor,
        acceptor=acceptor,
        layer={**model.layer, name: estimates.layer(CEILING)},
    )


@ONE_THREAD
def add_unlabelled(
    model: PairedModel,
    name: str,
    genome: str,
    like: str | None,
    *,
    tree: str | None = None,
    introns: str | None = None,
    consensus: str | None = None,
    watch: Callable[[int, str, float], object] | None = None,
) -> SelfTraining:
    """Add an organism to a paired model by its genome, after :func:`check_new`.

    Parameters
    ----------
    model : PairedModel
        Model without the organism.
    name : str
        The organism.
    genome : str
        Its genome, a FASTA file.
    like, tree : str, optional
        Its relative, and where that is looked up, see :func:`seqmtl.adaptation.adapt`. How far
        others count, too, is settled on the genome; auto: all organisms of the model, by what each
        finds there.
    introns : str, optional
        Known introns of the genome.
    consensus : str, optional
        Letters that donors may have, separated by commas. Default: GT, GC.
    watch
        See :class:`seqmtl.splicing.self_training.SelfTraining`.
    """
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
            model,
            name,
            sample,
            known_introns=evidence,
            like=like,
            tree=tree,
            watch=watch,
            donors=other_donors(model, consensus),
        )
    source, weights = self_training.relatives.source, self_training.weights
    stops = self_training.state.ratios.stops
    _log_relatives(name, like, model.donor.tasks, source, weights, stops)
    return self_training


def relatives_text(source: str, weights: Mapping[str, float]) -> str:
    """Return where the relatives of an organism are from, and how much each counts."""
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    parts = [f"{task} {weight:.2f}" for task, weight in ranked[:_MAX_NAMES] if weight >= _LEAST]
    others = len(ranked) - len(parts)
    parts += [f"{others} others"] * (others > 0)
    return f"{source.removeprefix('the place of ')}; relatives used: {', '.join(parts)}"


def _log_relatives(
    name: str,
    like: str | None,
    tasks: Sequence[str],
    source: str,
    weights: NDArray[np.float64],
    stops: tuple[str, ...],
) -> None:
    """Log what a relative's name means, which organisms count, and another genetic code."""
    used = {task: weight for task, weight in zip(tasks, weights.tolist(), strict=True) if weight}
    given = "" if like is None else f"--like {like}: "
    code = "" if stops == STOPS else f"; stop codons of its taxon: {', '.join(stops)}"
    logger.info("%s: %s%s%s", name, given, relatives_text(source, used), code)


def train_unlabelled(
    model: PairedModel,
    name: str,
    genome: str,
    like: str | None,
    **options: Any,
) -> SelfTraining:
    """Add an organism to a paired model, and train it in rounds on its genome, which are logged.

    Parameters
    ----------
    model, name, genome, like, **options
        See :func:`add_unlabelled`.
    """
    numbers, progress = itertools.count(), RoundProgress()

    def log_round(round_: SelfTrainingRound) -> None:
        fields = round_._asdict()
        logger.info("%s", round_line(next(numbers), fields))

    try:
        self_training = add_unlabelled(model, name, genome, like, watch=progress, **options)
        logger.info("%s", ROUNDS)
        for round_ in self_training.rounds:
            log_round(round_)
        self_training.train(log_round)
    finally:
        progress.close()
    return self_training


def log_expectation(name: str, facts: Mapping[str, Any]) -> None:
    """Log how many introns are expected in a genome without labels, and how many are called."""
    for line in expectation(facts):
        logger.info("%s: %s", name, line)


def log_warnings(name: str, facts: Mapping[str, Any]) -> None:
    """Log warnings on the calls in a genome without labels."""
    for warning in facts["warnings"]:
        logger.warning("%s: %s; check some introns in a genome browser before use", name, warning)
