"""Select true sites among annotated positions, with reasons for exclusion."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import InputFormatError
from seqmtl.io.dataset import Exclusion
from seqmtl.linear_model.site import Site
from seqmtl.sequences.alphabet import OTHER, decode, encode, reverse_complement
from seqmtl.sequences.genome import Genome, unknown_contig
from seqmtl.sequences.sites import Sites, words_at

logger = logging.getLogger(__name__)

_BASE = OTHER + 1
_MIN_SITES = 20
_MIN_MATCHING_SHARE = 0.5
# Correct annotations have some mismatches: incomplete coding sequences, introns of tRNAs.
_MAX_MISMATCHED_SHARE = 0.25
# Those of genes across the origin of a circular contig are right.
_MAX_OUTSIDE_SHARE = 0.05

NO_CONTIG = "contig that the FASTA lacks"
OUTSIDE = "site beyond the end of its contig"
NO_CONSENSUS = "letters at the site are not the signal's"
AT_END = "window over an end of the contig"
OTHER_LETTERS = "window with letters other than A, C, G, T"
CROSSING = "window across a border between splits"
MASKED = "site in a masked region"

#: Advice if the genome has other names of contigs.
REMEDY = ", or name both sides in contig_names"


def word_numbers(
    codes: NDArray[np.uint8], words: Sequence[str], is_reverse: bool
) -> NDArray[np.int8]:
    """Return the number of the word that begins at each base, -1 if none does.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded bases of the forward strand.
    words : sequence of str
        Different words of the same length k, of 3 at most, in reading direction.
    is_reverse : bool
        Whether they are on the minus strand.

    Returns
    -------
    ndarray of int8, shape (n - k + 1,)
        By the first base on the forward strand.
    """
    k = len(words[0])
    n = codes.size - k + 1
    table = np.full(_BASE**k, -1, dtype=np.int8)
    for number, word in enumerate(words):
        letters = reverse_complement(encode(word)) if is_reverse else encode(word)
        table[letters.astype(np.int64) @ _BASE ** np.arange(k)[::-1]] = number
    keys = codes[:n].copy()
    for i in range(1, k):
        keys *= np.uint8(_BASE)
        keys += codes[i : i + n]
    return table[keys]


def excluded_site(
    annotated: Sites, row: int, length: int, reason: str, organism: str, source: str
) -> Exclusion:
    """Return the record of one of the annotated sites, of this many bases."""
    contig, name = annotated["contigs"][row], annotated["names"][row]
    start, strand = int(annotated.starts[row]), "+-"[int(annotated.is_reverse[row])]
    line = f"{source}:{annotated['lines'][row]}"
    return Exclusion(organism, contig, start, start + length, strand, name, reason, 1, line)


@dataclass
class TrueSites:
    """The true sites of an organism, and every annotated position, in the genome's buffer.

    Attributes
    ----------
    sites : Sites
        By start; the columns are consensus, the index of the sequence at each, and row, the
        number of each among those annotated.
    all_sites : Sites
        All annotated positions in the genome, including excluded and uncertain ones. The column
        is_weak is True for evidence too weak to exclude decoys nearby.
    exclusions : list of Exclusion
        Positions that are not true sites.
    """

    sites: Sites
    all_sites: Sites
    exclusions: list[Exclusion]


class SiteResolver:
    """Converts annotated positions to sites of a genome.

    Parameters
    ----------
    organism : str
        Name of the organism.
    source : str
        Annotation, for messages.
    genome : Genome
        Genome, padded with at least the window length, with the names of its contigs in the
        annotation.
    site : Site
        Position of the site in a window.
    window : int
        Window length in bases.

    Attributes
    ----------
    lead : int
        Bases before the site that count for its letters: one, of a site of a single base.
    words : tuple of str
        Letters there that sites may have, in reading direction; without a consensus, all.
    """

    def __init__(self, organism: str, source: str, genome: Genome, site: Site, window: int) -> None:
        self.organism = organism
        self.source = source
        self.genome = genome
        self.site = site
        self.window = window
        self.lead = int(site.length == 1)
        every = product("ACGT", repeat=site.length + self.lead)
        self.words = site.consensus or tuple(map("".join, every))

    def window_starts(self, sites: Sites) -> NDArray[np.int64]:
        """Return the window starts of sites on the forward strand."""
        return sites.starts - self.site.offsets(sites.is_reverse, self.window)

    def find(
        self,
        annotated: Sites,
        *,
        uncertain: Sites | None = None,
        allow_missing: bool = False,
        remedy: str = REMEDY,
    ) -> TrueSites:
        """Return the sites with a complete window, without duplicates.

        Parameters
        ----------
        annotated : Sites
            Annotated sites, see :func:`seqmtl.datasets.signals.site_columns`.
        uncertain : Sites, optional
            Such positions that are neither true sites nor decoys, unless they are among the sites.
        allow_missing : bool
            Whether to exclude positions on contigs that the FASTA file lacks, instead of failing.
        remedy : str
            What to do if all contigs are missing, for the message.

        Raises
        ------
        InputFormatError
            If contigs are unknown, or most sites lack the consensus of the signal.
        """
        contig = self.genome.indices(annotated["contigs"])
        self._check_contigs(annotated, contig, allow_missing, remedy)
        is_reverse, alternatives = annotated.is_reverse, annotated["alternatives"]
        starts, is_inside = self._locate(annotated, contig)
        lengths = np.where(contig >= 0, self.genome.lengths[contig], 0)
        consensus = self._words_at(starts, is_reverse)
        is_moved = (
            is_inside
            & (consensus < 0)
            & (alternatives >= 0)
            & (alternatives + self.site.length <= lengths)
        )
        begins = np.where(is_inside, self.genome.starts[contig], 0)
        other_starts = np.where(is_moved, alternatives + begins, starts)
        other_consensus = self._words_at(other_starts, is_reverse)
        is_moved &= other_consensus >= 0
        starts = np.where(is_moved, other_starts, starts)
        consensus = np.where(is_moved, other_consensus, consensus)
        rows = np.arange(len(annotated))
        sites = Sites(starts, is_reverse, {"consensus": consensus, "row": rows})
        reasons = self._reasons(annotated, sites, contig, is_inside)
        self._check_ends(contig, is_inside)
        self._check_letters(annotated, is_inside, consensus)
        true_sites = self._unique(annotated, sites, is_inside, reasons)
        # a contig may be circular: positions past its end are wrapped to its start
        wrapped = replace(annotated, starts=annotated.starts - self.genome.lengths[contig])
        past_end = wrapped.take((contig >= 0) & (wrapped.starts >= 0))
        for others in filter(None, (uncertain, past_end)):
            true_sites.all_sites = self._with(true_sites.all_sites, others)
        return true_sites

    def _words_at(
        self, starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]
    ) -> NDArray[np.int8]:
        """Return the number of the word at each site, -1 if it has none."""
        first = starts - np.where(is_reverse, 0, self.lead)
        return words_at(self.genome.codes, first, is_reverse, self.words)

    def _locate(
        self, annotated: Sites, contig: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the positions in the genome's buffer, and which are inside their contig."""
        local = annotated.starts
        lengths = np.where(contig >= 0, self.genome.lengths[contig], 0)
        is_inside = (local >= 0) & (local + self.site.length <= lengths)
        starts = self.genome.starts
        return np.where(is_inside, local + starts[contig], starts[0]), is_inside

    def _with(self, all_sites: Sites, uncertain: Sites) -> Sites:
        """Add positions to the annotated ones, as weak evidence."""
        starts, is_inside = self._locate(uncertain, self.genome.indices(uncertain["contigs"]))
        keys = np.unique(2 * starts[is_inside] + uncertain.is_reverse[is_inside])
        keys = keys[~np.isin(keys, 2 * all_sites.starts + all_sites.is_reverse)]
        added = Sites(keys // 2, keys % 2 > 0)
        if not len(added):
            return all_sites
        added = added.adding(is_weak=np.ones(len(added), dtype=bool))
        return Sites.join([all_sites, added]).in_order()

    def _check_contigs(
        self,
        annotated: Sites,
        contig: NDArray[np.int64],
        allow_missing: bool,
        remedy: str,
    ) -> None:
        """Refuse contigs that the genome lacks: all, or any if that is not allowed."""
        annotated_contigs = list(dict.fromkeys(annotated["contigs"]))
        missing = list(dict.fromkeys(annotated["contigs"][contig < 0]))
        has_none = len(missing) == len(annotated_contigs)
        if not missing or (allow_missing and not has_none):
            return
        hint = (
            f"; {len(missing)} of {len(annotated_contigs)} contigs with sites are missing: "
            "allow_missing_contigs = true leaves them out"
        )
        annotated_contigs.sort(key=lambda name: name != missing[0])
        fasta_names = [self.genome.aliases.get(name, name) for name in annotated_contigs]
        raise InputFormatError(
            f"{unknown_contig(fasta_names, self.genome.names)}{remedy}" + hint * (not has_none),
            path=self.source,
            line=int(annotated["lines"][(contig < 0).argmax()]),
        )

    def _reasons(
        self,
        annotated: Sites,
        sites: Sites,
        contig: NDArray[np.int64],
        is_inside: NDArray[np.bool_],
    ) -> list[str]:
        """Return for each position why it is excluded, or ""."""
        windows = self.window_starts(sites)
        consensus = sites["consensus"]
        begin, end = self.genome.starts[contig], (self.genome.starts + self.genome.lengths)[contig]
        is_complete = is_inside & (windows >= begin) & (windows + self.window <= end)
        is_clean = np.ones(is_complete.size, dtype=bool)
        for chosen in np.array_split(np.flatnonzero(is_complete), 1 + is_complete.size // 65_536):
            view = np.lib.stride_tricks.sliding_window_view(self.genome.codes, self.window)
            is_clean[chosen] = (view[windows[chosen]] != OTHER).all(axis=1)
        problems = np.select(
            [contig < 0, ~is_inside, ~is_complete, ~is_clean, consensus < 0],
            [1, 2, 3, 4, 5],
            default=0,
        )
        texts = ["", NO_CONTIG, OUTSIDE, AT_END, OTHER_LETTERS, NO_CONSENSUS]
        reasons = [
            reason or texts[problem]
            for reason, problem in zip(annotated["reasons"], problems.tolist(), strict=True)
        ]
        for i in np.flatnonzero(problems == 5):
            if reasons[i] == NO_CONSENSUS:
                codes = self.genome.codes[sites.starts[i] :][: self.site.length]
                letters = decode(reverse_complement(codes) if sites.is_reverse[i] else codes)
                reasons[i] = f"{NO_CONSENSUS}: {letters}"
        return reasons

    def _check_ends(self, contig: NDArray[np.int64], is_inside: NDArray[np.bool_]) -> None:
        """Warn if many sites are beyond the ends of their contigs."""
        n, n_outside = int((contig >= 0).sum()), int(((contig >= 0) & ~is_inside).sum())
        if n_outside > _MAX_OUTSIDE_SHARE * n:
            logger.warning(
                "%s: %d of %d %s sites are beyond the end of their contig and left out; is it the "
                "right assembly?",
                self.source,
                n_outside,
                n,
                self.site.signal,
            )

    def _check_letters(
        self,
        annotated: Sites,
        is_inside: NDArray[np.bool_],
        consensus: NDArray[np.int8],
    ) -> None:
        """Raise an error if the genome does not match the annotation, or one strand of it."""
        if self.site.length == 1 or not self.site.consensus:
            return
        is_usable = is_inside & (annotated["reasons"] == "")
        strands = {
            "": is_usable,
            " of the plus strand": ~annotated.is_reverse,
            " of the minus strand": annotated.is_reverse,
        }
        for strand, is_strand in strands.items():
            n_usable, n_fit = (
                int((is_usable & is_strand).sum()),
                int((is_usable & is_strand & (consensus >= 0)).sum()),
            )
            if n_usable >= _MIN_SITES and n_fit < _MIN_MATCHING_SHARE * n_usable:
                raise InputFormatError(
                    f"most {self.site.signal} sites{strand} must be "
                    f"{' or '.join(self.site.consensus)}, got {n_fit:,} of {n_usable:,}; "
                    "check that the annotation is for this genome's version, or set consensus",
                    path=self.source,
                )
        n_usable, n_other = int(is_usable.sum()), int((is_usable & (consensus < 0)).sum())
        if n_usable >= _MIN_SITES and n_other > _MAX_MISMATCHED_SHARE * n_usable:
            logger.warning(
                "%s: %d of %d %s sites are left out, as they are not %s; check that the annotation "
                "is for this genome's version",
                self.source,
                n_other,
                n_usable,
                self.site.signal,
                " or ".join(self.site.consensus),
            )

    def _unique(
        self,
        annotated: Sites,
        sites: Sites,
        is_inside: NDArray[np.bool_],
        reasons: Sequence[str],
    ) -> TrueSites:
        """Merge equal positions; one is excluded only if it is so in every transcript."""
        is_excluded = np.array([bool(reason) for reason in reasons], dtype=bool)
        order = np.lexsort([is_excluded, sites.is_reverse, sites.starts])
        s, r = sites.starts[order], sites.is_reverse[order]
        first = np.ones(order.size, dtype=bool)
        first[1:] = (s[1:] != s[:-1]) | (r[1:] != r[:-1])
        first |= ~is_inside[order]
        order = order[first]
        inside_contig = sites.take(order[is_inside[order]])
        is_weak = annotated["is_weak"][inside_contig["row"]]
        excluded = np.sort(order[is_excluded[order]]).tolist()
        source = self.organism, self.source
        return TrueSites(
            sites.take(order[~is_excluded[order]]),
            Sites(inside_contig.starts, inside_contig.is_reverse, {"is_weak": is_weak}),
            [excluded_site(annotated, i, self.site.length, reasons[i], *source) for i in excluded],
        )


def count_reasons(exclusions: Sequence[Exclusion]) -> dict[str, int]:
    """Return the number of items excluded by reason, combining all mismatches of letters."""
    counts: Counter[str] = Counter()
    for row in exclusions:
        counts[row.reason.partition(":")[0]] += row.number
    return dict(counts)
