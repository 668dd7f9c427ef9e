"""Simulate genomes related by a tree, with sites whose motifs drift.

examples:
  seqmtl simulate -o simulated --seed 1
  seqmtl simulate --tree tree.nwk -o simulated --signal donor --windows 500
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
    signal: str = option(
        "signal in the centre of the windows",
        choices=("acceptor", "donor"),
        default="acceptor",
    )
    windows: int = option("training windows per organism", default=1000)
    chromosomes: int = option("chromosomes per organism; the last is the test set", default=3)
    chromosome_length: int = option(
        "bases per chromosome; 1000 windows need about 45000",
        metavar="BP",
        default=200_000,
    )
    no_windows: bool = option("write only genomes, sites and annotation", default=False)

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
        check_folder(self.output, organisms, windows=not self.no_windows)
        simulation = simulate(
            self.tree,
            seed=self.seed,
            n_chromosomes=self.chromosomes,
            chromosome_length=self.chromosome_length,
            n_windows=self.windows,
            signal=self.signal,
        )
        write_simulation(simulation, self.output, windows=not self.no_windows)
        logger.info("%s: %s", self.output, counted(len(simulation.genomes), "organism"))
        return simulation


simulate = python_function(Simulate)
