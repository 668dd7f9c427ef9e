"""Choose the algorithm that suits a problem.

==================================  =====================================================
1. up to 512 examples               :func:`.gram.solve_small`, on a kernel matrix; the
                                    solvers below begin where it ends, and certify the gap
2. K fixed                          :func:`.dcd.solve`, Algorithm 1 of 2012
3. K fixed, dense and few columns   the same, until :mod:`.newton` is cheaper
4. weights of kernels learnt        :func:`.mkl.solve`, Algorithm 2 of 2015
==================================  =====================================================

Row 1 runs ``gram_epochs`` of :mod:`seqmtl.core.dcd_loops`. The others run ``plain_epoch`` for one
view without pair sums (numbers, hashed features, k-mers anywhere) with K in a single group, that
is, of few tasks or not of a tree; and else ``epoch``, as for exact k-mers by position and for many
tasks of a tree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from seqmtl.core import dcd, gram, mkl
from seqmtl.core.dcd import OnEpoch, Solution, WarmStart
from seqmtl.core.mkl import KernelSet
from seqmtl.core.newton import step_costs, take_steps
from seqmtl.core.norms import positive_weights
from seqmtl.core.problem import Problem


def solve(
    problem: Problem,
    kernels: KernelSet | None = None,
    *,
    tol: float = 1e-3,
    max_epochs: float = 1000,
    dtype: Any = np.float32,
    seed: int = 0,
    start: WarmStart | None = None,
    on_epoch: OnEpoch | None = None,
) -> Solution:
    """Solve a multi-task problem to a relative duality gap.

    A fixed task kernel is Algorithm 1 of Widmer et al. (2012), see :mod:`seqmtl.core.dcd`; kernel
    weights are learnt by Algorithm 2 of Widmer et al. (2015), see :mod:`seqmtl.core.mkl`. The table
    in :mod:`seqmtl.core.solver` has the exceptions.

    Parameters
    ----------
    problem : Problem
        Problem to solve.
    kernels : KernelSet, optional
        Kernels to be weighted, which replace the task kernel of the problem.
    tol : float
        Relative duality gap at which training stops.
    max_epochs : float
        Maximum number of passes over the training data.
    dtype : dtype
        Type of the weights: float32, or float64 for gaps below about 1e-6.
    seed : int
        Seed of the visiting order.
    start : WarmStart, optional
        Where to begin. Default: alpha = 0.
    on_epoch : callable, optional
        See :data:`seqmtl.core.dcd.OnEpoch`.

    Returns
    -------
    Solution
        Weights, dual variables and the gap between their objectives.

    Examples
    --------
    >>> import numpy as np
    >>> from seqmtl.core import Problem, solve
    >>> from seqmtl.features.numeric import NumericRows
    >>> rows = NumericRows(np.array([[0.0], [1.0], [2.0], [3.0]]))
    >>> y, tasks = np.array([-1.0, -1.0, 1.0, 1.0]), np.zeros(4, dtype=int)
    >>> solution = solve(Problem(rows, y, tasks, np.eye(1), np.ones(4)))
    >>> solution.converged
    True
    """
    options = {"dtype": dtype, "seed": seed, "on_epoch": on_epoch, "tol": tol}
    if kernels is not None and len(kernels.views) == 1:  # its weight is 1
        theta = np.ones(1)
        problem = replace(problem, kernel=kernels.combine(theta))
        return replace(solve(problem, max_epochs=max_epochs, start=start, **options), theta=theta)
    if start is None and problem.y.size <= gram.MAX_SMALL:
        start = gram.solve_small(problem, kernels, tol=tol, seed=seed)
    elif start is not None and kernels is not None and not start.theta.all():
        start = start._replace(theta=positive_weights(start.theta, kernels.norm))
    if kernels is not None:
        return mkl.solve(problem, kernels, max_epochs=max_epochs, start=start, **options)
    costs = step_costs(problem)
    if costs is not None:
        return with_second_order(problem, *costs, max_epochs, start, options)
    return dcd.solve(problem, max_epochs=max_epochs, start=start, **options)


def with_second_order(
    problem: Problem,
    patience: float,
    step_work: float,
    max_epochs: float,
    start: WarmStart | None,
    options: dict[str, Any],
) -> Solution:
    """Take second-order steps between two runs of coordinate descent.

    The first ends when it has cost as much as the steps will, `patience`; the second goes on from
    where they end, if rounding keeps them from the tolerance.
    """
    limit = min(max_epochs, patience)
    before = dcd.solve(problem, max_epochs=limit, start=start, **options)
    if before.converged or before.work >= max_epochs:
        return before
    alpha, n_steps = take_steps(problem, before.alpha, options["tol"], before.gap)
    work, n_epochs, start = before.work + n_steps * step_work, before.n_epochs, WarmStart(alpha)
    after = dcd.solve(problem, max_epochs=max_epochs - work, start=start, **options)
    history = [
        replace(now, work=now.work + work, epoch=now.epoch + n_epochs) for now in after.history
    ]
    return replace(
        after,
        n_epochs=after.n_epochs + n_epochs,
        work=after.work + work,
        history=[*before.history, *history],
    )
