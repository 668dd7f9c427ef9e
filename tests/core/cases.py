"""Small problems for every loss, and what other programs find for them."""

from dataclasses import dataclass

import numpy as np
from sklearn.svm import LinearSVC, LinearSVR

from seqmtl import PositionalKmers
from seqmtl.core import dcd
from seqmtl.core.losses import LOSSES, REGRESSION_LOSSES, find_loss
from seqmtl.core.problem import Problem
from seqmtl.features.numeric import NumericRows
from seqmtl.sequences import Windows
from tests.oracles import svm

EVERY_LOSS = [*LOSSES, *REGRESSION_LOSSES]
BY_LIBLINEAR = ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"]
K3 = np.array([[1.0, 0.6, 0.1], [0.6, 1.5, 0.2], [0.1, 0.2, 0.8]])


@dataclass
class Case:
    """A small problem; `z` are targets in regression, else labels."""

    X: np.ndarray
    z: np.ndarray
    tasks: np.ndarray
    K: np.ndarray
    loss: str = "hinge"
    C: np.ndarray | float = 1.0
    bias: float = 1.0
    epsilon: float = 0.1
    rows: object = None  # default: the numbers X

    @property
    def is_regression(self):
        return self.loss in REGRESSION_LOSSES

    @property
    def y(self):
        return np.ones(self.z.size) if self.is_regression else self.z

    def problem(self):
        C = np.broadcast_to(self.C, self.z.size).astype(float)
        loss = find_loss(self.loss, self.epsilon)
        targets = self.z if self.is_regression else np.zeros(0)
        rows = self.rows or NumericRows(self.X)
        return Problem(rows, self.y, self.tasks, self.K, C, loss, self.bias, targets)

    def solve(self, **options):
        options = {"dtype": np.float64, "max_epochs": 100_000} | options
        return dcd.solve(self.problem(), **options)

    def primal(self, W, b):
        own = (self.X, self.z, self.tasks, self.K, self.C, self.loss)
        return svm.primal(*own, W, np.atleast_1d(b).astype(float), self.bias, self.epsilon)

    def dual(self):
        own = (self.X, self.z, self.tasks, self.K, self.C, self.loss)
        return svm.solve_dual(*own, self.bias, self.epsilon)

    def hessian(self):
        y = self.y
        return np.outer(y, y) * svm.multitask_kernel(self.X, self.tasks, self.K, self.bias)

    def by_liblinear(self):
        """Weights of one task, shape (d, 1), and the intercept."""
        options = {"loss": self.loss, "C": self.C, "tol": 1e-10, "max_iter": 10**6}
        options |= {"fit_intercept": bool(self.bias), "random_state": 0}
        regressor = LinearSVR(epsilon=self.epsilon, **options)
        model = regressor if self.is_regression else LinearSVC(**options)
        model.fit(self.X, self.z)
        return model.coef_.reshape(-1, 1), model.intercept_


def numbers(loss="hinge", n=80, d=6, T=1, seed=0, **options):
    rng = np.random.default_rng(seed)
    X, tasks = rng.standard_normal((n, d)), rng.integers(0, T, n)
    z = (X @ rng.standard_normal((d, T)))[np.arange(n), tasks] + rng.standard_normal(n)
    z = z + 1.0 if loss in REGRESSION_LOSSES else np.sign(z)
    return Case(X, z, tasks, K3[:T, :T] if T > 1 else np.eye(1), loss, **options)


def strings(loss="hinge", degree=4, T=3, features=None, **options):
    rng = np.random.default_rng(0)
    letters = rng.integers(0, 4, (400, 30)).astype(np.uint8)
    y = np.where(rng.random(400) < 0.3, 1.0, -1.0)
    letters[y > 0, 10:14] = np.where(rng.random(((y > 0).sum(), 4)) < 0.8, [0, 2, 1, 1], 3)
    if loss in REGRESSION_LOSSES:
        y = (letters[:, 10:14] == [0, 2, 1, 1]).sum(axis=1) + 0.3 * rng.standard_normal(400)
    windows = Windows(letters.ravel(), np.arange(400) * 30, 30)
    features = PositionalKmers(f"wd:{degree}") if features is None else features
    rows = features.bind(windows)
    X = features.transform(windows).toarray().astype(float)
    return Case(
        X, y, np.arange(400) % T, K3[:T, :T] if T > 1 else np.eye(1), loss, rows=rows, **options
    )
