"""bigWig: one value per base where a site begins, one file per strand."""

from __future__ import annotations

import numpy as np

from seqmtl.files.resumable import PartialFile
from seqmtl.io.bigwig import BigWigLayout, PackedValues
from seqmtl.scan.blocks import Block
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.sink import Sink, Streams, Track

#: Raw scores are rounded to this fraction, an error of at most 6.1e-5, which makes files a fifth
#: smaller. It is a power of two, so that the product is exact.
_PARTS = np.float32(1 << 13)


class BigwigSink(Sink):
    """bigWig of one strand.

    Parameters
    ----------
    path, finder, track
        See :class:`~seqmtl.scan.sink.Sink`; the track names the strand.

    Raises
    ------
    ValueError
        If the lengths of the contigs are unknown.
    """

    sides = ("sections", "zoom")

    def __init__(self, path: str, finder: SiteFinder, track: Track) -> None:
        super().__init__(path, finder, track)
        self._is_reverse = track.strand == "-"
        self._layout = BigWigLayout(track.lengths or {})

    def begin(self, output: PartialFile) -> None:
        """Write a provisional header and the contigs."""
        output.write(self._layout.head())

    def prepare(self, block: Block, streams: Streams) -> tuple[PackedValues, int]:
        """Compress the values of a block."""
        sites = streams[self.finder.signal].on_strand(self._is_reverse)
        values = self.values(sites)
        if self.track.value == "score":
            values = np.rint(values * _PARTS) / _PARTS
        return self._layout.pack(block.piece.name, sites.starts, values), len(sites)

    def join(self, prepared: tuple[PackedValues, int], output: PartialFile) -> None:
        """Write a block, and record the offsets of its sections."""
        packed, n = prepared
        sections = packed.sections.copy()
        sections["offset"] += np.uint64(output.stream().tell())
        output.write(packed.data)
        output.write(sections.tobytes(), "sections")
        output.write(packed.zoom.tobytes(), "zoom")
        self.n_records += n

    def end(self, output: PartialFile) -> None:
        """Write the index and the zoom levels."""
        self._layout.finish(output.stream(), output.stream("sections"), output.stream("zoom"))
