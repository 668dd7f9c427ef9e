"""``seqmtl explain``: show what a model has learned, as figures and tables."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

from seqmtl.commands import _kinds, _options
from seqmtl.commands._command import Command
from seqmtl.commands._request import option, python_function, required

logger = logging.getLogger("seqmtl")


@dataclass(frozen=True, kw_only=True)
class Explain(_options.GenomeSites, _options.Threads):
    """Show what a model has learned: POIMs, sequence logos, base contributions."""

    model: str = _options.model_file()
    data: str | None = _options.window_data(
        "windows to explain (labels are not needed)", is_required=False
    )
    output: str = required(
        "-o", "folder to write; other files in it are kept", metavar="DIR", role="how"
    )
    organism: str = option("organisms to explain", metavar="NAME,...", default="all")
    reference: str | None = option(
        "organism to compare the others with (default: the mean over all organisms; with two, "
        "the second)",
        metavar="NAME",
    )
    max_order: int = option(
        "length of the longest oligomers, up to 10", metavar="K", kind=_kinds.up_to(10), default=6
    )
    background: str = option(
        "letter frequencies of the background sequences: uniform, as in the organism's windows "
        "in DATA, or four probabilities",
        metavar="uniform|data|A,C,G,T",
        default="uniform",
    )
    top: int = option("oligomers to list per order, and k-mers per region", default=100)
    n_windows: int = option(
        "explain the N highest-scoring windows of DATA per organism (default: 10); the first 3 "
        "are drawn",
        default=10,
    )
    split: str = option(
        "split to use, if DATA has a split column; all for every row", default="test"
    )

    def run(self) -> dict[str, Any]:
        """Write the folder.

        Returns
        -------
        dict
            Its summary.json.
        """
        from seqmtl.commands._explain_folder import write_folder

        started = time.perf_counter()
        _kinds.require_matplotlib("seqmtl explain")
        summary = write_folder(self)
        seconds = time.perf_counter() - started
        logger.info("%s: %d files, %.1f s", self.output, len(summary["files"]), seconds)
        return summary


_TEXT = """\
  seqmtl explain splice.seqmtl -o explained
  seqmtl explain splice.seqmtl --organism c_elegans --reference h_sapiens --max-order 8 -o worm
  seqmtl explain splice.seqmtl windows.tsv.gz --background data -o explained
  seqmtl explain pair.seqmtl --genome worm=worm.fa --sites worm=sites.bed -o explained

Positions are relative to the first base of the site (position 0). Importances are in units of the
score. Files in DIR:
  logo_ORGANISM.png, .svg                  importance of single letters as a sequence logo
  poim_ORGANISM.png, .svg, .tsv            importance by order and position; top oligomers
  poim_difference_A_B.png, .svg            the same for the difference between two organisms
  position_importance.tsv                  the most important oligomer per order and position
  kmers.tsv                                k-mers up- and downstream of the site, with their mean
                                           importance over these positions
  contributions.tsv, contributions_*.png   with DATA: the contribution of every base in the top
                                           windows, and the effect of every substitution
  summary.json                             settings and list of files
The column beyond_letters is the part of an importance that single letters do not explain. It
reveals motifs among letters that are important by themselves; within each region and length,
kmers.tsv is sorted by it.

Letters that sites and decoys share, such as the AG of an acceptor, do not discriminate and thus
have no importance.

For a model of seqmtl pair, name sites of a genome. For each of them, sites.tsv has the log-odds
without and with its partners, and the drop of the latter without each part of the evidence: the
site itself, its best partner, intron lengths, the coding content on either side, and competing
sites within 60 bases (this drop is mostly negative). Its most probable introns are written as
START-END:PROBABILITY."""


COMMAND = Command(
    Explain, "show what a model has learned: POIMs, sequence logos, base contributions", _TEXT
)

explain = python_function(Explain)
