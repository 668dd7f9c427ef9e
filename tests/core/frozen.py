"""Objectives, gaps and scores of twenty problems, as ``frozen.json`` has them.

``python -m tests.core.frozen`` writes the file anew. Changes of the solver that are not meant to
change what it finds leave it as it is: at a gap of 1e-10 every solver finds the same.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from seqmtl import JointFeatures, PositionalKmers, Spectrum, WeightedDegree
from tests.core import test_mkl
from tests.core.cases import EVERY_LOSS, K3, numbers, strings

PATH = Path(__file__).with_name("frozen.json")
N_SCORES = 20  # of the first examples
TREE = np.array(
    [[1.0, 0.8, 0.1, 0.1], [0.8, 1.0, 0.1, 0.1], [0.1, 0.1, 1.0, 0.6], [0.1, 0.1, 0.6, 1.0]]
)


def frozen_cases():
    """Return the problems by name: losses, task kernels, features, and learnt kernel weights."""
    found = {f"numbers, {loss}": numbers(loss, T=3, epsilon=0.1) for loss in EVERY_LOSS}
    found |= {f"wd:4, {loss}": strings(loss, epsilon=0.1) for loss in EVERY_LOSS}
    found["identity"] = replace(strings(), K=np.eye(3))
    found["union"] = replace(strings(), K=np.ones((3, 3)))
    found["one task, no intercept"] = strings(T=1, bias=0.0)
    found["costs"] = strings(C=np.random.default_rng(1).uniform(0.1, 2.0, 400))
    tree = strings("squared_hinge", features=PositionalKmers(anchor=10))
    found["positional k-mers, tree"] = replace(tree, K=TREE, tasks=np.arange(400) % 4)
    found["spectrum"] = strings(features=Spectrum(k=3))
    joint = strings(features=JointFeatures([WeightedDegree(3), Spectrum(k=2)]))
    found["joint features"] = replace(joint, K=np.stack([K3, np.eye(3)]))
    for loss, norm in (("hinge", 1.0), ("logistic", 2.0), ("squared_hinge", np.inf)):
        found[f"MKL, {loss}, p = {norm}"] = test_mkl.case(norm, loss)
    return found


def solve(case):
    """Return what is frozen of a problem."""
    solution = case.solve(tol=1e-10, max_epochs=100_000)
    return {
        "primal": solution.primal,
        "gap": solution.gap,
        "scores": (case.y * solution.margins)[:N_SCORES].tolist(),
        "theta": solution.theta.tolist(),
    }


if __name__ == "__main__":
    results = {name: solve(case) for name, case in frozen_cases().items()}
    PATH.write_text(json.dumps(results, indent=1) + "\n")
