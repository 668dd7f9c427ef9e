"""Train together to help an organism with few labelled sites.

Simulate six related genomes, give one organism few labelled splice sites, and compare its
individual model with one that shares along the tree. Run: python examples/01_train_jointly.py
"""

from __future__ import annotations

import tempfile

from sklearn.metrics import average_precision_score

from seqmtl import MultiTaskSVC, TaskKernel, read_windows
from seqmtl.simulation import default_tree, simulate, write_simulation


def main() -> None:
    """Compare the two models."""
    with tempfile.TemporaryDirectory() as folder:
        write_simulation(simulate(default_tree(), seed=1, n_windows={"velia_nigra": 100}), folder)
        windows = read_windows(f"{folder}/windows.tsv.gz", window=141)
        tree = TaskKernel.from_tree(f"{folder}/tree.nwk")
    train, test = windows.select_split("train"), windows.select_split("test")
    few = test[test.tasks == "velia_nigra"]
    for name, kernel in {"individual": "individual", "by the tree": tree}.items():
        svc = MultiTaskSVC(features="wd:8", task_kernel=kernel)
        svc.fit(train, train.labels, tasks=train.tasks)
        scores = svc.decision_function(few)
        print(f"{name:12} AUPRC {average_precision_score(few.labels, scores):.3f}")


if __name__ == "__main__":
    main()
