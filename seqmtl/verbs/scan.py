"""Find signals in a genome, or in many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seqmtl.request import verb
from seqmtl.verbs._scan_options import ScanOptions


@dataclass(frozen=True, kw_only=True)
class Scan(ScanOptions):
    """Score every candidate site of a genome, on both strands."""

    def run(self) -> list[dict[str, Any]]:
        """Scan, and write the sites.

        Returns
        -------
        list of dict
            For every scan its organism, files, counts and seconds, as ``json`` has them.
        """
        from seqmtl.verbs._scan_genomes import scan_genomes
        from seqmtl.verbs._scan_one import scan_one

        return scan_one(self) if self.genomes is None else scan_genomes(self)


scan = verb(Scan)
