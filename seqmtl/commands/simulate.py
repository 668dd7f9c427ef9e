"""Simulate genomes related by a tree, with sites whose motifs drift.

examples:
  seqmtl simulate -o simulated --seed 1
  seqmtl simulate --tree tree.nwk -o simulated --windows 500
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl._messages import counted, messages_from
from seqmtl.commands import _options
from seqmtl.commands._request import Request, option, python_function, required
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.write import check_outputs

if TYPE_CHECKING:
    from seqmtl.simulation import Simulation

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Simulate(Request):
    """Simulate genomes related by a tree, with sites whose motifs drift, and write them."""

    output: str = required("-o", "folder to write", metavar="DIR", affects_output=False)
    tree: str | None = option("tree (default: six made-up organisms)", metavar="NEWICK")
    seed: int = _options.seed("random seed")
    windows: int = option("training windows of acceptors per organism", default=1000)
    chromosomes: int = option("chromosomes per organism; the last is the test set", default=3)
    chromosome_length: int = option(
        "bases per chromosome; 1000 windows need about 45000",
        metavar="BP",
        default=200_000,
    )

    def run(self) -> Simulation:
        """Simulate, and write the files.

        Returns
        -------
        seqmtl.simulation.Simulation
            Genomes, genes, labelled sites and the tree.
        """
        from seqmtl.simulation import simulate, write_simulation
        from seqmtl.simulation.trees import read_organisms
        from seqmtl.simulation.writing import check_folder, existing_files

        if os.path.isdir(self.output):
            check_outputs([self.tree], existing_files(self.output))
        elif os.path.lexists(self.output):
            raise SeqmtlError(f"cannot write {self.output}: it is a file; choose a folder")
        with messages_from(logging.ERROR):  # they come again
            organisms = read_organisms(self.tree).leaf_names
        check_folder(self.output, organisms)
        simulation = simulate(
            self.tree,
            seed=self.seed,
            n_chromosomes=self.chromosomes,
            chromosome_length=self.chromosome_length,
            n_windows=self.windows,
        )
        write_simulation(simulation, self.output)
        logger.info("%s: %s", self.output, counted(len(simulation.genomes), "organism"))
        return simulation


simulate = python_function(Simulate)
