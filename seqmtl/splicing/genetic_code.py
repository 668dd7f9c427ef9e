"""Stop codons that code for amino acids, as in ciliates: by the taxon, and by the genome."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seqmtl.adaptation.relatives import AUTO
from seqmtl.relations.clades import shipped_clades
from seqmtl.sequences import encode, reverse_complement
from seqmtl.sequences.sites import find_motifs

_T = 3
_SHORTEST = 300  # bases of a reading frame that is taken for coding because of its length
_BY_CHANCE = 0.1  # such frames expected in random sequence of the same local composition
_LOCAL = 10_000  # bases
#: Stop codons of the standard code, and those that code for amino acids in others.
STOPS = ("TAA", "TAG", "TGA")
_REASSIGNED = (["TGA"], ["TAA", "TAG"])
#: Stop codons of nuclear genomes by taxon, the smallest around an organism: codes 1, 6 and 10 of
#: the NCBI. Ciliates of few genomes have more: 27 to 30.
_STOPS_OF_TAXA = {
    "Ciliophora": ("TGA",),
    "Euplotida": ("TAA", "TAG"),
    "Heterotrichea": STOPS,
    "Cladophorales": ("TGA",),
    "Dasycladales": ("TGA",),
    "Spironucleus": ("TGA",),
}
_FAR_MORE = 2.0  # bases in long frames with such a code, for each with the standard one,
_CLEAR_SHARE = 0.25  # and their least share of all: genomes with such codes are dense


def stops_of(organism: str, like: str | None = None) -> tuple[str, ...]:
    """Return the stop codons of an organism by the name of its relative, or else by its own."""
    around = shipped_clades().taxa_around(organism if like in (None, AUTO) else like)
    return next((_STOPS_OF_TAXA[name] for name in around if name in _STOPS_OF_TAXA), STOPS)


def stops_that_code(stretches: Sequence[NDArray[np.uint8]]) -> list[str]:
    """Return the stop codons of the standard code that seem to code for amino acids.

    Where TGA codes, say, genes are open reading frames between TAA and TAG, but standard ones are
    short. So the codons are ignored with which several times more of the sequence is in frames that
    are too long to be there by chance.
    """
    pieces = [
        stretch[first : first + _LOCAL]
        for stretch in stretches
        for first in range(0, stretch.size, _LOCAL)
    ]
    bases = sum(stretch.size for stretch in stretches)
    amounts = []
    for ignored in ([], *_REASSIGNED):
        stops = [word for word in STOPS if word not in ignored]
        amounts.append(
            sum(
                end - start
                for piece in pieces
                for codes in (piece, reverse_complement(piece))
                for start, end in open_frames(codes, _least_length(piece, bases, stops), stops)
            )
        )
    best = int(np.argmax(amounts[1:]))
    is_so = amounts[1 + best] > max(_FAR_MORE * amounts[0], _CLEAR_SHARE * bases)
    return list(_REASSIGNED[best]) if is_so else []


def open_frames(
    codes: NDArray[np.uint8], least: int, stop_codons: Sequence[str] = STOPS
) -> list[tuple[int, int]]:
    """Return the open reading frames of one strand, from stop codon to stop codon.

    A frame has the first base of a codon, and the base after the last one.

    Parameters
    ----------
    codes : ndarray of uint8
        Letters in reading direction.
    least : int
        Fewest bases.
    stop_codons : sequence of str
        Stop codons.
    """
    stops = _stops(codes, stop_codons)
    frames = []
    for frame in range(3):
        ends = stops[stops % 3 == frame]
        for k in np.flatnonzero(np.diff(ends) - 3 >= least).tolist():
            frames.append((int(ends[k]) + 3, int(ends[k + 1])))
    return frames


def _stops(codes: NDArray[np.uint8], stop_codons: Sequence[str]) -> NDArray[np.int64]:
    """Return where reading ends on one strand, in any frame: at stop codons and unknown bases."""
    is_end = np.convolve(codes > _T, np.ones(3, dtype=np.int64), "valid") > 0
    if codes.size < 3:
        return np.zeros(0, dtype=np.int64)
    for word in stop_codons:
        is_end |= find_motifs(codes, [word], False)
    return np.flatnonzero(is_end)


def _least_length(piece: NDArray[np.uint8], n_bases: int, stop_codons: Sequence[str]) -> int:
    """Return the bases of a reading frame that hardly is in `n_bases` random ones like the piece.

    Both strands count.
    """
    counts = np.bincount(piece, minlength=5)[:4]
    both = (counts + counts[::-1] + 1) / (2 * counts.sum() + 4)  # A, C, G, T on both strands
    stop = float(sum(both[encode(word)].prod() for word in stop_codons))
    codons = np.log(_BY_CHANCE / (2 * n_bases * stop)) / np.log1p(-stop)
    return max(_SHORTEST, 3 * int(np.ceil(codons)))
