"""Learn the weight of each clade in each view of the sequence.

Simulate six related genomes, let MT-MKL learn the weights of one task kernel per clade in three
views of the windows, and list the weights. Run: python examples/02_learn_similarity.py
"""

from __future__ import annotations

import tempfile

from seqmtl import MultiTaskMKLClassifier, TaskKernel, read_windows
from seqmtl.simulation import default_tree, simulate, write_simulation


def main() -> None:
    """Train and print the weights."""
    with tempfile.TemporaryDirectory() as folder:
        write_simulation(
            simulate(default_tree(), seed=1, n_windows=400, chromosome_length=60_000), folder
        )
        windows = read_windows(f"{folder}/windows.tsv.gz", window=141, split="train")
        clades = TaskKernel.hierarchical(f"{folder}/tree.nwk", windows.task_names)
    views = ["wd:6", "kmers:4/inf@..0", "kmers:4/inf@0.."]  # at the site, upstream, downstream
    mkl = MultiTaskMKLClassifier(features=views, task_kernel=clades, norm=2.0).fit(windows)
    for kernel in mkl.kernel_weights_:
        print(f"{kernel['weight']:.3f}", kernel["view"], ", ".join(kernel["tasks"]), sep="\t")


if __name__ == "__main__":
    main()
