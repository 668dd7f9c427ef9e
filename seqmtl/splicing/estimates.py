"""What self-training estimates of an organism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.splicing.coding import Content
from seqmtl.splicing.fit import START
from seqmtl.splicing.layer import EDGES, DonorLetters, Edge, PairLayer, U12Introns
from seqmtl.splicing.lengths import LengthTable

#: Least log-odds if parses may take all candidates.
ALL = -1e9, -1e9


@dataclass(frozen=True)
class Estimates:
    """Estimates for an organism without labels.

    Attributes
    ----------
    ends : sequence of (donor, acceptor)
        Site models of every fold, learnt from the others; after a round, of the organism alone.
    whole : (donor, acceptor)
        Their means.
    assumed, shares : tuple of float, two
        Logits of the shares of true sites that the site models assume, and the shares, of donors
        with the letters of the model and of acceptors.
    content : Content
        Coding content.
    lengths : LengthTable
        Lengths of introns.
    donors : tuple of DonorLetters
        Other letters of donors, and how much rarer true sites are among candidates with them.
    u12 : U12Introns, optional
        U12-type introns, if there are any; the shift is the log of their number per other intron.
    n_introns : int
        Number of introns that they are from.
    is_alone : bool
        Whether they are learnt from labelled introns alone.
    least : tuple of float, two
        Least log-odds of a donor and of an acceptor that parses may take.
    """

    ends: Sequence[tuple[MultiTaskModel, MultiTaskModel]]
    whole: tuple[MultiTaskModel, MultiTaskModel]
    assumed: tuple[float, float]
    shares: tuple[float, float]
    content: Content
    lengths: LengthTable
    donors: tuple[DonorLetters, ...] = ()
    u12: U12Introns | None = None
    n_introns: int = 0
    is_alone: bool = False
    least: tuple[float, float] = ALL

    def layer(self, ceiling: float = 1.0) -> PairLayer:
        """Return the layer above the site models."""
        scale = float(np.exp(START["scale"]))
        offset = sum(0.5 * logit(p) - q for p, q in zip(self.shares, self.assumed, strict=True))
        # log-odds of U12-type sites assume no share
        u12 = self.u12 and self.u12._replace(shift=self.u12.shift + sum(self.assumed))
        return PairLayer(
            scale,
            START["shift"] + scale * offset,
            START["coding shift"] + scale * offset,
            START["switch"],
            START["coding scale"],
            self.lengths.shortest,
            self.lengths.introns,
            self.content.table,
            self.n_introns,
            self.content.n_bases,
            0,
            ceiling,
            self.lengths.tails,
            self.least,
            edges=tuple(Edge(kind, 0.0, START[kind], -1e9) for kind in EDGES),
            donors=self.donors,
            u12=u12,
        )


def logit(p: float) -> float:
    """Return the log-odds of a probability."""
    return float(np.log(p / (1 - p)))
