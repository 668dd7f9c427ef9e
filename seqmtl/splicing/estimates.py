"""What self-training estimates of an organism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.adaptation.relatives import extend, similarity
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.splicing.coding import with_stops
from seqmtl.splicing.fit import START
from seqmtl.splicing.genome_sample import FOLDS
from seqmtl.splicing.layer import ALL, ANY, EDGES, DonorLetters, Edge, PairLayer, logit
from seqmtl.splicing.lengths import mixed_table, relatives_density
from seqmtl.splicing.model import PairedModel

#: U12-type introns per other intron to start from, where the relatives have any.
U12_SHARE = 0.003
_DONOR_SHARE = 0.01  # odds of donors with other letters to start from, by those of the others


@dataclass(frozen=True)
class Estimates:
    """Estimates for an organism without labels.

    Attributes
    ----------
    ends : sequence of (donor, acceptor)
        Site models of every fold, learnt from the others; after a round, of the organism alone.
    whole : (donor, acceptor)
        Their means.
    assumed : tuple of float, two
        Logits of the shares of true donors and acceptors that the site models assume.
    ratios : PairLayer
        Layer for log-likelihood ratios of sites, first that of :func:`layer_of_relatives`; the
        shift of U12-type introns is the log of their number per other intron.
    lengths : ndarray of float64
        Density of the relatives' intron lengths 1, 2, ...
    coding : ndarray of float32, shape (3, 3, 1024)
        Coding content of the relatives.
    is_alone : bool
        Whether the site models are learnt from labelled introns alone.
    """

    ends: Sequence[tuple[MultiTaskModel, MultiTaskModel]]
    whole: tuple[MultiTaskModel, MultiTaskModel]
    assumed: tuple[float, float]
    ratios: PairLayer
    lengths: NDArray[np.float64]
    coding: NDArray[np.float32]
    is_alone: bool = False

    def learning(self, **fields: Any) -> Estimates:
        """Return the estimates with other fields of the layer."""
        return replace(self, ratios=self.ratios._replace(**fields))

    def layer(self, ceiling: float = 1.0) -> PairLayer:
        """Return the layer above the site models."""
        return self.ratios.assuming(sum(self.assumed))._replace(ceiling=ceiling)


def estimates_of_relatives(
    model: PairedModel,
    name: str,
    weights: NDArray[np.float64],
    named: NDArray[np.float64],
    donors: Sequence[str],
    stops: tuple[str, ...],
) -> Estimates:
    """Return the estimates for a new organism before its genome is known.

    Parameters
    ----------
    model : PairedModel
        Model of T organisms, without the new one.
    name : str
        The new organism.
    weights : ndarray of float64, shape (T,)
        How much each organism of the model counts, with sum 1.
    named : ndarray of float64, shape (T,)
        The same by its name alone: U12-type introns are possible if most of these have any.
    donors : sequence of str
        Letters that donors may have; those of the model are scored as they are.
    stops : tuple of str
        Stop codons of the organism.
    """
    tasks = model.donor.tasks
    layers = [model.layer[task] for task in tasks]
    donor, acceptor = (
        replace(end, kernel=extend(end.kernel, len(tasks), name, weights))
        for end in (model.donor, model.acceptor)
    )
    assumed = [
        float(weights @ np.array([logit(end.prevalence(task)) for task in tasks]))
        for end in (model.donor, model.acceptor)
    ]
    u12 = [layer.u12 for layer in layers if layer.u12]
    has_u12 = float(named @ np.array([layer.u12 is not None for layer in layers])) > 0.5
    relatives, lengths = layer_of_relatives(model, weights), relatives_density(layers, weights)
    coding = with_stops(relatives.coding, stops)
    ratios = relatives._replace(
        **mixed_table(np.zeros(0, dtype=np.int64), np.zeros(0), lengths)._asdict(),
        coding=coding,
        n_introns=0,
        n_coding=0,
        least=ALL,
        donors=tuple(
            DonorLetters(letters, float(np.log(_DONOR_SHARE)))
            for letters in donors
            if letters not in model.donor.site.consensus
        ),
        u12=u12[0]._replace(shift=float(np.log(U12_SHARE))) if has_u12 else None,
        stops=stops,
    )
    whole = donor, acceptor
    return Estimates([whole] * FOLDS, whole, (assumed[0], assumed[1]), ratios, lengths, coding)


def layer_of_relatives(model: PairedModel, weights: NDArray[np.float64]) -> PairLayer:
    """Return the mean layer of the relatives of an organism, for log-likelihood ratios of sites.

    These are log-odds less the logit of the share of true sites that they assume. Start and stop
    codons have no models, and exons of no organism no lengths that it lacks. Site models of
    relatives are not those that numbers of a genome were fitted with, so a relative with such
    numbers has those of the organism most like it that has others, if any has.

    Parameters
    ----------
    model : PairedModel
        Model of T organisms.
    weights : ndarray of float64, shape (T,)
        How much each counts, with sum 1.
    """
    layers = _likelihood_layers(model)
    has_exons = weights * [layer.exons.size > 0 for layer in layers]
    exons = sum(
        (a * layer.exons for a, layer in zip(has_exons, layers, strict=True) if a), np.zeros(1)
    ) / (has_exons.sum() or 1.0)
    R = similarity(model.donor.kernel.matrix[: len(layers), : len(layers)])
    others = np.array([not layer.n_sites for layer in layers])
    alike = np.where(others, R, -np.inf).argmax(axis=1) if others.any() else np.arange(len(layers))
    return _with_numbers(layers[0], layers, weights @ np.eye(len(layers))[alike])._replace(
        coding=np.tensordot(weights, [layer.coding for layer in layers], 1).astype(np.float32),
        exons=exons if has_exons.any() else np.zeros(0),
        n_sites=0,
    )


def with_numbers_of_genomes(model: PairedModel, layer: PairLayer) -> PairLayer:
    """Return the layer of relatives with the mean numbers of those fitted to genomes, if any are.

    They are for site models of an organism of its own.
    """
    fitted = np.array([float(of.n_sites > 0) for of in model.layer.values()])
    if not fitted.any():
        return layer
    return _with_numbers(layer, _likelihood_layers(model), fitted / fitted.sum())


def _likelihood_layers(model: PairedModel) -> list[PairLayer]:
    """Return the layers of all organisms, for log-likelihood ratios of sites."""
    ends = model.donor, model.acceptor
    return [
        model.layer[task].assuming(-sum(logit(end.prevalence(task)) for end in ends))
        for task in model.donor.tasks
    ]


def _with_numbers(
    layer: PairLayer, layers: Sequence[PairLayer], weights: NDArray[np.float64]
) -> PairLayer:
    """Return a layer with the mean numbers of others; start and stop codons have no models."""

    def mean(name: str) -> float:
        return float(weights @ [getattr(one, name) for one in layers])

    return layer._replace(
        scale=float(np.exp(weights @ np.log([one.scale for one in layers]))),
        shift=mean("shift"),
        coding_shift=mean("coding_shift"),
        switch=mean("switch"),
        coding_scale=mean("coding_scale"),
        exon_shift=mean("exon_shift"),
        edges=tuple(
            Edge(kind, 0.0, float(weights @ [_shift_of(one, kind) for one in layers]), ANY)
            for kind in EDGES
        ),
    )


def _shift_of(layer: PairLayer, kind: str) -> float:
    """Return the log weight of any start or stop codon, typical if the layer has a model of it."""
    shifts = [edge.shift for edge in layer.edges if edge.signal == kind and not edge.has_model]
    return shifts[0] if shifts else START[kind]
