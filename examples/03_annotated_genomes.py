"""From annotated genomes to genome-wide probabilities, variant effects and model interpretation.

Simulate three related annotated genomes, and do in Python what `seqmtl dataset`, `train`,
`calibrate`, `scan`, `variants` and `explain` do. Run: python examples/03_annotated_genomes.py
"""

from __future__ import annotations

import tempfile
from dataclasses import replace

import numpy as np

from seqmtl import MultiTaskSVC, TaskKernel, read_dataset
from seqmtl.datasets import read_config, write_dataset
from seqmtl.explanation import poim
from seqmtl.io import load_genome, read_summary
from seqmtl.linear_model.site import Site
from seqmtl.scanning.candidate_scores import score_candidates
from seqmtl.scanning.finder import finder_of
from seqmtl.simulation import simulate, write_simulation
from seqmtl.variant_effects import score_variants

TREE = "((ant:0.1,bee:0.1):0.2,cat:0.4);"


def main() -> None:
    """Run all steps."""
    with tempfile.TemporaryDirectory() as folder:
        write_simulation(simulate(TREE, seed=2, chromosome_length=100_000), folder)
        config = read_config(f"{folder}/dataset.toml", signal="donor")
        few = replace(config.decoys, ratio=3)
        write_dataset(replace(config, decoys=few), f"{folder}/donors")
        train = read_dataset(f"{folder}/donors", split="train")
        genome = load_genome(f"{folder}/genomes/bee.fa", padding=141)

        svc = MultiTaskSVC(features="wd:6", task_kernel=TaskKernel.from_tree(TREE))
        model = svc.fit(train).model_
        model.site = Site(**read_summary(f"{folder}/donors")["site"])
        held_out = score_candidates(model, f"{folder}/donors", split="valid")  # every GT
        for name in model.tasks:
            model.calibrate(name, **held_out.of(name))

    codes = genome.contig("chr1")  # scores windows starting at every base of the plus strand
    finder = finder_of(model, "bee")
    p = finder.probability(finder.scanner.scan_contig(codes))
    starts = np.arange(p.size) + model.site.offset
    is_gt = (codes[starts] == 2) & (codes[starts + 1] == 3)
    best = starts[is_gt][np.argmax(p[is_gt])]
    print(f"most probable donor of chr1: {best}, probability {p[is_gt].max():.2f}")

    variant = ("chr1", int(best), "G", "A")  # 0-based
    effect = score_variants(model, genome, [variant], "bee")
    print(f"without its G: gain {effect.changes[0, 0]:.2f}, loss {effect.changes[0, 1]:.2f}")

    letter = max(poim(model, "bee", max_order=1).top(1, 4), key=lambda oligomer: oligomer.Q)
    print(f"most important letter: {letter.letters} at {letter.position:+d} from the site")


if __name__ == "__main__":
    main()
