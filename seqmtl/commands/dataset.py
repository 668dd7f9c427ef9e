"""Make labelled windows from genomes and annotations.

examples:
  seqmtl dataset splice.toml -o donors
  seqmtl dataset splice.toml -o acceptors --signal acceptor
  seqmtl train donors --tree tree.nwk -o donor.seqmtl && seqmtl evaluate donor.seqmtl donors

splice.toml (paths are relative to its folder):
  signal = "donor"              # acceptor, tss, start, stop, polya
  window = 241                  # bases, centred on the site; shift moves the window to 3'
  seed = 0
  [sites]
  consensus = "canonical"       # GT, AG; "all", or a list such as ["GT", "GC"]
  min_intron = 20               # sources = ["ensembl"]: keep only these values of column 2
  [junctions]
  min_reads = 3                 # min_share = 0.05: of the reads of the strongest overlapping one
  [decoys]
  ratio = 10                    # per true site
  in_genes = 0.5                # fraction from genes with sites, on the strand of the gene
  clearance = 241               # bases from a decoy to any annotated site, at least; by default
                                # the window, so that their windows do not overlap
  [split]
  by = "auto"                   # contigs, blocks
  valid = 0.1                   # fractions of the sites
  test = 0.2                    # block = 100000
  homologues = true             # false: sites of train related to one of valid or test are left out
  [organisms.worm]
  genome = "worm.fa.gz"
  annotation = "worm.gff3.gz"   # GFF3, GTF, BED12; or sites = "tss.bed.gz", BED6 of the sites;
                                # or junctions = "SJ.out.tab", or BED12, BED6, hints of introns
  [organisms.fly]
  genome = "fly.fa.gz"
  annotation = "fly.gtf.gz"
  contig_names = "names.tsv"    # annotation's name, FASTA's name; allow_missing_contigs = true
  split = { test = ["X"], valid = ["3L"] }
  mask = "unannotated.bed"      # regions to leave out: neither true sites nor decoys

DIR/windows.tsv has one window per line: BED6, then organism, label, split and weight, the number
of genomic positions it represents. The drawn decoys are for training; `seqmtl calibrate` and
`seqmtl evaluate` score every candidate in the regions of a split (DIR/regions.tsv), and count the
annotated sites (DIR/sites.tsv) as true. DIR/excluded.tsv lists what was excluded, and why.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path

from seqmtl._messages import counted
from seqmtl.commands._request import Document, Request, option, python_function, required
from seqmtl.files.write import check_outputs

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Dataset(Request):
    """Make labelled windows from genomes and annotations."""

    config: str = required("TOML file (see below)", metavar="CONFIG", is_positional=True)
    output: str = required("-o", "folder to write", metavar="DIR", affects_output=False)
    signal: str | None = option(
        "override the signal of CONFIG",
        choices=("donor", "acceptor", "tss", "start", "stop", "polya"),
    )

    def run(self) -> Document:
        """Build the dataset, and write it.

        Returns
        -------
        dict
            The summary, as summary.json has it.
        """
        from seqmtl.datasets import read_config, write_dataset
        from seqmtl.io.dataset import MEMBERS

        config = read_config(self.config, signal=self.signal)
        folder = Path(self.output)
        inputs = [self.config, *(path for each in config.organisms.values() for path in each.files)]
        members = [str(folder / name) for name in MEMBERS] if folder.is_dir() else []
        check_outputs(inputs, members)
        started = time.perf_counter()
        summary = write_dataset(config, self.output, command=self.command)
        _log(summary, self.output, time.perf_counter() - started)
        return summary

    def show(self, summary: Document) -> str:
        """Format the counts as a tab-separated table."""
        lines = ["organism\tsites\tdecoys\ttrain\tvalid\ttest\texcluded"]
        for name, facts in summary["organisms"].items():
            of_splits = [f"{row['sites']}+{row['decoys']}" for row in facts["splits"].values()]
            n_excluded = sum(facts["excluded"].values())
            lines.append(
                "\t".join(
                    [name, str(facts["sites"]), str(facts["decoys"]), *of_splits, str(n_excluded)]
                )
            )
        return "\n".join(lines) + "\n"


def _log(summary: Document, folder: str, seconds: float) -> None:
    for reason, count in sorted(summary["excluded"].items(), key=lambda item: -item[1]):
        logger.info("excluded: %s: %d", reason, count)
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
        "%s: %d windows of %s, %d shared between splits or labels, %.1f s",
        folder,
        n_rows,
        counted(len(organisms), "organism"),
        n_leaks,
        seconds,
    )


dataset = python_function(Dataset)
