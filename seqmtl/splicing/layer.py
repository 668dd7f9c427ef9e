"""What the chain of a paired model weighs the parses of an organism by."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import refuse
from seqmtl._schema import choice, items, number
from seqmtl.splicing.genetic_code import STOPS

#: The two ends of introns, and the codons with which coding sequence begins and ends.
ENDS = ("donor", "acceptor")
EDGES = ("start", "stop")
#: Least log-odds of a donor and of an acceptor if parses may take all candidates.
ANY = -1e9
ALL = ANY, ANY
_SPAN = 0.995  # share of introns
#: Size of a scale, and of the logarithm of a weight, whose products are finite.
MAX_WEIGHT = 150.0
SCALE = number(min_val=0, max_val=MAX_WEIGHT)
WEIGHT = number(min_val=-MAX_WEIGHT, max_val=MAX_WEIGHT)


def logit(p: float) -> float:
    """Return the log-odds of a probability."""
    return float(np.log(p / (1 - p)))


def letters(name: str, value: Any) -> None:
    """Check the letters of a donor.

    Raises
    ------
    ValueError
        If they are not two of A, C, G, T.
    """
    if not (isinstance(value, str) and len(value) == 2 and {*value} <= {*"ACGT"}):
        refuse(name, "two of the letters A, C, G, T, such as GC", value)


class Edge(NamedTuple):
    """What an edge of genes weighs: ``exp(scale * log-odds + shift)``.

    Attributes
    ----------
    signal : {"start", "stop"}
        Whether coding sequence begins or ends there.
    scale, shift : float
        Of the log-odds of the model of the signal. Without one, the scale is 0, and start codons
        count by the letters around them (see :mod:`seqmtl.splicing.start_codons`) with a scale of
        1, stop codons alike; with one, it is above.
    least : float
        Least log-odds that parses may take.
    """

    signal: Annotated[str, choice(*EDGES)]
    scale: Annotated[float, SCALE]
    shift: Annotated[float, WEIGHT]
    least: float

    @property
    def has_model(self) -> bool:
        """Whether a model of its signal scores it; otherwise any codon counts."""
        return self.scale > 0


class DonorLetters(NamedTuple):
    """Letters of donors that the site model lacks; they are scored as its own.

    Attributes
    ----------
    letters : str
        Two letters, such as GC.
    shift : float
        Added to the log weight of an intron that begins with them.
    """

    letters: Annotated[str, letters]
    shift: Annotated[float, WEIGHT]


class U12Introns(NamedTuple):
    """U12-type introns, whose donors and acceptors have models of their own.

    Attributes
    ----------
    shift : float
        Added to the log weight of an intron of the class, which is the sum of the log-odds of its
        sites: those at equal numbers of true sites and other candidates.
    least : tuple of float, two
        Least log-odds of a donor and of an acceptor that parses may take.
    """

    shift: Annotated[float, WEIGHT]
    least: Annotated[tuple[float, float], items(number(), 2, max_items=2)]


class PairLayer(NamedTuple):
    """The layer above the sites of one organism; see :mod:`seqmtl.splicing.chain`.

    Attributes
    ----------
    scale : float
        The two log-odds of an intron's sites are multiplied by this.
    shift, coding_shift : float
        Added to the log weight of an intron, outside and inside coding sequence.
    switch : float
        Log weight of a beginning or an end of coding sequence, per base.
    coding_scale : float
        Factor of the coding content; 0 ignores it.
    shortest : int
        Bases of the shortest intron.
    introns : ndarray of float64, shape (n,)
        Log densities of the intron lengths `shortest`, `shortest` + 1, ...
    coding : ndarray of float32, shape (3, 3, 1024)
        By class of the local share of G and C: coding content of the last base of each 5-mer
        (A, C, G, T = 0 to 3, the first base most significant), at the three positions of a codon;
        see :mod:`seqmtl.splicing.coding`.
    n_introns, n_coding, n_sites : int
        Annotated introns behind the lengths, coding bases behind the content, and true sites of the
        organism behind the other values.
    ceiling : float
        Highest probability claimed: posteriors are multiplied by it.
    tails : ndarray of float64, shape (m, 2)
        Of longer introns, whose density is a sum of m geometric ones: the log density of the first
        length beyond the table, and by how much it falls with each base. Without any, no intron is
        longer.
    least : tuple of float, two
        Least log-odds of a donor and of an acceptor that parses may take.
    exons : ndarray of float64, shape (600,) or (0,)
        Density of the lengths of exons between two introns, of 0, 1, ... bases, if it counts; it
        adds up to the share of introns that such an exon follows.
    exon_shift : float
        Log weight of this density.
    edges : tuple of Edge
        Start and stop codons, with models or without.
    donors : tuple of DonorLetters
        Letters of donors beside those of the site model.
    u12 : U12Introns, optional
        U12-type introns, if the organism has any.
    stops : tuple of str
        Stop codons.
    """

    scale: float
    shift: float
    coding_shift: float
    switch: float
    coding_scale: float
    shortest: int
    introns: NDArray[np.float64]
    coding: NDArray[np.float32]
    n_introns: int = 0
    n_coding: int = 0
    n_sites: int = 0
    ceiling: float = 1.0
    tails: NDArray[np.float64] = np.zeros((0, 2))
    least: tuple[float, float] = ALL
    exons: NDArray[np.float64] = np.zeros(0)
    exon_shift: float = 0.0
    edges: tuple[Edge, ...] = ()
    donors: tuple[DonorLetters, ...] = ()
    u12: U12Introns | None = None
    stops: tuple[str, ...] = STOPS

    def least_of(self, signal: str) -> float:
        """Return the least log-odds of a site that parses may take; inf if they take none."""
        if signal in ENDS:
            return self.least[ENDS.index(signal)]
        return next((edge.least for edge in self.edges if edge.signal == signal), np.inf)

    def with_odds(self, change: float) -> PairLayer:
        """Return the layer for which introns have other odds, by a change of their logarithm."""
        return self._replace(shift=self.shift + change, coding_shift=self.coding_shift + change)

    def assuming(self, logits: float) -> PairLayer:
        """Return the layer for sites whose log-odds are higher, by the sum of their logits.

        Those of U12-type introns stay as they are, and so do all posteriors.
        """
        change = -self.scale * logits
        u12 = self.u12 and self.u12._replace(shift=self.u12.shift - change)
        return self.with_odds(change)._replace(u12=u12)

    @property
    def longest(self) -> int:
        """Bases of the longest intron whose density is in the table."""
        return self.shortest + self.introns.size - 1

    @property
    def span(self) -> int:
        """Bases that 99.5 % of the introns do not exceed."""
        shares = np.cumsum(np.exp(self.introns))
        if not len(self.tails) or shares[-1] >= _SPAN:
            return self.shortest + int(np.searchsorted(shares, min(_SPAN, shares[-1])))
        masses = np.exp(self.tails[:, 0]) / -np.expm1(-self.tails[:, 1])
        low, high = 0, 1
        while masses @ np.exp(-self.tails[:, 1] * high) > 1 - _SPAN:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            is_more = masses @ np.exp(-self.tails[:, 1] * middle) > 1 - _SPAN
            low, high = (middle, high) if is_more else (low, middle)
        return self.longest + high

    def density(self, n: int) -> NDArray[np.float64]:
        """Return the density of introns of 1 to n bases; longer ones count as n."""
        beyond = np.arange(max(0, n - self.longest))
        tail = np.zeros(beyond.size)
        for first, decay in self.tails.tolist():
            tail += np.exp(first - decay * beyond)
        density = np.concatenate([np.zeros(self.shortest - 1), np.exp(self.introns), tail])
        density = np.pad(density, (0, max(0, n - density.size)))
        density[n - 1] += max(0.0, 1.0 - float(density[:n].sum()))
        return density[:n]
