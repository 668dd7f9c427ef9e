"""Tables of alleles: checked against the genome, and trimmed to the bases that they change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences import Genome, encode
from seqmtl.sequences.alphabet import OTHER
from seqmtl.variant_effects.allele_loops import find_zones

#: Longest allele that is scored, in bases.
LONGEST = 10_000

#: Distance over which an insertion or deletion in a repeat is followed on either side, in bases.
MAX_SHIFT = 1_000

#: Reasons why an allele is not scored.
REASONS: dict[str, str] = {
    "unknown_contig": "the genome has no such contig",
    "outside_contig": "REF does not lie on the contig",
    "ref_letters": "REF is not made of letters",
    "ref_mismatch": "REF differs from the genome",
    "overlapping_deletion": "ALT is *, a deletion that another record describes",
    "symbolic": "ALT is symbolic, such as <DEL>",
    "breakend": "ALT is a breakend",
    "alt_letters": "ALT has letters other than A, C, G, T, N",
    "too_long": f"REF or ALT is longer than {LONGEST:,} bases",
}

_NO_ALLELES = (b".", b"<NON_REF>", b"<*>")
_ALT_LETTERS = b"ACGTNacgtn"


class Alleles(NamedTuple):
    """Alleles to be scored; positions refer to the genome's buffer.

    Attributes
    ----------
    begins, ends : ndarray of int64, shape (n,)
        Bounds of the contig of each.
    starts, ref_lengths : ndarray of int64, shape (n,)
        Start and number of the bases that the allele replaces.
    alts : ndarray of uint8
        Concatenated letters of all alleles, encoded.
    firsts, alt_lengths : ndarray of int64, shape (n,)
        Start and number of the letters of each in `alts`.
    """

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    ref_lengths: NDArray[np.int64]
    alts: NDArray[np.uint8]
    firsts: NDArray[np.int64]
    alt_lengths: NDArray[np.int64]

    @classmethod
    def of(
        cls, genome: Genome, variants: Iterable[tuple[str, int, bytes, bytes]]
    ) -> tuple[Alleles, list[str]]:
        """Return the alleles that can be scored, and for each of all why it cannot, or "".

        Parameters
        ----------
        genome : Genome
            Reference genome.
        variants : iterable of (contig, start, ref, alt)
            0-based first base of REF, and both alleles. Case is ignored; N and other ambiguity
            codes of REF match every base.
        """
        contigs: dict[str, tuple[int, NDArray[np.uint8]]] = {}
        positions, alts, faults = [], [], []
        for contig, start, ref, alt in variants:
            if contig not in contigs and contig in genome:
                begin = int(genome.starts[genome.index(contig)])
                contigs[contig] = begin, genome.contig(contig)
            begin, letters = contigs.get(contig, (0, None))
            fault = "unknown_contig" if letters is None else _fault(letters, start, ref, alt)
            faults.append(fault)
            if letters is not None and not fault:
                first = begin + start
                is_masked = bool(genome.codes[first : first + 1] == OTHER)
                first, ref, alt = _without_n(first, ref, alt, is_masked)
                positions.append((begin, begin + letters.size, first, len(ref)))
                alts.append(alt)
        columns = np.array(positions, dtype=np.int64).reshape(-1, 4)
        begins, ends, starts, ref_lengths = np.ascontiguousarray(columns.T)
        lengths = np.array([len(alt) for alt in alts], dtype=np.int64)
        codes, firsts = encode(b"".join(alts)), np.cumsum(lengths) - lengths
        return cls(begins, ends, starts, ref_lengths, codes, firsts, lengths), faults

    def zones(self, codes: NDArray[np.uint8], max_shift: int = MAX_SHIFT) -> NDArray[np.int64]:
        """Find the bases that each allele changes, in any representation.

        Bases that REF and ALT share on the left and right are excluded. An insertion or deletion
        with several possible positions (in a repeat) spans all of them.

        Returns
        -------
        ndarray of int64, shape (n, 3)
            Start, length in the reference and length in the alternative.
        """
        zones = np.empty((self.starts.size, 3), dtype=np.int64)
        find_zones(codes, self, max_shift, zones)
        return zones

    def take(self, rows: slice | NDArray[np.int64]) -> Alleles:
        """Return some of the alleles."""
        parts: list[Any] = [column if column is self.alts else column[rows] for column in self]
        return Alleles(*parts)


def _fault(contig: NDArray[np.uint8], start: int, ref: bytes, alt: bytes) -> str:
    """Return why an allele at a base of a contig cannot be scored, or "" if it can."""
    if start < 0 or start + len(ref) > contig.size:
        return "outside_contig"
    if ref and not ref.isalpha():
        return "ref_letters"
    here, letters = contig[start : start + len(ref)], encode(ref)
    if here.tobytes() != letters.tobytes():
        differ = (here != letters) & (here != OTHER) & (letters != OTHER)
        if differ.any():
            return "ref_mismatch"
    return refuse_alt(alt) or ("too_long" if len(ref) > LONGEST else "")


def _without_n(start: int, ref: bytes, alt: bytes, is_masked: bool) -> tuple[int, bytes, bytes]:
    """Return an allele without N where that stands for no letter.

    N at the same end of REF and ALT is the base of the genome. Beside a longer allele, N alone is
    an empty one, as Sniffles writes it: a deletion has its first base at POS, an insertion is
    behind POS. An N of the genome itself is a base.
    """
    if ref[:1].upper() == alt[:1].upper() == b"N":
        start = start + 1
        ref = ref[1:]
        alt = alt[1:]
    elif ref[-1:].upper() == alt[-1:].upper() == b"N":
        ref, alt = ref[:-1], alt[:-1]
    elif alt.upper() == b"N" and len(ref) > 1:
        alt = b""
    elif ref.upper() == b"N" and len(alt) > 1 and not is_masked:
        start = start + 1
        ref = b""
    return start, ref, alt


def is_allele(alt: bytes) -> bool:
    """Return whether an ALT entry is an allele, not ``.``, ``<NON_REF>`` or ``<*>``."""
    return alt not in _NO_ALLELES


def refuse_alt(alt: bytes) -> str:
    """Return why an allele cannot be scored on any genome, or "" if it can."""
    if not alt.strip(_ALT_LETTERS):
        return "too_long" if len(alt) > LONGEST else ""
    if alt == b"*":
        return "overlapping_deletion"
    if alt.startswith(b"<"):
        return "symbolic"
    if b"[" in alt or b"]" in alt or alt.startswith(b".") or alt.endswith(b"."):
        return "breakend"
    return "alt_letters"
