"""Fit the layer above two site models on regions that neither was trained on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import SeqmtlError
from seqmtl.io.dataset import SplitGenome, read_summary
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.paired import ENDS, PairLayer, check_ends
from seqmtl.pairs.candidates import cut_regions, end_finders, find_piece
from seqmtl.pairs.chain import margin_of, promising, run_chain
from seqmtl.pairs.coding import Content, coding_content, shared_content
from seqmtl.pairs.lengths import LengthTable, annotated_lengths, exon_densities, length_tables
from seqmtl.pairs.regions import PathLike, known_sites, read_both, shared_organisms, stretches
from seqmtl.sequences.sites import Sites

logger = logging.getLogger(__name__)

#: Values of the layer to start from: log of the scale, both shifts, log weight of a switch, scale
#: of the coding content, shift of exons.
START = np.array([-0.1, -2.5, 5.0, -7.0, 0.45, 5.0])
_BOUNDS = [
    (np.log(0.05), np.log(5.0)), (-25.0, 25.0), (-25.0, 25.0), (-14.0, -1.0), (0.0, 2.0),
    (-10.0, 15.0),
]  # fmt: skip
_SPREAD = np.array([0.2, 1.0, 1.0, 1.0, 0.3, 3.0])  # of organisms around the shared values
_LEVELLED = 100.0  # true sites from which an organism counts about as much as any other
_ENOUGH = 1_500  # true sites of an organism; no more are fitted to,
_PIECES = 8  # nor more than so many pieces,
_SOME = 200  # if these have so many true sites
_LOWEST = -30.0  # log posterior of a true site
_LOST = 0.0003  # share of the expected true sites among the candidates that parses leave out


class _Task(NamedTuple):
    """Candidates and lengths of one organism, and what its shift has besides the shared one.

    `denser` is the log of how much denser true sites are where the layer is not fitted, too.
    """

    pieces: list[Sites]
    lengths: LengthTable
    content: Content
    offset: float
    n_introns: int
    n_sites: int
    denser: float
    least: tuple[float, float]
    exons: NDArray[np.float64]

    def layer(self, values: NDArray[np.float64]) -> PairLayer:
        """Return the layer with these values."""
        scale = float(np.exp(values[0]))
        shift, coding_shift = (float(own + scale * self.offset) for own in values[1:3])
        return PairLayer(
            scale, shift, coding_shift, float(values[3]), float(values[4]), self.lengths.shortest,
            self.lengths.introns, self.content.table, self.n_introns, self.content.n_bases,
            self.n_sites, 1.0, self.lengths.decay, self.least, self.exons,
            float(values[5]),
        )  # fmt: skip


def fit_layer(
    donor: MultiTaskModel,
    acceptor: MultiTaskModel,
    donors: PathLike,
    acceptors: PathLike,
    *,
    split: str = "valid",
) -> dict[str, PairLayer]:
    """Fit the layer of every organism: lengths, scales and shifts.

    Lengths are those of the annotation in the training regions. Scale, shifts and the other
    numbers maximize the likelihood of the labels of all candidates in `split`, the sum of
    the log posteriors of the true sites and of log(1 - posterior) of the others. Organisms share
    values, and have deviations of their own with a Gaussian prior: where there are few sites, they
    stay close to the shared ones.

    The regions of `split` may have more or fewer sites than the genome, so the odds of introns are
    then multiplied by the density of true sites in these and the training regions, over that in the
    regions fitted on.

    Parameters
    ----------
    donor, acceptor : MultiTaskModel
        Models of the sites.
    donors, acceptors : path-like
        Their datasets.
    split : {"valid", "test", "train"}
        Regions to fit on. Scores on the training regions are too good, and so would be the layer.

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
    strands = {
        task: list(known_sites(*read_both(donors, acceptors, order[task], "train")))
        for task in donor.tasks
    }
    lengths = {task: annotated_lengths(own) for task, own in strands.items()}
    T = len(donor.tasks)
    relatedness = donor.kernel.matrix[:T, :T]
    exons = exon_densities(
        {task: annotated_lengths(own, of_exons=True) for task, own in strands.items()},
        lengths,
        relatedness,
    )
    try:
        tables = length_tables(lengths, relatedness)
    except ValueError as error:
        raise SeqmtlError(f"{donors} and {acceptors}: {error}") from error
    contents = [
        coding_content(stretches(*read_both(donors, acceptors, order[task], "train")))
        for task in donor.tasks
    ]
    tasks = {
        task: _read_task(
            (donor, acceptor), (donors, acceptors), task, order[task], split, lengths[task],
            (tables[task], exons[task]), content,
        )
        for task, content in zip(
            donor.tasks, shared_content(contents, relatedness), strict=True
        )
    }  # fmt: skip
    if not any(task.n_sites for task in tasks.values()):
        raise SeqmtlError(f"{donors} and {acceptors} have no true sites in split {split!r}")
    values = _fit(tasks)
    return {name: _moved(task.layer(values[name]), task.denser) for name, task in tasks.items()}


def _read_task(
    models: tuple[MultiTaskModel, MultiTaskModel],
    paths: tuple[PathLike, PathLike],
    task: str,
    name: str,
    split: str,
    lengths: NDArray[np.int64],
    densities: tuple[LengthTable, NDArray[np.float64]],
    content: Content,
) -> _Task:
    """Return what the layer of an organism, called `name` in the datasets, is fitted to."""
    train, (table, exons) = read_both(*paths, name, "train"), densities
    probe = PairLayer(1, 0, 0, 0, 0, *table[:2], content.table, decay=table.decay)
    held = read_both(*paths, name, split)
    finders = end_finders(models, paths, task)
    pieces: list[Sites] = []
    n_sites, n_donors, n_bases, bounds = 0, 0, 0, cut_regions(held[0], margin_of(probe))
    for k in np.random.default_rng(0).permutation(len(bounds)).tolist():
        pieces.append(find_piece(finders, held, bounds[k], content.table))
        n_bases += bounds[k].last - bounds[k].first
        is_true = pieces[-1]["labels"] > 0
        n_sites += int(is_true.sum())
        n_donors += int((is_true & pieces[-1]["is_donor"]).sum())
        if n_sites >= _ENOUGH or (len(pieces) >= _PIECES and n_sites >= _SOME):
            break
    offset = sum(_offset(model, path, name) for model, path in zip(models, paths, strict=True))
    logger.info(
        "%s: %d introns and %d coding bases in train, %d true %ss and %d true %ss in %s",
        task, lengths.size, content.n_bases, n_donors, ENDS[0], n_sites - n_donors, ENDS[1], split,
    )  # fmt: skip
    density = np.sum([_count_sites(own) for own in (train, held)], axis=0)
    denser = float(np.log(density[0] / density[1] * n_bases / n_sites)) if n_sites else 0.0
    least = _least(pieces)
    pieces = [piece.take(promising(piece, least)) for piece in pieces]
    return _Task(pieces, table, content, offset, lengths.size, n_sites, denser, least, exons)


def _least(pieces: Sequence[Sites]) -> tuple[float, float]:
    """Return the log-odds of donors and acceptors below which hardly a true site is expected."""
    found = []
    for is_donor in (True, False):
        logs = np.sort(
            np.concatenate([own["log_odds"][own["is_donor"] == is_donor] for own in pieces])
        )
        below = np.cumsum(1 / (1 + np.exp(-logs)))
        row = int(np.searchsorted(below, _LOST * below[-1])) if logs.size else 0
        found.append(float(logs[row]) if row else -1e9)
    return found[0], found[1]


def _count_sites(held: tuple[SplitGenome, SplitGenome]) -> tuple[int, int]:
    """Return the true sites of both signals, and the bases, of regions."""
    n_true = sum(int(own.is_true.sum()) for own in known_sites(*held))
    return n_true, int((held[0].regions[:, 1] - held[0].regions[:, 0]).sum())


def _moved(layer: PairLayer, change: float) -> PairLayer:
    """Return a layer for which introns have other odds, by a change of their logarithm."""
    return layer._replace(shift=layer.shift + change, coding_shift=layer.coding_shift + change)


def log_likelihood(pieces: Sequence[Sites], layer: PairLayer) -> float:
    """Return the log-likelihood of the labels of all candidates under the posteriors."""
    total = 0.0
    for piece in pieces:
        log_p, labels = run_chain(piece, layer).sites, piece["labels"]
        total += float(np.maximum(log_p[labels > 0], _LOWEST).sum())
        total += float(np.log(-np.expm1(log_p[labels < 0])).sum())
    return total


def _fit(tasks: Mapping[str, _Task]) -> dict[str, NDArray[np.float64]]:
    """Return the values of each organism: first the shared ones, then its deviation from them."""
    from scipy.optimize import minimize

    used = [task for task in tasks.values() if task.n_sites]

    def loss(values: NDArray[np.float64], task: _Task) -> float:
        return -log_likelihood(task.pieces, task.layer(values))

    def prior(values: NDArray[Any], centre: NDArray[Any], spread: NDArray[Any]) -> float:
        return 0.5 * float((((values - centre) / spread) ** 2).sum())

    def shared_loss(values: NDArray[np.float64]) -> float:
        losses = [
            loss(values, task) * (_LEVELLED / (_LEVELLED + task.n_sites) if len(used) > 1 else 1.0)
            for task in used
        ]
        return sum(losses) + prior(values, START, 5 * _SPREAD)

    def own_loss(values: NDArray[np.float64], task: _Task) -> float:
        return loss(values, task) + prior(values, shared, _SPREAD)

    def best(loss: Callable[[NDArray[np.float64]], float], start: NDArray[np.float64]) -> Any:
        options = {"eps": 1e-3, "ftol": 1e-5, "maxiter": 50}
        return minimize(loss, start, method="L-BFGS-B", bounds=_BOUNDS, options=options).x

    shared = best(shared_loss, START)
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
