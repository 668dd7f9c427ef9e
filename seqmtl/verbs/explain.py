"""Show what a model has learned, as figures and tables."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

from seqmtl import _kinds
from seqmtl.request import option, required, verb
from seqmtl.verbs import _options

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
        from seqmtl.verbs._explain_folder import write_folder

        started = time.perf_counter()
        _kinds.require_matplotlib("seqmtl explain")
        summary = write_folder(self)
        seconds = time.perf_counter() - started
        logger.info("%s: %d files, %.1f s", self.output, len(summary["files"]), seconds)
        return summary


explain = verb(Explain)
