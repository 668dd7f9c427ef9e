"""A semi-Markov chain of coding exons and introns over the candidate sites of both strands.

A parse of a contig says which of its stretches code, on which strand and in which frame, and which
introns are between them; introns keep the phase of the codon that they split. There may be introns
outside coding sequence, too. Neither introns nor coding sequence overlap. The weight of a parse is
the product

- over its introns, of ``exp(scale (s_d + s_a) + shift) g(length)``, where s are the log-odds of the
  two sites, g is the density of intron lengths, a sum of geometric ones from some length on, and
  the shift is that of introns outside or inside coding sequence, with that of rare letters of the
  donor, such as GC, or of U12-type introns, whose donors and acceptors have models of their own,
  and a scale of 1,
- over its coding bases, of ``exp(coding_scale c)``, where c is the content of the base in the frame
  (see :mod:`seqmtl.splicing.coding`),
- over the beginnings and ends of coding sequence, of ``exp(switch)``, but at edges of genes, in
  frame, of ``exp(scale s + shift)``, with the log-odds of the edge by its model, or by the letters
  around start codons and a scale of 1,
- over the exons, of ``1 + exp(exon_shift) h(length)``, where an exon is what lies between two
  introns, if all of it codes, or none, and h is the density of its length times the share of
  introns that an exon follows.

The posterior probability of a site is the share of the parses with an intron that begins or ends
there, by weight. Coding sequence begins or ends at most once between two candidates, and then half
of its content counts on average. (Generalized hidden Markov models of gene finders; with SVM
detectors: Schweikert et al., 2009.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.linear_model.site import SIGNALS as WORDS
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.chain_loops import (
    CODING_END,
    CODING_START,
    INTRON_END,
    INTRON_START,
    list_exons,
    list_introns,
    sum_parses,
)
from seqmtl.splicing.coding import gc_classes
from seqmtl.splicing.coding_loops import sum_content
from seqmtl.splicing.layer import EDGES, ENDS, PairLayer
from seqmtl.splicing.tandem_repeats import in_tandem_repeats

#: Order of the kinds of sites at one position: the same read from either strand.
_ORDER = np.argsort([CODING_END, INTRON_START, INTRON_END, CODING_START])
_CERTAIN = -1e-12  # log of the largest probability
_STRONGEST = 150.0  # log of the largest weight of a site, or of coding between two
_HOPELESS = -700.0  # log of the smallest probability
_LISTED = 1e-6  # least probability of introns that are listed
_LONGEST_EXON = 10_000  # bases of an exon that is listed
_ROUNDING = 1e-6  # of logarithms of sums over parses, at most
_MIN_MARGIN, _MAX_MARGIN = 10_000, 200_000  # bases
_MARGIN = 4  # introns
_MIN_CONTEXT, _MAX_CONTEXT = 3_000, 50_000  # bases
_SPACE = 1_000  # pairs that are listed at once
#: Signals of a chain by number; an odd one ends what the one before begins.
SIGNALS = ENDS + EDGES
_LENGTHS = {signal: len(WORDS[signal].partition(",")[0]) for signal in SIGNALS}  # bases
_NONE = np.empty((0, 2), dtype=np.int64), np.empty(0)  # pairs of sites, and values


class Posteriors(NamedTuple):
    """Logarithms of posterior probabilities.

    Attributes
    ----------
    sites : ndarray of float64, shape (n,)
        Of each site.
    introns : ndarray of int64, shape (m, 2)
        Rows of the sites at which each listed intron starts and ends, by end.
    intron_values : ndarray of float64, shape (m,)
        Of each listed intron.
    exons : ndarray of int64, shape (k, 2)
        Rows of the sites between which each listed exon is: the end of an intron, and the start of
        the next one of the parse, on the same strand.
    exon_values : ndarray of float64, shape (k,)
        Of each listed exon.
    """

    sites: NDArray[np.float64]
    introns: NDArray[np.int64]
    intron_values: NDArray[np.float64]
    exons: NDArray[np.int64]
    exon_values: NDArray[np.float64]


class SiteColumns(NamedTuple):
    """Sites of a chain by position, and their surroundings, as loops take them.

    Attributes
    ----------
    places, phases, strands : ndarray of int64, shape (n,)
        Place, modulo 3 as well, and strand: 0 plus, 1 minus.
    classes : ndarray of int64, shape (n,)
        Class of introns, which begin and end with sites of one class: 0 U2, 1 U12.
    kinds : ndarray of int64, shape (n,)
        What each is along the forward strand, see :mod:`seqmtl.splicing.chain_loops`.
    weights : ndarray of float64, shape (n,)
        Weight of each.
    content : ndarray of float64, shape (n, 6)
        Weight of coding since the site before.
    """

    places: NDArray[np.int64]
    phases: NDArray[np.int64]
    strands: NDArray[np.int64]
    classes: NDArray[np.int64]
    kinds: NDArray[np.int64]
    weights: NDArray[np.float64]
    content: NDArray[np.float64]

    def part(self, rows: slice | NDArray[np.int64]) -> SiteColumns:
        """Return some of the sites."""
        columns: list[Any] = [np.ascontiguousarray(column[rows]) for column in self]
        return SiteColumns(*columns)


class ChainWeights(NamedTuple):
    """Weights of introns and coding sequence, see :class:`seqmtl.splicing.layer.PairLayer`.

    Attributes
    ----------
    introns : ndarray of float64, shape (n,)
        Weights of introns of 0, 1, ... bases, or logarithms of those from the shortest on.
    shortest : int
        Bases of the shortest intron.
    switch : float
        Weight of a beginning or an end of coding sequence, per base.
    shift, coding_shift : float
        Factors of introns outside and inside coding sequence.
    tails : ndarray of float64, shape (m, 2)
        Weight of the first length beyond the last one in each of m tails, or its logarithm, and its
        fall per base; none: no longer introns.
    exons : ndarray of float64, shape (m,)
        Weights of exons of 0, 1, ... bases.
    """

    introns: NDArray[np.float64]
    shortest: int
    switch: float
    shift: float
    coding_shift: float
    tails: NDArray[np.float64]
    exons: NDArray[np.float64]


def context_of(layer: PairLayer) -> int:
    """Return the bases on either side that decide on the probability of a site.

    These are as many as 99.5 % of the introns do not exceed, from 3,000 to 50,000. By what is
    farther away, probabilities change by less than .01 at 99 % of the sites.
    """
    return min(max(_MIN_CONTEXT, layer.span), _MAX_CONTEXT)


def margin_of(layer: PairLayer) -> int:
    """Return the bases beyond which what is there has next to no effect on a site."""
    return min(max(_MIN_MARGIN, _MARGIN * layer.span), _MAX_MARGIN)


def join_ends(
    ends: Mapping[str, Sites],
    codes: NDArray[np.uint8],
    coding: NDArray[np.float32],
    origin: int = 0,
    stretches: NDArray[np.int64] | None = None,
) -> Sites:
    """Join the candidates of a stretch of a contig, with the coding content between them.

    The cost of many short stretches, such as contigs, is that of their bases if they are joined at
    once.

    Parameters
    ----------
    ends : mapping of str to Sites
        Candidates by signal, with ``log_odds`` of a true site, and other columns of all.
    codes : ndarray of uint8
        Letters of the stretch.
    coding : ndarray of float32, shape (3, 3, 1024)
        Coding content, see :class:`seqmtl.splicing.layer.PairLayer`.
    origin : int
        Where the stretch begins, as the sites count.
    stretches : ndarray of int64, shape (m, 2), optional
        First base of each of several stretches, as the sites count, and the base after its last
        one. Default: one, all letters.

    Returns
    -------
    Sites
        By stretch, whose number is in the column ``stretches``, and by position, what ends an exon
        before what begins one, with further columns: ``places`` are the bases of the stretch before
        the end of the intron, or of coding sequence without its stop codon, that is at the site, on
        the forward strand. ``signals`` are numbers in ``SIGNALS``; ``kinds``, of
        :mod:`seqmtl.splicing.chain_loops`, tell what a site is as read on the forward strand.
        ``content``, shape (n, 6), is the coding content from the first site on, see
        :func:`seqmtl.splicing.coding_loops.sum_content`; ``is_tandem`` tells whether a site is in a
        tandem repeat, see :mod:`seqmtl.splicing.tandem_repeats`.
    """
    if stretches is None:
        stretches = np.array([[origin, origin + codes.size]])
    letters = [codes[begin:end] for begin, end in (stretches - origin).tolist()]
    return with_content(place_ends(ends, letters, stretches[:, 0]), letters, coding)


def place_ends(
    ends: Mapping[str, Sites], letters: Sequence[NDArray[np.uint8]], begins: NDArray[np.int64]
) -> Sites:
    """Join candidates as :func:`join_ends` does, but without the coding content between them.

    Parameters
    ----------
    ends : mapping of str to Sites
        Candidates by signal.
    letters : sequence of ndarray of uint8
        Letters of each stretch.
    begins : ndarray of int64, shape (m,)
        First base of each stretch, as the sites count.
    """
    parts = []
    for name, edge in ends.items():
        signal = SIGNALS.index(name)
        is_behind = edge.is_reverse == (name != "acceptor")
        number = np.searchsorted(begins[1:], edge.starts, side="right")
        places = edge.starts - begins[number] + _LENGTHS[name] * is_behind
        columns = {"signals": np.full(len(edge), signal), "kinds": signal ^ edge.is_reverse}
        parts.append(edge.adding(places=places, stretches=number, **columns))
    sites = Sites.join(parts)
    apart = 2 * max(codes.size for codes in letters) * sites["stretches"]
    sites = sites.take(in_chain_order(sites["places"] + apart, sites["kinds"]))
    is_tandem, is_end = np.zeros(len(sites), dtype=np.bool_), sites["signals"] < len(ENDS)
    for k, (codes, begin) in enumerate(zip(letters, begins.tolist(), strict=True)):
        rows = np.flatnonzero(is_end & (sites["stretches"] == k))
        is_tandem[rows] = in_tandem_repeats(codes, sites.starts[rows] - begin)
    return sites.adding(is_tandem=is_tandem)


def with_content(
    sites: Sites, letters: Sequence[NDArray[np.uint8]], coding: NDArray[np.float32]
) -> Sites:
    """Return the candidates of :func:`place_ends` with the coding content between them."""
    content, bounds = np.empty((len(sites), 6)), stretch_rows(sites, len(letters))
    for codes, (first, last) in zip(letters, pairwise(bounds.tolist()), strict=True):
        content[first:last] = content_between(sites["places"][first:last], codes, coding)
    return sites.adding(content=content)


def stretch_rows(sites: Sites, n: int) -> NDArray[np.int64]:
    """Return the first row of each of n stretches, and the row after the last one."""
    return np.searchsorted(sites["stretches"], np.arange(n + 1))


def in_chain_order(places: NDArray[np.int64], kinds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows by position, what ends an exon before what begins one.

    So an intron may begin behind a stop codon and end before a start codon, on either strand.
    """
    return np.argsort(4 * places + _ORDER[kinds], kind="stable")


def content_between(
    places: NDArray[np.int64], codes: NDArray[np.uint8], coding: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the coding content of the letters from the first position to each, shape (n, 6).

    See :func:`seqmtl.splicing.coding_loops.sum_content`.
    """
    content = np.empty((places.size, 6))
    if places.size:
        by_word = np.ascontiguousarray(np.swapaxes(coding, 1, 2))
        sum_content(codes, gc_classes(codes), places, by_word, content)
    return content


def run_chain(
    sites: Sites,
    layer: PairLayer,
    min_probability: float | None = None,
    least_exon: float | None = None,
    bounds: NDArray[np.int64] | None = None,
) -> Posteriors:
    """Return the posterior probabilities of sites, and of introns and exons on request.

    Time is linear in the number of sites times that of the partners within the table of lengths.

    Parameters
    ----------
    sites : Sites
        Candidates of a contig, or of a stretch of one, as :func:`join_ends` returns them; with
        their ``letters`` and ``is_u12``, see :class:`seqmtl.splicing.candidates.EndFinder`, if the
        layer has other donors or U12-type introns.
    layer : PairLayer
        Weights of parses, see :mod:`seqmtl.splicing.chain`.
    min_probability : float, optional
        List the introns of at least this posterior probability, and of .000001. Default: none.
    least_exon : float, optional
        List the exons of at least this posterior probability, and of up to 10,000 bases. Default:
        none.
    bounds : ndarray of int64, shape (m + 1,), optional
        Result of :func:`stretch_rows`, if the sites are of several stretches: no parse goes from
        one to another. Default: one stretch.
    """
    rows_in = promising(sites, layer)
    n_all = len(sites)
    bounds = np.searchsorted(rows_in, [0, n_all] if bounds is None else bounds)
    sites = sites if rows_in.size == n_all else sites.take(rows_in)
    places, signals, kinds = sites["places"], sites["signals"], sites["kinds"]
    scales, shifts = np.full(len(SIGNALS), layer.scale), np.zeros(len(SIGNALS))
    for edge in layer.edges:
        number = SIGNALS.index(edge.signal)
        scales[number] = edge.scale if edge.has_model else 1.0
        shifts[number] = edge.shift
    log_weights = scales[signals] * with_letters(sites, layer) + shifts[signals]
    strands = sites.is_reverse.astype(np.int64)
    classes = np.zeros_like(strands)
    if layer.u12:
        classes += sites["is_u12"]
        of_u12 = sites["log_odds"] + layer.u12.shift * (signals == 0)
        log_weights = np.where(classes, of_u12, log_weights)
    log_weights = np.clip(log_weights, -_STRONGEST, _STRONGEST)  # no product overflows
    content, coded = sites["content"], sites["content"].copy()
    coded[1:] -= content[:-1]
    firsts = bounds[bounds < len(sites)]
    coded[firsts] = content[firsts]
    coded *= layer.coding_scale
    np.exp(np.clip(coded, -_STRONGEST, _STRONGEST, out=coded), out=coded)
    forward = SiteColumns(places, places % 3, strands, classes, kinds, np.exp(log_weights), coded)
    logs = np.array([layer.switch, layer.shift, layer.coding_shift, layer.exon_shift])
    switch, shift, coding_shift, exon_shift = np.exp(np.float64(logs)).tolist()
    weights = ChainWeights(
        np.pad(np.exp(np.float64(layer.introns)), (layer.shortest, 0)),
        layer.shortest,
        switch,
        shift,
        coding_shift,
        np.column_stack([np.exp(layer.tails[:, 0]), layer.tails[:, 1]]),
        exon_shift * layer.exons,
    )
    before, units, after, after_units = _sum_both_ways(forward, weights, bounds)
    with np.errstate(divide="ignore"):
        values = np.log(np.einsum("kq,kq->k", before, after)) + units + after_units
    introns, exons = _NONE, _NONE
    if min_probability is not None:
        floor = np.log(max(min_probability, _LISTED) / layer.ceiling)
        likely = np.flatnonzero(values >= floor - _ROUNDING)  # as probable as any of their introns
        is_end = kinds == INTRON_END
        units_at = np.where(is_end, after_units, units) + log_weights
        rows, listed = _listed(
            list_introns,
            forward.part(likely),
            weights._replace(introns=layer.introns, tails=layer.tails),
            (before[likely], after[likely], units_at[likely]),
            (floor,),
            np.searchsorted(likely, bounds),
        )
        introns = likely[rows], listed
    if least_exon is not None:
        floor = np.log(least_exon / layer.ceiling)
        units_at = np.where(kinds == INTRON_END, units, after_units)
        columns = before, after, units_at, values
        exons = _listed(list_exons, forward, weights, columns, (_LONGEST_EXON, floor), bounds)
    highest, log_p = np.log(layer.ceiling), np.full(n_all, _HOPELESS)
    log_p[rows_in] = _log_p(values + highest)
    introns, exons = (
        (rows_in[rows], _log_p(listed + highest)) for rows, listed in (introns, exons)
    )
    return Posteriors(log_p, *introns, *exons)


def _sum_both_ways(
    sites: SiteColumns, weights: ChainWeights, bounds: NDArray[np.int64]
) -> list[NDArray[np.float64]]:
    """Return the sums over parses before and after each site, each with the units.

    The units before are less the logarithm of the sum over all parses of the stretch.
    """
    n, longest = sites.places.size, int(np.diff(bounds).max())
    space = [
        part
        for k in (4, 2)  # strands and classes of starts, strands of ends
        for part in (np.empty((k, longest), dtype=np.int64), np.empty((k, longest, 4)))
    ]
    before, units, after, after_units = np.empty((n, 4)), np.empty(n), np.empty((n, 4)), np.empty(n)
    for first, last in pairwise(bounds.tolist()):
        rows = slice(first, last)
        part = sites.part(rows)
        sum_parses(part, weights, False, before[rows], units[rows], *space)
        units[rows] -= sum_parses(part, weights, True, after[rows], after_units[rows], *space)
    return [before, units, after, after_units]


def _listed(
    loop: Any,
    sites: SiteColumns,
    weights: ChainWeights,
    columns: Sequence[NDArray[np.float64]],
    limits: Sequence[float],
    bounds: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs of sites that a loop lists in each stretch, and their values."""
    parts = [_NONE]
    pairs, values = np.empty((_SPACE, 2), dtype=np.int64), np.empty(_SPACE)
    for first, last in pairwise(bounds.tolist()):
        given = sites.part(slice(first, last)), weights, *(column[first:last] for column in columns)
        n = loop(*given, *limits, pairs, values)
        if n > values.size:
            pairs, values = np.empty((n, 2), dtype=np.int64), np.empty(n)
            loop(*given, *limits, pairs, values)
        parts.append((pairs[:n] + first, values[:n].copy()))
    rows, listed = (np.concatenate(parts) for parts in zip(*parts, strict=True))
    return rows, listed


def promising(sites: Sites, layer: PairLayer) -> NDArray[np.int64]:
    """Return the rows of the sites that parses may take: their log-odds reach the least.

    None is in a tandem repeat.
    """
    least = np.array([layer.least_of(signal) for signal in SIGNALS])
    is_in = with_letters(sites, layer) >= least[sites["signals"]]
    is_in = is_in | sites["is_u12"] if layer.u12 else is_in
    return np.flatnonzero(is_in & ~sites["is_tandem"])


def either_class(sites: Sites, log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log posterior of the site of each candidate, of either class.

    Parameters
    ----------
    sites : Sites
        Result of :func:`join_ends`: candidates of one site follow each other.
    log_p : ndarray of float64, shape (n,)
        Log posterior of each, as :func:`run_chain` returns it.
    """
    if not sites["is_u12"].any():
        return log_p
    first = is_first_at_site(sites)
    totals = np.logaddexp.reduceat(log_p, np.flatnonzero(first))
    return np.minimum(totals, _CERTAIN)[np.cumsum(first) - 1]


def is_first_at_site(sites: Sites) -> NDArray[np.bool_]:
    """Return which candidates are the first of their site: position, strand and signal."""
    is_first = np.arange(len(sites)) == 0
    for key in (sites["stretches"], sites["places"], sites["kinds"], sites.is_reverse):
        is_first[1:] |= key[1:] != key[:-1]
    return is_first


def with_letters(sites: Sites, layer: PairLayer) -> NDArray[np.float64]:
    """Return the log-odds of sites, less what those with rare letters of a donor lose."""
    log_odds = np.asarray(sites["log_odds"], dtype=np.float64)
    if layer.donors:
        shifts = np.array([0.0, *(one.shift for one in layer.donors)])
        log_odds = log_odds + (shifts / layer.scale)[sites["letters"]]
    return log_odds


def to_log_odds(log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert logarithms of probabilities, as in :class:`Posteriors`, to log-odds."""
    return log_p - np.log(-np.expm1(log_p))


def _log_p(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound probabilities away from 0 and 1, for their log-odds."""
    return np.clip(values, _HOPELESS, _CERTAIN)
