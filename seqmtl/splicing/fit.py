"""Fit the layer above two site models on regions that neither was trained on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order
from seqmtl.adaptation.relatives import similarity
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.streams import PathLike
from seqmtl.io.dataset import SplitGenome, read_summary
from seqmtl.linear_model.base import is_known
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.candidates import (
    cut_regions,
    edge_finders,
    end_finders,
    find_piece,
    other_donors,
)
from seqmtl.splicing.chain import SIGNALS, context_of, promising, run_chain, to_log_odds
from seqmtl.splicing.coding import Content, Transcribed, learn_contents, transcribed
from seqmtl.splicing.genetic_code import STOPS, stops_of
from seqmtl.splicing.layer import ANY, EDGES, ENDS, DonorLetters, Edge, PairLayer, logit
from seqmtl.splicing.lengths import LengthTable, annotated_lengths, exon_densities, length_tables
from seqmtl.splicing.model import check_edges, check_ends
from seqmtl.splicing.regions import (
    KnownSites,
    known_sites,
    read_both,
    shared_organisms,
    stretches,
)

logger = logging.getLogger(__name__)


class _Parameter(NamedTuple):
    """A number of the layer to fit: start, bounds, and the spread of organisms around all."""

    start: float
    low: float
    high: float
    spread: float


_SCALE = _Parameter(-0.1, np.log(0.05), np.log(5.0), 0.2)  # of log-odds, as a logarithm
#: The numbers of a layer without models of edges. Of those with one, scale (as a logarithm) and
#: shift replace the weight of any start or stop codon.
NUMBERS = {
    "scale": _SCALE,
    "shift": _Parameter(2.0, -25.0, 25.0, 1.0),
    "coding shift": _Parameter(3.0, -25.0, 25.0, 1.0),
    "switch": _Parameter(-10.5, -14.0, -1.0, 1.0),
    "coding scale": _Parameter(0.4, 0.0, 2.0, 0.3),
    "exon shift": _Parameter(8.5, -10.0, 15.0, 3.0),
    "start": _Parameter(-4.0, -25.0, 25.0, 1.5),
    "stop": _Parameter(-5.0, -25.0, 25.0, 1.5),
}
_SHIFT_OF_DONORS = _Parameter(-4.0, -20.0, 5.0, 1.0)
_SHIFT_OF_EDGE = _Parameter(0.0, -25.0, 25.0, 1.5)
#: Values of a layer to start from.
START = {name: number.start for name, number in NUMBERS.items()}
Values = Mapping[str, float]
_LEVELLED = 100.0  # true sites from which an organism counts about as much as any other
_PIECE = 200_000  # bases of a region that are fitted to at a time
_MAX_SITES = 1_000  # true sites of an organism; no more are fitted to,
_MAX_BASES = 4_000_000  # nor more than so many bases,
_MIN_SITES = 200  # if these have so many true sites
_STEP = 1e-3  # of a number, for the slope
_DAMPING, _EASING = 10.0, 8.0  # of the first step, and its change with each
_MAX_DAMPING = 1e6  # beyond which no step is better
_GAIN = 0.1  # of the log-likelihood, for another step
_LOWEST = -30.0  # log posterior of a true site
_EDGES_LOST = 0.02  # share of the expected edges among the candidates that parses leave out
_LOST = 0.0003  # share of the expected true sites among the candidates that parses leave out


class OrganismData(NamedTuple):
    """Data of one organism for fitting its layer.

    Attributes
    ----------
    pieces : list of Sites
        Candidates with their labels, see :func:`seqmtl.splicing.candidates.find_piece`.
    tables : PairLayer
        Its layer but for the numbers to fit; see :func:`tables_of`. Without true sites among the
        candidates, it has the shared ones.
    offset : float
        Added to the log-odds of an intron's two sites, so that organisms can share shifts.
    denser : float
        Log of how much denser true sites are where the layer is not fitted, too.
    """

    pieces: list[Sites]
    tables: PairLayer
    offset: float
    denser: float

    def layer(self, values: Values) -> PairLayer:
        """Return the layer with these values."""
        scale = float(np.exp(values["scale"]))
        shift, coding_shift = (
            values[name] + scale * self.offset for name in ("shift", "coding shift")
        )
        edges = tuple(
            edge._replace(
                scale=float(np.exp(values[f"{edge.signal} scale"])),
                shift=values[f"{edge.signal} shift"],
            )
            if edge.has_model
            else edge._replace(shift=values[edge.signal])
            for edge in self.tables.edges
        )
        return self.tables._replace(
            scale=scale,
            shift=shift,
            coding_shift=coding_shift,
            switch=values["switch"],
            coding_scale=values["coding scale"],
            exon_shift=values["exon shift"],
            edges=edges,
            donors=tuple(
                one._replace(shift=values[f"{one.letters} donors"]) for one in self.tables.donors
            ),
        )


def tables_of(
    n_introns: int,
    lengths: LengthTable,
    exons: NDArray[np.float64],
    content: Content,
    stops: tuple[str, ...] = STOPS,
    donors: Iterable[str] = (),
) -> PairLayer:
    """Return the layer of what training regions tell, whose numbers are still to be fitted.

    Any codon ends coding sequence; `donors` are letters that the site model lacks.
    """
    return PairLayer(
        scale=1.0,
        shift=0.0,
        coding_shift=0.0,
        switch=0.0,
        coding_scale=0.0,
        **lengths._asdict(),
        coding=content.table,
        n_introns=n_introns,
        n_coding=content.n_bases,
        exons=exons,
        edges=tuple(Edge(kind, 0.0, 0.0, ANY) for kind in EDGES),
        donors=tuple(DonorLetters(letters, 0.0) for letters in donors),
        stops=stops,
    )


def _numbers(tasks: Iterable[OrganismData]) -> dict[str, _Parameter]:
    """Return the numbers of the layers of these organisms."""
    layers = [task.tables for task in tasks]
    every = {(edge.signal, edge.has_model) for layer in layers for edge in layer.edges}
    numbers = {name: number for name, number in NUMBERS.items() if name not in EDGES}
    for kind in EDGES:
        if (kind, False) in every:
            numbers[kind] = NUMBERS[kind]
        if (kind, True) in every:
            numbers |= {f"{kind} scale": _SCALE, f"{kind} shift": _SHIFT_OF_EDGE}
    donors = [one.letters for layer in layers for one in layer.donors]
    numbers |= {f"{letters} donors": _SHIFT_OF_DONORS for letters in donors}
    return numbers


def fit_layer(
    donor: MultiTaskModel,
    acceptor: MultiTaskModel,
    donors: PathLike,
    acceptors: PathLike,
    *,
    edges: Mapping[str, MultiTaskModel] | None = None,
    lengths: Mapping[str, NDArray[np.int64]] | None = None,
    samples: Mapping[str, Transcribed] | None = None,
) -> dict[str, PairLayer]:
    """Fit the layer of every organism: lengths, scales and shifts.

    Lengths are those of the annotation in the training regions. Scale, shifts and the other
    numbers maximize the likelihood of the labels of all candidates in the validation regions, the
    sum of the log posteriors of the true sites and of log(1 - posterior) of the others: scores on
    the training regions are too good, and so would be the layer. Organisms share values, and have
    individual deviations with a Gaussian prior: where there are few sites, they stay close to the
    shared ones.

    The validation regions may have more or fewer sites than the genome, so the odds of introns are
    then multiplied by the density of true sites in these and the training regions, over that in the
    regions fitted on.

    Parameters
    ----------
    donor, acceptor : MultiTaskModel
        Models of the sites.
    donors, acceptors : path-like
        Their datasets.
    edges : mapping of str to MultiTaskModel, optional
        Calibrated models of edges of genes by signal: start, stop. An organism that one lacks goes
        without. Default: any ATG and stop codon may begin and end coding sequence.
    lengths : mapping of str to ndarray of int64, optional
        Lengths of introns, in bases, of organisms that the datasets lack. Their other values are
        the shared ones.
    samples : mapping of str to Transcribed, optional
        Further exons and introns of organisms, for their coding content.

    Raises
    ------
    SeqmtlError
        If models and datasets do not fit together, no organism has a true site in the
        validation regions, or the annotation has no introns.
    """
    edges, of_others = edges or {}, lengths or {}
    check_ends(donor, acceptor)
    check_edges(edges)
    names = shared_organisms(donors, acceptors)
    order = {donor.match(name): name for name in names}
    if missing := [name for name in donor.tasks if name not in order and name not in of_others]:
        raise SeqmtlError(
            f"the datasets must have the organisms of the models, but lack {', '.join(missing)}"
        )
    strands: dict[str, list[KnownSites]] = {}
    pieces, amounts = [], {}
    for task in donor.tasks:
        train = read_both(donors, acceptors, order[task], "train") if task in order else None
        strands[task] = list(known_sites(*train)) if train else []
        pieces.append(transcribed(stretches(*train) if train else []))
        amounts[task] = _count_sites(train) if train else (0, 0)
    annotated = {task: annotated_lengths(sites) for task, sites in strands.items()}
    lengths = {task: of_others.get(task, of_task) for task, of_task in annotated.items()}
    T = len(donor.tasks)
    relatedness = donor.kernel.matrix[:T, :T]
    exons = exon_densities(
        {task: annotated_lengths(sites, of_exons=True) for task, sites in strands.items()},
        annotated,
        relatedness,
    )
    try:
        tables = length_tables(lengths, relatedness)
    except ValueError as error:
        raise SeqmtlError(f"{donors} and {acceptors}: {error}") from error
    for task, sample in (samples or {}).items():
        k = donor.tasks.index(task)
        pieces[k] = pieces[k].plus(sample)
    weights = np.maximum(similarity(relatedness), 0.0) ** 2
    stops = {task: stops_of(task) for task in donor.tasks}
    contents = learn_contents(pieces, weights, stops=list(stops.values()))
    tasks, others = {}, other_donors(donor, donors)
    for task, content in zip(donor.tasks, contents, strict=True):
        of_task = tables_of(
            lengths[task].size, tables[task], exons[task], content, stops[task], others
        )
        if task in order:
            models = {"donor": donor, "acceptor": acceptor, **edges}
            paths, names_of_task = (donors, acceptors), (task, order[task])
            tasks[task] = _read_task(models, paths, names_of_task, of_task, amounts[task])
        else:
            logits = [logit(end.prevalence(task)) for end in (donor, acceptor)]
            tasks[task] = OrganismData([], of_task, -0.5 * float(sum(logits)), 0.0)
    if not any(task.tables.n_sites for task in tasks.values()):
        raise SeqmtlError(f"{donors} and {acceptors} have no true sites in split 'valid'")
    values = fit_numbers(tasks)
    return {name: task.layer(values[name]).with_odds(task.denser) for name, task in tasks.items()}


def _read_task(
    models: Mapping[str, MultiTaskModel],
    paths: tuple[PathLike, PathLike],
    names: tuple[str, str],
    tables: PairLayer,
    in_train: tuple[int, int],
) -> OrganismData:
    """Return what the layer of an organism is fitted to.

    Names are those of the models and of the datasets; `in_train` are the true sites and the bases
    of the training regions.
    """
    task, name = names
    held = read_both(*paths, name, "valid")
    ends = [models[end] for end in ENDS]
    finders = end_finders(ends, task, tables, paths=paths)
    scored = [edge for edge in EDGES if edge in models and is_known(task, models[edge].tasks)]
    tables = tables._replace(
        edges=tuple(edge._replace(scale=float(edge.signal in scored)) for edge in tables.edges)
    )
    of_edges = edge_finders(tables, models, task)
    pieces: list[Sites] = []
    n_sites, n_donors, n_bases, bounds = 0, 0, 0, cut_regions(held[0], context_of(tables), _PIECE)
    for k in np.random.default_rng(0).permutation(len(bounds)).tolist():
        pieces.append(find_piece(finders, held, bounds[k], tables, of_edges))
        if len(pieces) == 1:  # those that are not promising go, as they take time
            edges = tuple(
                edge._replace(least=_least(pieces, edge.signal, _EDGES_LOST))
                if edge.has_model
                else edge
                for edge in tables.edges
            )
            tables = tables._replace(edges=edges)
        first, last, _, _ = bounds[k]
        n_bases += last - first
        is_true = pieces[-1]["labels"] > 0
        n_sites += int(is_true.sum())
        n_donors += int((is_true & (pieces[-1]["signals"] == 0)).sum())
        if n_sites >= _MAX_SITES or (n_bases >= _MAX_BASES and n_sites >= _MIN_SITES):
            break
    logger.info(
        "%s: %d introns and %d coding bases in train, %d true %ss and %d true %ss in valid",
        task,
        tables.n_introns,
        tables.n_coding,
        n_donors,
        ENDS[0],
        n_sites - n_donors,
        ENDS[1],
    )
    density = np.add(in_train, _count_sites(held))
    denser = float(np.log(density[0] / density[1] * n_bases / n_sites)) if n_sites else 0.0
    least = _least(pieces, ENDS[0], _LOST), _least(pieces, ENDS[1], _LOST)
    offset = sum(map(partial(_offset, organism=name), ends, paths))
    fitted = OrganismData(pieces, tables._replace(n_sites=n_sites, least=least), offset, denser)
    layer = fitted.layer({name: edge.start for name, edge in _numbers([fitted]).items()})
    return fitted._replace(pieces=[piece.take(promising(piece, layer)) for piece in pieces])


def _least(pieces: Sequence[Sites], signal: str, lost: float) -> float:
    """Return the log-odds below which so small a share of the true sites is expected."""
    number = SIGNALS.index(signal)
    rows = [(piece["signals"] == number) & (piece["letters"] == 0) for piece in pieces]
    logs = np.sort(
        np.concatenate([piece["log_odds"][of] for piece, of in zip(pieces, rows, strict=True)])
    )
    below = np.cumsum(1 / (1 + np.exp(-logs)))
    row = int(np.searchsorted(below, lost * below[-1])) if logs.size else 0
    return float(logs[row]) if row else ANY


def _count_sites(held: tuple[SplitGenome, SplitGenome]) -> tuple[int, int]:
    """Return the true sites of both signals, and the bases, of regions."""
    n_true = sum(int(sites.is_true.sum()) for sites in known_sites(*held))
    return n_true, int((held[0].regions[:, 1] - held[0].regions[:, 0]).sum())


class _Fit(NamedTuple):
    """Negative log-likelihood of labels, its gradient, and its expected curvature."""

    loss: float
    gradient: NDArray[np.float64]
    curvature: NDArray[np.float64]

    def plus(self, other: _Fit, factor: float = 1.0) -> _Fit:
        """Add a multiple of another one."""
        return _Fit(
            self.loss + factor * other.loss,
            self.gradient + factor * other.gradient,
            self.curvature + factor * other.curvature,
        )


def _fit_piece(piece: Sites, layers: Sequence[PairLayer], steps: NDArray[np.float64]) -> _Fit:
    """Return the fit of the first layer to the labels of a piece.

    The others differ from it by a step of one number each: by their posteriors p, the log-odds z
    of every label y have slopes dz, the gradient is ``sum (p - y) dz``, and the expected
    curvature ``sum p (1 - p) dz dz'``.
    """
    rows = np.flatnonzero(piece["labels"])
    is_true = piece["labels"][rows] > 0
    logs = [np.maximum(run_chain(piece, layer).sites[rows], _LOWEST) for layer in layers]
    at, *beside = map(to_log_odds, logs)
    slopes = (np.array(beside) - at) / steps[:, np.newaxis]
    p = np.exp(logs[0])
    return _Fit(
        -float(logs[0][is_true].sum() + np.log1p(-p[~is_true]).sum()),
        slopes @ (p - is_true),
        (slopes * (p * (1 - p))) @ slopes.T,
    )


def fit_numbers(tasks: Mapping[str, OrganismData]) -> dict[str, Values]:
    """Return the numbers of the layer of each organism, by name.

    They maximize the likelihood of the labels: first those that organisms share, then the deviation
    of each from them, with a Gaussian prior.

    Parameters
    ----------
    tasks : mapping of str to OrganismData
        Organisms, or others that have numbers of their own, such as clades.
    """
    used = [task for task in tasks.values() if task.tables.n_sites]
    numbers = _numbers(tasks.values())
    start, low, high, spread = np.array([*numbers.values()]).T
    shares = [_LEVELLED / (_LEVELLED + task.tables.n_sites) for task in used]

    def fit_of(values: NDArray[np.float64], task: OrganismData) -> _Fit:
        steps = np.where(values + _STEP > high, -_STEP, _STEP)
        layers = [
            task.layer(dict(zip(numbers, point.tolist(), strict=True)))
            for point in (values, *(values + np.diag(steps)))
        ]
        fits = in_order(partial(_fit_piece, layers=layers, steps=steps), task.pieces)
        return reduce(_Fit.plus, fits)

    def shared_fit(values: NDArray[np.float64]) -> _Fit:
        fits = [fit_of(values, task) for task in used]
        total = _prior(values, start, 5 * spread)
        for fit, share in zip(fits, shares if len(used) > 1 else [1.0], strict=True):
            total = total.plus(fit, share)
        return total

    def deviation_fit(values: NDArray[np.float64], task: OrganismData) -> _Fit:
        return _prior(values, shared, spread).plus(fit_of(values, task))

    shared = _best(shared_fit, start, low, high)
    fitted = dict.fromkeys(tasks, shared)
    for name, task in tasks.items() if len(used) > 1 else ():
        if task.tables.n_sites:
            fitted[name] = _best(partial(deviation_fit, task=task), shared, low, high)
    return {
        name: dict(zip(numbers, values.tolist(), strict=True)) for name, values in fitted.items()
    }


def _prior(
    values: NDArray[np.float64], centre: NDArray[np.float64], spread: NDArray[np.float64]
) -> _Fit:
    """Return the fit to a Gaussian prior."""
    away = (values - centre) / spread
    return _Fit(0.5 * float((away**2).sum()), away / spread, np.diag(spread**-2.0))


def _best(
    fit_of: Callable[[NDArray[np.float64]], _Fit],
    start: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the values of the best fit within bounds.

    Steps are those of Newton with the expected curvature (Fisher scoring), whose diagonal is
    raised until they reduce the loss (Levenberg and Marquardt).
    """
    values, at, damping, gain = start, fit_of(start), _DAMPING, np.inf
    while gain >= _GAIN and damping < _MAX_DAMPING:
        is_free = np.where(at.gradient > 0, values > low, values < high)
        free, step = np.flatnonzero(is_free), np.zeros(values.size)
        curvature = at.curvature + damping * np.diag(np.diagonal(at.curvature))
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], at.gradient[free])
        moved = np.clip(values - step, low, high)
        fit = fit_of(moved)
        if fit.loss < at.loss:
            gain, values, at, damping = at.loss - fit.loss, moved, fit, damping / _EASING
        else:
            damping *= _EASING
    return values


def _offset(model: MultiTaskModel, path: PathLike, organism: str) -> float:
    """Return what to add to the log-odds of one end, so that organisms can share a shift.

    This leads from the model's prevalence to the genome's, and takes off half of the genome's: the
    two ends of an intron count its rarity twice.
    """
    facts = read_summary(path)["organisms"][organism]
    share = facts["sites"] / (facts["sites"] + facts["candidates"])
    return 0.5 * logit(share) - logit(model.prevalence(organism))
