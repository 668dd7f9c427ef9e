"""bigWig of the values of one strand."""

from __future__ import annotations

import os
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from seqmtl.io.bigwig import BigWigLayout, PackedValues
from seqmtl.scanning.blocks import Block, Finder
from seqmtl.scanning.writers.base import SitesBySignal, SiteWriter, TrackOptions

#: Raw scores are rounded to this fraction, an error of at most 6.1e-5, which makes files a fifth
#: smaller. It is a power of two, so that the product is exact.
_SCORE_STEPS = np.float32(1 << 13)


class BigwigWriter(SiteWriter):
    """bigWig of one strand.

    Parameters
    ----------
    path, finder, track
        See :class:`~seqmtl.scanning.writers.base.SiteWriter`; the track names the strand.

    Raises
    ------
    ValueError
        If the lengths of the contigs are unknown.
    """

    noun = "values"
    suffixes = (".bw", ".bigwig")
    is_track = lists_contigs = True
    suffix_beside = ".bw"

    def __init__(self, path: str, finder: Finder, track: TrackOptions) -> None:
        super().__init__(path, finder, track)
        self._is_reverse = track.strand == "-"
        self._layout = BigWigLayout(track.lengths)

    def begin(self, output: IO[bytes]) -> None:
        """Write a provisional header and the contigs."""
        output.write(self._layout.head())
        # sections and records of the finest zoom level, from which end() makes index and zooms
        folder = os.path.dirname(os.path.realpath(self.path))
        self._sections, self._zoom = (TemporaryFile(dir=folder) for _ in range(2))

    def format(self, block: Block, sites_by_signal: SitesBySignal) -> tuple[PackedValues, int]:
        """Compress the values of a block."""
        sites = sites_by_signal[self.finder.signal].on_strand(self._is_reverse)
        if self.track.value == "score":
            values = np.rint(sites["scores"] * _SCORE_STEPS) / _SCORE_STEPS
        else:
            values = self.finder.probability(sites["scores"]).astype(np.float32)
        numbers, starts = block.contig.located(sites.starts)
        names = block.contig.names
        return self._layout.pack(names, numbers, starts, values), len(sites)

    def write(self, formatted: tuple[PackedValues, int], output: IO[bytes]) -> None:
        """Write a block, and record the offsets of its sections."""
        (data, sections, zoom), n = formatted
        sections["offset"] += np.uint64(output.tell())
        output.write(data)
        self._sections.write(sections.tobytes())
        self._zoom.write(zoom.tobytes())
        self.n_records += n

    def finish(self, output: IO[bytes]) -> None:
        """Write the index and the zoom levels."""
        self._layout.finish(output, self._sections, self._zoom)

    def close(self) -> None:
        """Close the temporary files."""
        self._sections.close()
        self._zoom.close()
