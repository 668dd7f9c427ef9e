"""The evidence for candidates: held-out log-likelihoods, and the weights that follow from them.

Trust, relations and costs are not those of the best candidate but means over all candidates,
weighted by a prior and the exponential of their log-likelihoods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order

Array = NDArray[np.float64]
#: Gives the log-likelihoods of held-out labels.
Candidate = Callable[[], Array]
#: Applies a function to jobs, which can be pickled, and yields the results in order.
Run = Callable[[Callable[[Any], Any], list[Any]], Iterator[Any]]


def weigh(found: Array, prior: Any = 1.0, sharpness: float = 1.0, others: float = 0.0) -> Array:
    """Return the weight of every candidate in every task, shape (R, T).

    Parameters
    ----------
    found : ndarray of float64, shape (R, T)
        Log-likelihoods of the labels of every task.
    prior : float or sequence of float
        Prior weight of every candidate.
    sharpness, others : float
        Factors on a task's own log-likelihood, and on the mean of those of the other tasks.
    """
    own = found - found.mean(axis=0)
    rest = (own.sum(axis=1, keepdims=True) - own) / max(own.shape[1] - 1, 1)
    log = np.reshape(np.log(prior), (-1, 1)) + sharpness * own + others * rest
    weights = np.exp(log - log.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


class Evidence:
    """The values of candidates, each computed once.

    Parameters
    ----------
    known : dict of str to ndarray
        Values by candidate; new ones are added.
    on_score : callable, optional
        Called with a candidate, the number scored so far and the number of all.

    Attributes
    ----------
    n_all : int
        Number of candidates that will be scored.
    """

    def __init__(
        self, known: dict[str, Array], on_score: Callable[[str, int, int], None] | None
    ) -> None:
        self._known, self._on_score = known, on_score
        self._scored: set[str] = set()
        self.n_all = 0

    def score(self, candidates: Mapping[str, Candidate], run: Run = in_order) -> list[Array]:
        """Return the value of every candidate; compute and report those that are not known."""
        missing = [key for key in candidates if key not in self._known]
        found = run(_call, [candidates[key] for key in missing])
        self._scored.update(candidates.keys() - missing)
        for key, value in zip(missing, found, strict=True):
            self._known[key] = value
            self._scored.add(key)
            if self._on_score is not None:
                self._on_score(key, len(self._scored), self.n_all)
        return [self._known[key] for key in candidates]


def _call(candidate: Candidate) -> Array:
    return candidate()
