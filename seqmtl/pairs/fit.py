"""Fit the layer above two site models on regions that neither was trained on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import SeqmtlError
from seqmtl.io.dataset import read_summary
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.paired import ENDS, PairLayer, check_ends
from seqmtl.pairs.candidates import EndFinder, Strand, find_strands
from seqmtl.pairs.chain import run_chain
from seqmtl.pairs.lengths import LEAST_EXON, LengthTables, annotated_lengths, length_tables
from seqmtl.pairs.regions import PathLike, known_sites, read_both, shared_organisms

logger = logging.getLogger(__name__)

# log of the scale, shift, exponent of the exon weights
_START = np.array([0.0, 1.5, 0.8])
_BOUNDS = [(np.log(0.05), np.log(5.0)), (-20.0, 20.0), (0.0, 2.0)]
_SPREAD = np.array([0.2, 1.0, 0.3])  # standard deviations of organisms around the shared values
_LEVELLED = 100.0  # true sites from which an organism counts about as much as any other
_LOWEST = -30.0  # log posterior of a true site


class _Task(NamedTuple):
    """Candidates and lengths of one organism, and what its shift has besides the shared one."""

    strands: list[Strand]
    tables: LengthTables
    offset: float
    n_sites: int

    def layer(self, values: NDArray[np.float64], n_introns: int = 0) -> PairLayer:
        """Return the layer with these values."""
        scale, shift, exon_scale = np.exp(values[0]), values[1], values[2]
        return PairLayer(
            float(scale), float(shift + scale * self.offset), float(exon_scale),
            self.tables.shortest, self.tables.introns, LEAST_EXON, self.tables.exons, n_introns,
            self.n_sites,
        )  # fmt: skip


def fit_layer(
    donor: MultiTaskModel,
    acceptor: MultiTaskModel,
    donors: PathLike,
    acceptors: PathLike,
    *,
    split: str = "valid",
    longest: int | None = None,
) -> dict[str, PairLayer]:
    """Fit the layer of every organism: lengths, scales and shifts.

    Lengths are those of the annotation in the training regions. Scale, shift and the exponent of
    the exon weights maximize the likelihood of the labels of all candidates in `split`, the sum of
    the log posteriors of the true sites and of log(1 - posterior) of the others. Organisms share
    values, and have deviations of their own with a Gaussian prior: where there are few sites, they
    stay close to the shared ones.

    Parameters
    ----------
    donor, acceptor : MultiTaskModel
        Models of the sites.
    donors, acceptors : path-like
        Their datasets.
    split : {"valid", "test", "train"}
        Regions to fit on. Scores on the training regions are too good, and so would be the layer.
    longest : int, optional
        Bases of the longest intron considered, see :func:`seqmtl.pairs.lengths.length_tables`.

    Raises
    ------
    SeqmtlError
        If models and datasets do not fit together, no organism has a true site in `split`, or the
        annotation has no introns.
    """
    check_ends(donor, acceptor)
    names = shared_organisms(donors, acceptors)
    order = {donor.match(name): name for name in names}
    if missing := [name for name in donor.tasks if name not in order]:
        raise SeqmtlError(
            f"the datasets must have the organisms of the models, but lack {', '.join(missing)}"
        )
    lengths = {
        task: annotated_lengths(known_sites(*read_both(donors, acceptors, order[task], "train")))
        for task in donor.tasks
    }
    T = len(donor.tasks)
    try:
        tables = length_tables(lengths, donor.kernel.matrix[:T, :T], longest)
    except ValueError as error:
        raise SeqmtlError(f"{donors} and {acceptors}: {error}") from error
    tasks = {}
    for task in donor.tasks:
        held = read_both(donors, acceptors, order[task], split)
        finders = (
            EndFinder(donor, donors, task, is_donor=True),
            EndFinder(acceptor, acceptors, acceptor.match(task), is_donor=False),
        )
        strands = find_strands(*finders, held)
        n_sites = sum(int((end.labels > 0).sum()) for strand in strands for end in strand)
        offset = _offset(donor, donors, order[task]) + _offset(acceptor, acceptors, order[task])
        tasks[task] = _Task(strands, tables[task], offset, n_sites)
        logger.info(
            "%s: %d introns in train, %d true %ss and %ss in %s",
            task, lengths[task].introns.size, n_sites, *ENDS, split,
        )  # fmt: skip
    if not any(task.n_sites for task in tasks.values()):
        raise SeqmtlError(f"{donors} and {acceptors} have no true sites in split {split!r}")
    values = _fit(tasks)
    return {
        name: task.layer(values[name], lengths[name].introns.size) for name, task in tasks.items()
    }


def log_likelihood(strands: Sequence[Strand], layer: PairLayer) -> float:
    """Return the log-likelihood of the labels of all candidates under the posteriors."""
    total = 0.0
    for donors, acceptors in strands:
        found = run_chain(donors.sites, acceptors.sites, layer)
        for log_p, labels in ((found.donors, donors.labels), (found.acceptors, acceptors.labels)):
            total += float(np.maximum(log_p[labels > 0], _LOWEST).sum())
            total += float(np.log(-np.expm1(log_p[labels < 0])).sum())
    return total


def _fit(tasks: Mapping[str, _Task]) -> dict[str, NDArray[np.float64]]:
    """Return the values of each organism: first the shared ones, then its deviation from them."""
    from scipy.optimize import minimize

    used = [task for task in tasks.values() if task.n_sites]

    def loss(values: NDArray[np.float64], task: _Task) -> float:
        return -log_likelihood(task.strands, task.layer(values))

    def prior(values: NDArray[Any], centre: NDArray[Any], spread: NDArray[Any]) -> float:
        return 0.5 * float((((values - centre) / spread) ** 2).sum())

    def shared_loss(values: NDArray[np.float64]) -> float:
        losses = [
            loss(values, task) * (_LEVELLED / (_LEVELLED + task.n_sites) if len(used) > 1 else 1.0)
            for task in used
        ]
        return sum(losses) + prior(values, _START, 5 * _SPREAD)

    def own_loss(values: NDArray[np.float64], task: _Task) -> float:
        return loss(values, task) + prior(values, shared, _SPREAD)

    def best(loss: Callable[[NDArray[np.float64]], float], start: NDArray[np.float64]) -> Any:
        options = {"eps": 1e-3, "ftol": 1e-6, "maxiter": 50}
        return minimize(loss, start, method="L-BFGS-B", bounds=_BOUNDS, options=options).x

    shared = best(shared_loss, _START)
    found = dict.fromkeys(tasks, shared)
    for name, task in tasks.items() if len(used) > 1 else ():
        if task.n_sites:
            found[name] = best(partial(own_loss, task=task), shared)
    return found


def _offset(model: MultiTaskModel, path: PathLike, organism: str) -> float:
    """Return what to add to the log-odds of one end, so that organisms can share a shift.

    This leads from the model's prevalence to the genome's, and takes off half of the genome's: the
    two ends of an intron count its rarity twice.
    """
    facts = read_summary(path)["organisms"][organism]
    found = facts["sites"] / (facts["sites"] + facts["candidates"])
    assumed = model.prevalence(organism)
    return float(0.5 * np.log(found / (1 - found)) - np.log(assumed / (1 - assumed)))
