"""Format the effects of alleles: VCF header, INFO, and lines of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from seqmtl._version import __version__
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import readable
from seqmtl.io.vcf import CHROM, ID, REF, VcfReader, escape
from seqmtl.variant_effects.alleles import REASONS

if TYPE_CHECKING:
    from seqmtl.variant_effects.annotated_exons import AnnotatedExons, ExonEffects
    from seqmtl.variant_effects.effects import Effects

#: The kind of the effects on exons, beside those of signals.
EXON = "exon"
_OF_ALLELE = ("contig", "pos", "id", "ref", "alt", "organism")
_OF_CHANGE = (
    *("", "_pos", "_offset", "_strand"),
    *("_ref_probability", "_alt_probability", "_ref_score", "_alt_score"),
)
_CHANGES = ("gain", "loss")
#: Columns of the table.
TABLE = (*_OF_ALLELE, "kind", *(change + column for change in _CHANGES for column in _OF_CHANGE))
#: Further columns of the table for paired models.
INTRONS = tuple(f"{change}_{allele}_intron" for change in _CHANGES for allele in ("ref", "alt"))

_LETTER = {"donor": "D", "acceptor": "A", "tss": "T", EXON: "E"}
_STRANDS = "+-."  # -1 (none) is the last


class EffectText:
    """Formats the effects on one signal in one organism.

    Parameters
    ----------
    kind : str
        Signal, see :attr:`~seqmtl.linear_model.site.Site.kind`.
    organism : str
        Its organism.
    with_introns : bool, default=False
        Whether the effects have introns.

    Attributes
    ----------
    field, skipped_field : str
        INFO entries of the effects, and of the reason why an allele has none.
    """

    def __init__(self, kind: str, organism: str, *, with_introns: bool = False) -> None:
        self.field = f"SeqMTL_{kind}"
        self.skipped_field = f"{self.field}_skipped"
        self._kind = kind
        self._organism = organism
        self._with_introns = with_introns
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

    def header_lines(self) -> list[bytes]:
        """Return the lines that declare the INFO entries."""
        letter = _LETTER.get(self._kind, "")
        site = "site"
        what = f"a site ({self._kind})"
        span = "most probable intron of the site"
        if self._kind == EXON:
            site = "exon"
            what = "an exon between two introns"
            span = "exon"
        columns: tuple[str, ...] = ("DS", "DP", "ST", "RS")
        compared = "windows that the variant touches"
        score = "raw score"
        spans = ""
        if self._with_introns:
            columns += ("ER", "EA") if self._kind == EXON else ("IR", "IA")
            compared = f"{site}s in reach of an intron"
            score = "log-odds of the probability"
            spans = (
                f", {span} as FIRST-LAST:PROBABILITY in the reference ({columns[-2]}) and in the "
                f"alternative ({columns[-1]})"
            )
        names = "|".join(f"{column}_{letter}{c}" for column in columns for c in "GL")
        what = (
            f"seqmtl {__version__}: change of the probability of {what}, the largest gain (G) and "
            f"loss (L) among the {compared}: delta score (DS, 0 to 1), delta position (DP, from "
            f"POS to the first base of the {site} in reading direction), strand of the {site} "
            f"(ST), change of the {score} (RS, where both alleles have the {site}){spans}. "
            f"Format: ALLELE|ORGANISM|{names}"
        )
        return self._declared(what)

    def _declared(self, what: str) -> list[bytes]:
        """Return the lines that declare the INFO entries, with what the first one is."""
        why = "; ".join(f"{reason}: {text}" for reason, text in REASONS.items())
        lines = [
            f'##INFO=<ID={self.field},Number=.,Type=String,Description="{what}">',
            f"##INFO=<ID={self.skipped_field},Number=.,Type=String,Description="
            f'"Why seqmtl did not score an allele ({why})">',
        ]
        return [line.encode("utf-8", "surrogateescape") for line in lines]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table."""
        return (*TABLE, *(INTRONS if self._with_introns else ()))

    def info(self, entries: Sequence[str], reasons: Sequence[str]) -> bytes:
        """Return the new INFO text: effects of alleles, or reasons why there are none."""
        parts = []
        if any(entries):
            parts.append(f"{self.field}={','.join(filter(None, entries))}")
        if reasons:
            parts.append(f"{self.skipped_field}={','.join(dict.fromkeys(reasons))}")
        return ";".join(parts).encode("ascii")

    def entry(self, alt: bytes, effects: Effects, i: int, position: int) -> str:
        """Return the effects of allele i, in lists, as an INFO entry; POS is 1-based."""
        fields = [
            alt.decode(),
            self._escaped,
            *(f"{change:.4f}" for change in effects.changes[i]),
            *(_offset(effects, i, c, position) for c in (0, 1)),
            *(_STRANDS[strand] for strand in effects.strands[i]),
            *map(_score_change, effects.scores[i]),
        ]
        if effects.introns is not None:
            fields += [_intron(effects.introns[i][c][h]) for h in (0, 1) for c in (0, 1)]
        return "|".join(fields)

    def line(
        self, row: Sequence[bytes], alt: bytes, effects: Effects, i: int, position: int
    ) -> str:
        """Return the effects of allele i as a line of the table; positions are 1-based."""
        fields = [*_allele(row, alt, position), self._organism, self._kind]
        for c in (0, 1):
            is_found = effects.strands[i][c] >= 0
            fields += [
                f"{effects.changes[i][c]:.6g}",
                str(effects.positions[i][c] + 1) if is_found else ".",
                _offset(effects, i, c, position),
                _STRANDS[effects.strands[i][c]],
                *(f"{p:.6g}" if is_found else "." for p in effects.probabilities[i][c]),
                *(f"{score:.5f}" if score == score else "." for score in effects.scores[i][c]),
            ]
        if effects.introns is not None:
            fields += [_intron(effects.introns[i][c][h]) for c in (0, 1) for h in (0, 1)]
        return "\t".join(fields) + "\n"


class ScoreText(EffectText):
    """Formats the change of the score of the window around an allele.

    Parameters
    ----------
    organism : str
        Its organism.
    """

    columns = (*_OF_ALLELE, "score_ref", "score_alt", "delta")

    def __init__(self, organism: str) -> None:
        super().__init__("score", organism)

    def header_lines(self) -> list[bytes]:
        """Return the lines that declare the INFO entries."""
        return self._declared(
            f"seqmtl {__version__}: score of the window around the allele, in the reference and in "
            "the alternative, and its change. Format: ALLELE|ORGANISM|SCORE_REF|SCORE_ALT|DELTA"
        )

    def entry(self, alt: bytes, effects: Effects, i: int, position: int) -> str:
        """Return the scores of allele i, in lists, as an INFO entry."""
        values = _scores_and_change(effects.scores[i][0], 4)
        return "|".join([alt.decode(), self._escaped, *values])

    def line(
        self, row: Sequence[bytes], alt: bytes, effects: Effects, i: int, position: int
    ) -> str:
        """Return the scores of allele i as a line of the table; POS is 1-based."""
        values = _scores_and_change(effects.scores[i][0], 5)
        return "\t".join([*_allele(row, alt, position), self._organism, *values]) + "\n"


class ExonText(EffectText):
    """Formats the changes of the ends of annotated exons.

    Parameters
    ----------
    organism : str
        Its organism.
    exons : AnnotatedExons
        The exons.
    """

    columns = (
        *_OF_ALLELE,
        "transcripts",
        "first",
        "last",
        "strand",
        "acceptor_ref",
        "acceptor_alt",
        "donor_ref",
        "donor_alt",
        "effect",
    )

    def __init__(self, organism: str, exons: AnnotatedExons) -> None:
        super().__init__("annotated_exon", organism)
        self._exons = exons

    def header_lines(self) -> list[bytes]:
        """Return the lines that declare the INFO entries."""
        return self._declared(
            f"seqmtl {__version__}: annotated exons whose bases or windows of ends the variant "
            "touches: transcripts (joined by &), first and last base, strand, log-odds of the "
            "acceptor and of the donor in the reference and in the alternative (. where the "
            "transcript begins or ends), and the sum of both changes. Format: "
            "ALLELE|ORGANISM|TRANSCRIPTS|FIRST-LAST|STRAND|ACC_REF|ACC_ALT|DON_REF|DON_ALT|EFFECT"
        )

    def entry(self, alt: bytes, effects: Any, i: int, position: int) -> str:
        """Return the exons that allele i reaches as INFO entries."""
        return ",".join(
            "|".join(
                [
                    alt.decode(),
                    self._escaped,
                    "&".join(map(escape, names)),
                    f"{first}-{last}",
                    strand,
                    *values,
                ]
            )
            for names, first, last, strand, values in self._items(effects[i])
        )

    def line(self, row: Sequence[bytes], alt: bytes, effects: Any, i: int, position: int) -> str:
        """Return the exons that allele i reaches as lines of the table; positions are 1-based."""
        fields = _allele(row, alt, position)
        return "".join(
            "\t".join([*fields, self._organism, "&".join(names), first, last, strand, *values])
            + "\n"
            for names, first, last, strand, values in self._items(effects[i])
        )

    def _items(self, effects: ExonEffects) -> Iterator[tuple[list[str], str, str, str, list[str]]]:
        """Yield transcripts, first and last base, strand, and log-odds of each exon."""
        for exon, log_odds, change in zip(
            effects.exons.tolist(),
            effects.log_odds[:, ::-1].reshape(-1, 4).tolist(),
            effects.changes.tolist(),
            strict=True,
        ):
            start, end = (self._exons.bounds[exon] - self._exons.origins[exon]).tolist()
            strand = _STRANDS[int(self._exons.is_reverse[exon])]
            values = [f"{value:.4f}" if value == value else "." for value in (*log_odds, change)]
            yield self._exons.names[exon], str(start + 1), str(end), strand, values


def vcf_header(texts: Sequence[EffectText], vcf: VcfReader, command: str) -> bytes:
    """Return the header of the annotated file, also if it lacks its first line.

    See :meth:`EffectText.check`.
    """
    added = []
    for text in texts:
        text.check(vcf)
        added += text.header_lines()
    command = command.replace("\\", "\\\\").replace('"', '\\"')
    source_line = f'##seqmtl=<Version="{__version__}",Command="{command}">'
    added.append(source_line.encode("utf-8", "surrogateescape"))
    meta = vcf.meta
    if not b"".join(meta[:1]).startswith(b"##fileformat="):
        meta = [b"##fileformat=VCFv4.2", *meta]  # other programs take no file without it
    return b"".join(line + b"\n" for line in (*meta, *added, vcf.columns))


def _allele(row: Sequence[bytes], alt: bytes, position: int) -> list[str]:
    """Return the first columns of the table: contig, position, ID and both alleles."""
    contig, name, ref = (readable(row[column]) for column in (CHROM, ID, REF))
    return [contig, str(position), name, ref, alt.decode()]


def _offset(effects: Effects, i: int, c: int, position: int) -> str:
    """Return the distance from POS of the site that allele i changes, gain (0) or loss (1)."""
    return str(effects.positions[i][c] + 1 - position) if effects.strands[i][c] >= 0 else "."


def _scores_and_change(scores: Sequence[float], n_decimals: int) -> list[str]:
    return [f"{value:.{n_decimals}f}" for value in (*scores, scores[1] - scores[0])]


def _score_change(scores: Sequence[float]) -> str:
    """Return the change of the raw score of a site if both haplotypes have it."""
    change = scores[1] - scores[0]
    return f"{change:.4f}" if change == change else "."


def _intron(intron: Sequence[float]) -> str:
    """Return the most probable intron of a site in a haplotype."""
    start, end, p = intron
    return f"{start + 1:.0f}-{end:.0f}:{p:.4f}" if p == p else "."
