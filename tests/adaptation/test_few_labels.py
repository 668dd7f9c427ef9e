"""Tasks with far fewer labels than the others are learnt after them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl import TaskKernel
from seqmtl.adaptation import adapt
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.features.numeric import Numeric
from seqmtl.sequences.examples import Examples
from seqmtl.training.selection import SearchSpace

NAMES = ("ape", "fly", "man")
TREE = TaskKernel(NAMES, [[4, 0.2, 1.6], [0.2, 1, 0.3], [1.6, 0.3, 1]], "by hand")


class TestFewLabels:
    """Tasks with far fewer labels than the others are learnt afterwards."""

    @staticmethod
    def _data(n_few):
        rng = np.random.default_rng(3)
        ids = np.repeat(np.arange(3), [n_few, 200, 200])
        y = np.where(rng.random(ids.size) < 0.5, 1.0, -1.0)
        X = rng.normal(size=(ids.size, 30)) + y[:, None] * np.eye(30)[0]
        return X, y, ids

    def test_they_are_adapted_from_the_joint_model_of_the_others(self):
        X, y, ids = self._data(30)
        model, solution = train_with_few(
            Examples(X, y, ids, NAMES), SearchSpace.of_sharing(NAMES), features=Numeric()
        )
        others, own = ids > 0, ids == 0
        joint, _ = train_with_few(
            Examples(X[others], y[others], ids[others] - 1, NAMES[1:]),
            SearchSpace.of_sharing(NAMES[1:], TaskKernel.union((*NAMES[1:], NAMES[0]))),
            features=Numeric(),
        )
        adapted = adapt(joint, NAMES[0], X[own], y[own])
        assert model.tasks == NAMES
        for name in NAMES:
            found, expected = (m.decision_function(X, [name] * y.size) for m in (model, adapted))
            assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        assert [*model.training["adapted"]] == [NAMES[0]]
        assert model.training["tasks"][NAMES[0]]["n"] == 30
        assert (solution.alpha[own] == 0.0).all()
        assert (solution.alpha[others] > 0.0).any()

    @pytest.mark.parametrize(
        ("n_few", "space"),
        [
            (50, SearchSpace.of_sharing(NAMES)),  # a quarter of the median
            (3, SearchSpace.of_sharing(NAMES)),  # a class needs two
            (30, SearchSpace.of_cost(TREE, (1.0,))),  # a similarity that is fixed stays fixed
        ],
    )
    def test_others_are_trained_with_the_rest(self, n_few, space):
        X, y, ids = self._data(n_few)
        y[:n_few] = 1.0
        y[: n_few // 2] = -1.0
        model, _ = train_with_few(Examples(X, y, ids, NAMES), space, features=Numeric())
        assert "adapted" not in model.training
