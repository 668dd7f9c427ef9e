"""Stacks of task kernels: every operation on nodes against the same on matrices, by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.core.kernel_stack import MAX_TASKS_AS_MATRIX, KernelStack

T, M, J = 20, 3, 9


@pytest.fixture
def nodes():
    """A few nodes with values on a third of the tasks, and lengths of which a third are 0."""
    rng = np.random.default_rng(4)
    N = rng.random((T, J)) * (rng.random((T, J)) < 0.3)
    return N, rng.random((M, J)) * (rng.random((M, J)) < 0.7)


def brute_force(N, l):
    """Return K_m[s, t] = sum_j l_mj N_sj N_tj, entry by entry."""
    K = np.zeros((M, len(N), len(N)))
    for m, s, t in np.ndindex(K.shape):
        K[m, s, t] = sum(l[m, j] * N[s, j] * N[t, j] for j in range(J))
    return K


def test_both_forms_are_the_same_kernels(nodes):
    rng, K = np.random.default_rng(5), brute_force(*nodes)
    by, A, order = rng.random(T), rng.random((2, M)), rng.permutation(T)[:18]
    for stack in (KernelStack.of_nodes(*nodes), KernelStack(K)):
        assert (stack.nodes is None) == (stack.values.shape == K.shape)
        for found, expected in (
            (stack, K),
            (stack.take(order), K[:, order][:, :, order]),
            (stack.take(slice(18)), K[:, :18, :18]),
            (stack.rescaled(by), K * by[:, None] * by),
            (stack.mix(A), np.tensordot(A, K, 1)),
            (stack.pick([2, 0, 2]), K[[2, 0, 2]]),
            (stack.means([[0, 2], [1]]), [(K[0] + K[2]) / 2, K[1]]),
            (KernelStack.join([stack, stack.pick([1])]), K[[0, 1, 2, 1]]),
            (KernelStack.join([stack, KernelStack(K)]), K[[0, 1, 2, 0, 1, 2]]),
        ):
            assert_allclose(found.matrices(), expected, atol=1e-14)
            assert_allclose(found.diagonals(), np.einsum("mtt->mt", expected), atol=1e-14)


def test_a_part_of_each_task_alone_makes_the_diagonal_1(nodes):
    N, l = nodes
    l /= 2 * brute_force(N, l).max()
    expected = brute_force(N, l)
    for K in expected:
        np.fill_diagonal(K, 1.0)
    for stack in (KernelStack.of_nodes(N, l), KernelStack(brute_force(N, l))):
        assert_allclose(stack.with_unit_diagonals().matrices(), expected, atol=1e-14)


def test_few_tasks_are_matrices_and_unused_nodes_are_dropped(nodes):
    N, l = nodes
    assert KernelStack.of_nodes(N[:MAX_TASKS_AS_MATRIX], l).nodes is None
    assert KernelStack.of_nodes(N[: MAX_TASKS_AS_MATRIX + 1], l).nodes is not None
    none = np.concatenate([N, np.zeros((T, 1)), np.ones((T, 1))], axis=1)
    lengths = np.concatenate([l, np.ones((M, 1)), np.zeros((M, 1))], axis=1)
    used, every = KernelStack.of_nodes(N, l), KernelStack.of_nodes(none, lengths)
    assert_array_equal(every.nodes.toarray(), used.nodes.toarray())


def test_the_kernel_of_some_tasks_is_a_part_of_that_of_all(nodes):
    """To the last bit, however the tasks are ordered."""
    stack, order = KernelStack.of_nodes(*nodes), np.arange(T)[::-2]
    K = stack.matrices()
    assert_array_equal(K, K.swapaxes(1, 2))
    assert_array_equal(stack.take(order).matrices(), K[:, order][:, :, order])
