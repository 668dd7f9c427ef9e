"""Make labelled windows from genomes and annotations."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqmtl.files.outputs import check_outputs, write_json
from seqmtl.request import option, required, verb
from seqmtl.verbs import _options

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Dataset(_options.Threads):
    """Make labelled windows from genomes and annotations."""

    config: str = required("TOML file (see below)", metavar="CONFIG", is_positional=True)
    output: str = required("-o", "folder to write", metavar="DIR", role="how")
    signal: str | None = option(
        "override the signal of CONFIG",
        choices=("donor", "acceptor", "tss", "start", "stop", "polya"),
    )
    json: str | None = _options.summary_file("write a summary as JSON; - for standard output")
    force: bool = option("write into a folder that holds other files", default=False, role="how")

    def run(self) -> dict[str, Any]:
        """Build the dataset, and write it.

        Returns
        -------
        dict
            The summary, as summary.json has it.
        """
        from seqmtl.datasets import check_folder, read_config, write_dataset
        from seqmtl.io.dataset import MEMBERS

        config = read_config(self.config, signal=self.signal)
        folder = Path(self.output)
        check_folder(folder, force=self.force)
        inputs = [self.config, *(path for each in config.organisms.values() for path in each.files)]
        members = [str(folder / name) for name in MEMBERS] if folder.exists() else []
        check_outputs(inputs, [*members, self.json])
        started = time.perf_counter()
        summary = write_dataset(config, self.output, command=self.command, force=self.force)
        write_json(self.json, summary)
        _log(summary, self.output, time.perf_counter() - started)
        return summary


def _log(summary: dict[str, Any], folder: str, seconds: float) -> None:
    for reason, count in sorted(summary["left_out"].items(), key=lambda item: -item[1]):
        logger.info("left out: %s: %d", reason, count)
    leaks = summary["leakage"]
    between = ("duplicates_between_splits", "overlapping_between_splits")
    n_leaks = leaks["with_both_labels"] + sum(sum(leaks[key].values()) for key in between)
    shares = ", ".join(
        f"{name} {100 * n / leaks['test_sites_compared'][name]:.3g} %"
        for name, n in leaks["test_sites_with_homologue_in_train"].items()
        if leaks["test_sites_compared"][name]
    )
    if shares:
        logger.info("sites of test with a homologue in train (any organism): %s", shares)
    organisms = summary["organisms"].values()
    n_rows = sum(row["sites"] + row["decoys"] for row in organisms)
    logger.info(
        "%s: %d windows of %d organisms, %d shared between splits or labels, %.1f s",
        folder,
        n_rows,
        len(organisms),
        n_leaks,
        seconds,
    )


dataset = verb(Dataset)
