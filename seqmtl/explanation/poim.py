"""Positional oligomer importance matrices: the effect of an oligomer at a position on the score.

Q_{k,j}(z) = E[f(X) | X[j:j+k] = z] - E[f(X)] over sequences X of independent, uniform letters
(Sonnenburg, Zien, Philips, Raetsch, "POIMs: positional oligomer importance matrices",
Bioinformatics 24, 2008).

The score f is a sum of w_I(X_I) over intervals I, and those that are disjoint from J = [j, j+k)
cancel. Let T_J(z) be the sum over the intervals that contain J, averaged over all letters outside
J. Let ml and mr be the means over the first and the last letter. Then

    A_{j,k} = w_{j,k} + mr A_{j,k+1},        the intervals that start at j and contain J
    T_{j,k} = A_{j,k} + ml T_{j-1,k+1},      and those that start before

and, as an interval that does not contain the first (last) letter of J does not depend on it,

    Q_{j,k}(z) = Q_{j,k-1}(z without its last letter) + Q_{j+1,k-1}(z without its first)
                 - Q_{j+1,k-2}(z without both)
                 + T_{j,k}(z) - (mr T_{j,k})(.) - (ml T_{j,k})(.) + (ml mr T_{j,k})(.)

so that each value costs a few additions and no sequences are enumerated. T is computed from left to
right, so that the weights of d-mers are needed at two positions at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.position_weights import weights_by_position
from seqmtl.linear_model.site import Site
from seqmtl.sequences import decode

MAX_ORDER = 10
_LETTERS = np.full(4, 0.25)  # probabilities of A, C, G, T


class Oligomer(NamedTuple):
    """One entry of a POIM: order k, position relative to the site, letters z, importance Q.

    `beyond_letters` is the part of Q that its single letters do not explain.
    """

    k: int
    position: int
    letters: str
    Q: float
    beyond_letters: float


@dataclass(frozen=True)
class Poim:
    """Positional oligomer importance of one score.

    Attributes
    ----------
    label : str
        Organism.
    Q : tuple of ndarray of float64
        ``Q[k - 1][j, code]`` for k = 1..K, shape (L - k + 1, 4**k): the change of the expected
        score by the k-mer with this base-4 number (A, C, G, T = 0 to 3, first letter most
        significant) at window position j.
    site : Site
        Position of the signal in the window.
    """

    label: str
    Q: tuple[NDArray[np.float64], ...]
    site: Site

    @property
    def max_order(self) -> int:
        """Largest order K."""
        return len(self.Q)

    @property
    def positions(self) -> NDArray[np.int64]:
        """Position of every base of the window, 0 at the site's first base; shape (L,).

        The position of a k-mer is that of its first base.
        """
        return np.arange(self.Q[0].shape[0]) - self.site.offset

    def importance(self) -> NDArray[np.float64]:
        """Return max over z of abs(Q_{k,j}(z)), shape (K, L); NaN where no k-mer fits."""
        importance = np.full((self.max_order, self.Q[0].shape[0]), np.nan)
        for row, q in zip(importance, self.Q, strict=True):
            row[: q.shape[0]] = np.abs(q).max(axis=1)
        return importance

    def gain(self) -> NDArray[np.float64]:
        """Return the gain of order k over the two (k-1)-mers inside, shape (K, L).

        This is the "differential POIM" of the paper, M_{k,j} - max(M_{k-1,j}, M_{k-1,j+1}), where M
        is the importance. Row 0 is the importance itself.
        """
        M = self.importance()
        gain = M.copy()
        gain[1:, :-1] -= np.fmax(M[:-1, :-1], M[:-1, 1:])
        return gain

    def beyond_letters(self, k: int) -> NDArray[np.float64]:
        """Return Q_{k,j}(z) minus the sum of Q_{1,j+i}(z_i), shape (L - k + 1, 4**k).

        This is the joint effect of the letters of an oligomer. If single letters are important, as
        in a polypyrimidine tract, Q is largest for strings of the best letters; this shows the
        motifs among them.
        """
        joint = self.Q[k - 1].copy()
        n = joint.shape[0]
        for i in range(k):
            by_letter = joint.reshape(n, 4**i, 4, -1)
            by_letter -= self.Q[0][i : i + n, None, :, None]
        return joint

    def top(self, k: int, n: int) -> list[Oligomer]:
        """Return the n k-mers with the largest abs(Q), the largest first.

        Ties go to the leftmost position, then to alphabetical order. Overlapping oligomers are all
        listed.
        """
        q = self.Q[k - 1]
        flat = np.abs(q).ravel()
        n = min(n, flat.size)
        best = np.flatnonzero(flat >= np.partition(flat, flat.size - n)[flat.size - n])
        best = best[np.argsort(-flat[best], kind="stable")][:n]
        rows, codes = np.divmod(best, q.shape[1])
        joint = self.beyond_letters(k)
        return [
            Oligomer(
                k,
                int(row) - self.site.offset,
                oligomer(int(code), k),
                float(q[row, code]),
                float(joint[row, code]),
            )
            for row, code in zip(rows, codes, strict=True)
        ]


def oligomer(code: int, k: int) -> str:
    """Return the letters of the k-mer with this base-4 number."""
    digits = (code >> 2 * np.arange(k - 1, -1, -1)) & 3
    return decode(digits.astype(np.uint8))


def poim(model: MultiTaskModel, organism: str, *, max_order: int = 6) -> Poim:
    """Compute the positional oligomer importance for one organism.

    Parameters
    ----------
    model : MultiTaskModel
        Model of DNA windows.
    organism : str
        Task of the model, or a relative without data.
    max_order : int, default=6
        Largest order K, 1 to 10 and at most the window length.

    Returns
    -------
    Poim
        In units of the score.

    Raises
    ------
    ValueError
        If the order is out of range.
    SeqmtlError
        If the inputs of the model are not DNA windows.
    MemoryLimitError
        If the result, or the model's weights by position, do not fit into memory.
    UnknownTaskError
        If the organism is not in the model.
    """
    limit = min(MAX_ORDER, model.length)
    if not 1 <= max_order <= limit:
        raise ValueError(
            f"max_order must be from 1 to {limit}, got {max_order}; all 4^k oligomers are listed "
            "at every position"
        )
    weights = weights_by_position(model, [organism])
    return Poim(organism, oligomer_importance(weights, model.length, max_order), model.site)


#: A k-mer in a region: begin and end, 0-based half-open and relative to the site's first base; its
#: letters; its weight, and the part of that which its single letters do not explain.
KmerWeight = tuple[int, int, str, float, float]


def mean_kmers(poim: Poim, k: int, n: int) -> list[KmerWeight]:
    """Return the n k-mers of largest weight upstream of the site, and n downstream.

    The weight is the mean of Q_{k,j} over the positions j at which the k-mer lies inside the
    region: the average change of the expected score by one occurrence there. They are ranked by the
    weight beyond their single letters (:meth:`Poim.beyond_letters`), single letters by their
    weight.
    """
    first = poim.site.offset
    after = poim.site.offset + poim.site.length
    L = poim.positions.size
    joint = poim.beyond_letters(k)
    kmers: list[KmerWeight] = []
    for begin, end in ((0, first), (after, L)):
        if end - begin < k:
            continue
        weight, beyond = (q[begin : end - k + 1].mean(axis=0) for q in (poim.Q[k - 1], joint))
        kmers += [
            (begin - first, end - first, oligomer(int(c), k), float(weight[c]), float(beyond[c]))
            for c in np.argsort(-np.abs(beyond if k > 1 else weight), kind="stable")[:n]
        ]
    return kmers


def oligomer_importance(
    weights: Iterable[Sequence[NDArray[np.float64]]], length: int, max_order: int
) -> tuple[NDArray[np.float64], ...]:
    """Return Q_1..Q_K, shapes (L - k + 1, 4**k).

    Parameters
    ----------
    weights : iterable of sequences of ndarray of float64, shapes (4,), (16,), ...
        Weight of every d-mer at each position.
    length : int
        Number of positions L.
    max_order : int
        K.

    Raises
    ------
    MemoryLimitError
        If the result does not fit into memory.
    """
    n_bytes = 8.0 * length * 5 * 4.0**max_order
    require_memory(n_bytes, f"a POIM of order {max_order}", "lower --max-order")
    Q: list[NDArray[np.float64]] = []
    for k, t in enumerate(_containing(weights, length, max_order), 1):
        n = length - k + 1
        if k == 1:
            Q.append(t - (t @ _LETTERS)[:, None])
            continue
        inner = t.reshape(n, 4, -1, 4)  # first letter, letters between, last letter
        without_last, without_first = inner @ _LETTERS, _mean_first(t).reshape(n, -1, 4)
        shorter = Q[-1]
        without_last = shorter[:-1].reshape(n, 4, -1) - without_last
        both = (without_first @ _LETTERS)[:, None, :, None]
        if k > 2:
            both -= Q[-2][1:-1].reshape(n, 1, -1, 1)
        inner += without_last[..., None] + both
        inner += (shorter[1:].reshape(n, -1, 4) - without_first)[:, None]
        Q.append(inner.reshape(n, -1))
    return tuple(Q)


def _containing(
    weights: Iterable[Sequence[NDArray[np.float64]]], length: int, max_order: int
) -> list[NDArray[np.float64]]:
    """Return T_1..T_K, averages of the d-mers that contain each k-mer; (L - k + 1, 4**k)."""
    sums = [np.zeros((length - k + 1, 4**k)) for k in range(1, max_order + 1)]
    before: list[NDArray[np.float64]] = []
    for j, levels in enumerate(weights):
        entries = list(levels[: length - j])
        for k in range(len(entries) - 1, 0, -1):
            entries[k - 1] = entries[k - 1] + entries[k].reshape(-1, 4) @ _LETTERS
        for k, longer in enumerate(before[1 : len(entries) + 1]):
            entries[k] = entries[k] + _mean_first(longer[None])[0]
        for q, t in zip(sums, entries, strict=False):
            q[j] = t
        before = entries
    return sums


def _mean_first(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the first letter of k-mers, shape (n, 4**(k - 1))."""
    means: NDArray[np.float64] = _LETTERS @ values.reshape(values.shape[0], 4, -1)
    return means
