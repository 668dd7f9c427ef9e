"""Share between months on a cycle, with a Gaussian kernel; then trade off the months.

Simulate presence and absence of a migrating bird. The decision boundary rotates from month to
month. Compare individual models, the union and months on a cycle, and draw the Pareto path. Run:
python examples/03_any_kernel.py
"""

from __future__ import annotations

import numpy as np

from seqmtl import MultiTaskKernelSVC, TaskKernel, TaskScorer, pareto_path

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def simulate(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sites of shape (12 n, 2), whether the bird was present, and months."""
    X, month = rng.standard_normal((12 * n, 2)), np.repeat(np.arange(12), n)
    angle = 2.0 * np.pi * month / 12.0
    x = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]
    return X, np.sin(2.0 * x) + 0.4 * rng.standard_normal(12 * n) > 0.3, np.array(MONTHS)[month]


def main() -> None:
    """Train, print AUROC, draw months.png."""
    rng = np.random.default_rng(0)
    train, test = simulate(15, rng), simulate(500, rng)
    cycle = np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1)
    kernels = {
        "individual": "individual",
        "union": "union",
        "cycle": TaskKernel.graphical(cycle, MONTHS, a=0.25),
    }
    for name, task_kernel in kernels.items():
        svc = MultiTaskKernelSVC("rbf", gamma=1.0, task_kernel=task_kernel, C=3.0).fit(*train)
        print(f"{name:>10}: AUROC {TaskScorer('auroc')(svc, *test):.3f}")
    path = pareto_path(
        *train, kernels=["linear", "rbf:0.3", "rbf:1", "rbf:3"], p=[0.1, 0.5, 1, 2, 10]
    )
    path.plot("months.png")
    print("months.png: what every month gains and loses along the path")


if __name__ == "__main__":
    main()
