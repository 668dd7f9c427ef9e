"""Format the effects of alleles: VCF header, INFO, and lines of a table."""

from __future__ import annotations

from collections.abc import Sequence

from seqmtl._version import __version__
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import readable
from seqmtl.io.vcf import CHROM, REF, VcfReader, escape
from seqmtl.variants.alleles import REASONS
from seqmtl.variants.effects import Effects

#: Columns of the table.
TABLE = (
    "contig", "pos", "ref", "alt", "organism", "kind",
    "gain", "gain_pos", "gain_offset", "gain_strand",
    "gain_ref_probability", "gain_alt_probability", "gain_ref_score", "gain_alt_score",
    "loss", "loss_pos", "loss_offset", "loss_strand",
    "loss_ref_probability", "loss_alt_probability", "loss_ref_score", "loss_alt_score",
)  # fmt: skip

_LETTER = {"donor": "D", "acceptor": "A", "tss": "T"}
_STRANDS = "+-."  # -1 (none) is the last


class EffectText:
    """Formats the effects on one signal in one organism.

    Parameters
    ----------
    kind : str
        Signal, see :attr:`~seqmtl.models.site.Site.kind`.
    organism : str
        Its organism.

    Attributes
    ----------
    field, skipped_field : str
        INFO entries of the effects, and of the reason why an allele has none.
    """

    def __init__(self, kind: str, organism: str) -> None:
        self.field = f"SeqMTL_{kind}"
        self.skipped_field = f"{self.field}_skipped"
        self._kind, self._organism = kind, organism
        self._escaped = escape(organism)

    def check(self, vcf: VcfReader) -> None:
        """Check that a file does not have the INFO entries already.

        Raises
        ------
        InputFormatError
            If its header declares one.
        """
        names = (self.field, self.skipped_field)
        for name in names:
            if name in vcf.info_ids:
                raise InputFormatError(
                    f"the file has INFO/{name} already; remove it with: bcftools annotate -x "
                    f"{','.join(f'INFO/{each}' for each in names)}",
                    path=vcf.source,
                )

    def header(self, vcf: VcfReader, command: str) -> bytes:
        """Return the header of the annotated file; see :meth:`check`."""
        self.check(vcf)
        letter = _LETTER.get(self._kind, "")
        columns = [f"{what}_{letter}{c}" for what in ("DS", "DP", "ST", "RS") for c in "GL"]
        what = (
            f"seqmtl {__version__}: change of the probability of a site ({self._kind}), the "
            "largest gain (G) and loss (L) among the windows that the variant touches: delta "
            "score (DS, 0 to 1), delta position (DP, from POS to the first base of the site in "
            "reading direction), strand of the site (ST), change of the raw score (RS, where "
            f"both alleles have the site). Format: ALLELE|ORGANISM|{'|'.join(columns)}"
        )
        why = "; ".join(f"{reason}: {text}" for reason, text in REASONS.items())
        command = command.replace("\\", "\\\\").replace('"', '\\"')
        lines = [
            f'##INFO=<ID={self.field},Number=.,Type=String,Description="{what}">',
            f"##INFO=<ID={self.skipped_field},Number=.,Type=String,Description="
            f'"Why seqmtl did not score an allele ({why})">',
            f'##seqmtl=<Version="{__version__}",Command="{command}">',
        ]
        added = [line.encode("utf-8", "surrogateescape") for line in lines]
        return b"".join(line + b"\n" for line in (*vcf.meta, *added, vcf.columns))

    def info(self, entries: Sequence[str], reasons: Sequence[str]) -> bytes:
        """Return the new INFO text: effects of alleles, or reasons why there are none."""
        parts = []
        if entries:
            parts.append(f"{self.field}={','.join(entries)}")
        if reasons:
            parts.append(f"{self.skipped_field}={','.join(dict.fromkeys(reasons))}")
        return ";".join(parts).encode("ascii")

    def entry(self, alt: bytes, effects: EffectLists, i: int, position: int) -> str:
        """Return the effects of allele i as an INFO entry; POS is 1-based."""
        gain, loss = effects.changes[i]
        gain_strand, loss_strand = effects.strands[i]
        return (
            f"{alt.decode()}|{self._escaped}|{gain:.4f}|{loss:.4f}"
            f"|{effects.offset(i, 0, position)}|{effects.offset(i, 1, position)}"
            f"|{_STRANDS[gain_strand]}|{_STRANDS[loss_strand]}"
            f"|{effects.score_change(i, 0)}|{effects.score_change(i, 1)}"
        )

    def line(
        self, row: Sequence[bytes], alt: bytes, effects: EffectLists, i: int, position: int
    ) -> str:
        """Return the effects of allele i as a line of the table; positions are 1-based."""
        fields = [
            readable(row[CHROM]), str(position), readable(row[REF]), alt.decode(),
            self._organism, self._kind,
        ]  # fmt: skip
        for c in (0, 1):
            is_found = effects.strands[i][c] >= 0
            fields += [
                f"{effects.changes[i][c]:.6g}",
                str(effects.places[i][c] + 1) if is_found else ".",
                effects.offset(i, c, position),
                _STRANDS[effects.strands[i][c]],
                *(f"{p:.6g}" if is_found else "." for p in effects.probabilities[i][c]),
                *(f"{score:.5f}" if score == score else "." for score in effects.scores[i][c]),
            ]
        return "\t".join(fields) + "\n"


class EffectLists:
    """Effects as lists, which are faster than arrays for single entries."""

    def __init__(self, effects: Effects) -> None:
        self.changes = effects.changes.tolist()
        self.strands = effects.strands.tolist()
        self.places = effects.places.tolist()
        self.probabilities = effects.probabilities.tolist()
        self.scores = effects.scores.tolist()
        self.largest = effects.changes.max(axis=1).tolist()

    def offset(self, i: int, c: int, position: int) -> str:
        """Return the distance from POS of the site that allele i changes, gain (0) or loss (1)."""
        return str(self.places[i][c] + 1 - position) if self.strands[i][c] >= 0 else "."

    def score_change(self, i: int, c: int) -> str:
        """Return the change of the raw score at this site if both haplotypes have it."""
        ref, alt = self.scores[i][c]
        change = alt - ref
        return f"{change:.4f}" if change == change else "."
