"""Distances between named organisms: symmetric, with a zero diagonal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import match_names
from seqmtl.similarity import checks
from seqmtl.similarity.trees import TreeSource, prune_to


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances between T organisms; immutable.

    Parameters
    ----------
    names : sequence of str
        Organisms, T of them, all different.
    matrix : array_like, shape (T, T)
        Non-negative distances, symmetric, zero on the diagonal; stored as read-only float64.
    source : str, optional
        Origin of the distances, for messages.

    Raises
    ------
    ValueError
        If the shape, the names or the values are invalid.
    """

    names: tuple[str, ...]
    matrix: NDArray[np.float64]
    source: str = "distances"

    def __post_init__(self) -> None:
        names = checks.check_names(self.names)
        D = np.array(self.matrix, dtype=np.float64)
        checks.check_square(names, D, "distances")
        checks.check_not_negative(D, "distances")
        if np.diagonal(D).any():
            i = int(np.argmax(np.diagonal(D)))
            raise ValueError(
                f"distances must be 0 on the diagonal, got {D[i, i]:g} for {names[i]!r}; "
                "similarities are not distances"
            )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "matrix", checks.symmetrized(D))

    @classmethod
    def from_tree(cls, tree: TreeSource, names: Iterable[str] | None = None) -> Distances:
        """Return the path lengths between leaves of a tree.

        Parameters
        ----------
        tree : Tree, str or path-like
            See :func:`seqmtl.similarity.trees.read_tree`.
        names : iterable of str, optional
            Leaves to include, in this order and spelling. Default: all leaves, in their order.

        Raises
        ------
        InputFormatError
            If the tree cannot be read.
        UnknownTaskError
            If a name is not a leaf; the message lists near matches.
        """
        tree, wanted, order = prune_to(tree, names)
        D = tree.distances()[np.ix_(order, order)]
        return cls(wanted, D, f"tree({tree.source})")

    def restrict(self, names: Iterable[str]) -> Distances:
        """Return the distances of some organisms, in the given order and spelling.

        Raises
        ------
        UnknownTaskError
            If a name is unknown; the message lists near matches.
        """
        wanted = tuple(map(str, names))
        order = match_names(wanted, self.names, f"the distances from {self.source}")
        return Distances(wanted, self.matrix[np.ix_(order, order)], self.source)

    def __len__(self) -> int:
        return len(self.names)
