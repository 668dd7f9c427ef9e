"""Predictors: one organism of a model, which turns letters into sites and introns.

``seqmtl scan`` is a predictor over the contigs of a genome, with a format of files behind it.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import brief
from seqmtl.adaptation import adapt
from seqmtl.adaptation.relatives import name_organism
from seqmtl.calibration.curve import to_probability
from seqmtl.exceptions import UsageError
from seqmtl.io.genome import ContigPiece
from seqmtl.linear_model.base import Model, is_known
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.scanning.blocks import Finder
from seqmtl.scanning.filters import SiteFilters
from seqmtl.scanning.finder import (
    SiteFinder,
    WindowFinder,
    calibration_of,
    finder_of,
    scanner_of,
)
from seqmtl.scanning.writers.formats import Format
from seqmtl.sequences.alphabet import CHECKED_CODES, INVALID, OTHER, letter_remedy
from seqmtl.sequences.sites import Sites

if TYPE_CHECKING:
    from seqmtl.io.junctions import IntronChain
    from seqmtl.splicing.judging import JudgedChain
    from seqmtl.variant_effects.effects import AlleleScorer

logger = logging.getLogger(__name__)

#: Columns of sites. Intervals are 0-based half-open on the forward strand; a model without
#: probabilities has NaN for log-odds and probabilities.
SITE = np.dtype(
    [
        ("start", np.int64),
        ("end", np.int64),
        ("strand", "U1"),
        ("signal", "U16"),
        ("score", np.float32),
        ("log_odds", np.float64),
        ("probability", np.float64),
    ]
)
#: Columns of introns: the probabilities are those of the intron, its donor and its acceptor.
INTRON = np.dtype(
    [
        ("start", np.int64),
        ("end", np.int64),
        ("strand", "U1"),
        ("probability", np.float64),
        ("donor", np.float64),
        ("acceptor", np.float64),
        ("is_u12", np.bool_),
    ]
)
#: Why a predictor of single sites judges no introns.
NOT_OF_INTRONS = "introns are judged by a model of seqmtl pair, such as starter:splice"
_MIN_PROBABILITY = 0.01  # of an intron that is listed


class Predictions(NamedTuple):
    """What a predictor finds in a sequence; ``pandas.DataFrame(predictions.introns)`` is a table.

    Attributes
    ----------
    sites : structured ndarray of :data:`SITE`, shape (n,)
        Every candidate whose window is in the sequence, by start, plus before minus. A site of the
        shipped models needs 50 bases of exon and 88 of intron.
    introns : structured ndarray of :data:`INTRON`, shape (m,)
        Introns of probability 0.01 or more, in the same order; none of a model of single sites.
    """

    sites: NDArray[Any]
    introns: NDArray[Any]


class Predictor(ABC):
    """The sites of one organism by a model; made by the method ``predictor`` of a model.

    Parameters
    ----------
    model, organism, like, genome
        See :meth:`seqmtl.linear_model.base.Model.predictor`.

    Attributes
    ----------
    organism : str
        The organism.
    model : Model
        The model with the organism.
    has_introns : bool
        Whether its sites are the ends of introns, which are found, too.
    is_stranded : bool
        Whether a site is on a strand.
    """

    has_introns = False
    is_stranded = True

    model: Model

    def __init__(
        self,
        model: Model,
        organism: str | None = None,
        like: str | None = None,
        genome: str | None = None,
    ) -> None:
        self.organism = name_organism(model.tasks, organism, like, genome)
        self.like, self.genome = like, genome
        self._is_first = True
        self._check(model)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.organism}"

    @abstractmethod
    def _check(self, model: Any) -> None:
        """Check that the model fits, and take it, with the organism."""

    def __call__(self, sequence: Any) -> Predictions:
        """Return the sites, and the introns, of a sequence.

        Parameters
        ----------
        sequence : str, bytes, Bio.Seq.Seq, Bio.SeqRecord.SeqRecord or ndarray of uint8, shape (n,)
            Letters of the plus strand, in any case; or their codes, 0 to 3 for A, C, G, T and 4
            for others, such as N, which match nothing.

        Raises
        ------
        ValueError
            If the letters are not those of nucleotides, or the codes are not 0 to 4.
        TypeError
            If it is of another type.

        Examples
        --------
        >>> import seqmtl
        >>> predictor = seqmtl.load("starter:donor").predictor("c_elegans")
        >>> sites = predictor("ACGTTGCA" * 20 + "AAAAGGTAAGTTTTT" + "ATTTTTCA" * 20).sites
        >>> sites[sites["probability"].argmax()][["start", "strand"]].tolist()
        (165, '+')
        """
        if self._is_first:
            self.warn_if_uncalibrated()
            self._is_first = False
        codes = _codes(sequence)
        piece = ContigPiece("", 0, codes)
        finder = self.finder(introns=_MIN_PROBABILITY if self.has_introns else None)
        sites, introns = [np.empty(0, SITE)], [np.empty(0, INTRON)]
        for first in range(0, codes.size, finder.block):
            last = min(first + finder.block, codes.size)
            by_signal = finder.find(piece, first, last)
            sites += [_site_rows(one, by_signal[one.signal]) for one in finder.finders]
            if self.has_introns:
                introns.append(_intron_rows(by_signal["introns"]))
        joined = np.concatenate(sites)
        order = np.lexsort([joined["strand"] == "-", joined["start"]])
        return Predictions(joined[order], np.concatenate(introns))

    @abstractmethod
    def check(self, options: Collection[str], file_format: Format) -> None:
        """Check that a scan with some options, by their names, is possible."""

    @abstractmethod
    def signals(self, file_format: Format) -> tuple[str, ...]:
        """Return the signals to write in a format."""

    @property
    def is_calibrated(self) -> bool:
        """Whether probabilities hold over the genome, as those of a chain do for every organism."""
        return True

    def warn_if_uncalibrated(self) -> None:  # noqa: B027
        """Log what probabilities are, unless they hold over the genome."""

    def judge(self, contig: ContigPiece, chains: Sequence[IntronChain]) -> Iterator[JudgedChain]:
        """Judge given introns of a contig, see :func:`seqmtl.splicing.judging.judge_introns`.

        Raises
        ------
        UsageError
            If its sites are not the ends of introns.
        """
        raise UsageError(NOT_OF_INTRONS)

    @abstractmethod
    def finder(
        self,
        file_format: Format | None = None,
        *,
        filters: SiteFilters | None = None,
        introns: float | None = None,
    ) -> Finder:
        """Return what finds the sites in parts of a contig.

        Parameters
        ----------
        file_format : Format, optional
            The format of its sites. Default: none.
        filters : SiteFilters, optional
            Which sites to report. Default: all.
        introns : float, optional
            Also find introns of at least this probability.
        """

    @abstractmethod
    def allele_scorer(self) -> AlleleScorer:
        """Return what compares alleles with the reference.

        Raises
        ------
        SeqmtlError
            If the model has no probabilities.
        """


class SitePredictor(Predictor):
    """Sites that are scored alone.

    Raises
    ------
    UnknownTaskError
        If the model lacks the organism and its relatives.
    """

    model: MultiTaskModel
    _advice = "run seqmtl calibrate"

    def _check(self, model: MultiTaskModel) -> None:
        if self.like is not None:
            model = adapt(model, self.organism, like=self.like)
        model.log_relatives([self.organism])
        self.model = model

    def check(self, options: Collection[str], file_format: Format) -> None:
        """Check that there are probabilities."""
        self.model.log_odds_of(self.organism)

    def signals(self, file_format: Format) -> tuple[str, ...]:
        """Return one signal, whose name is not in the names of files."""
        return ("",)

    @property
    def is_calibrated(self) -> bool:
        """Whether the organism was calibrated."""
        model = self.model
        is_trained = is_known(self.organism, model.tasks)
        return is_trained and model.match(self.organism) in model.curves

    def warn_if_uncalibrated(self) -> None:
        """Log what the probabilities of the organism are, unless it was calibrated."""
        if not is_known(self.organism, self.model.tasks):
            logger.info(
                "%s: probabilities are the weighted mean log-odds of its relatives, at their "
                "prevalence; use them to rank sites (--top), not as precision",
                self.organism,
            )
        elif self.model.kind == "classification" and not self.is_calibrated:
            logger.warning(
                "%s is not calibrated: probabilities assume the %.2g %% true sites of the training "
                "windows; %s",
                self.organism,
                100 * self.model.prevalence(self.organism),
                self._advice,
            )

    def finder(
        self,
        file_format: Format | None = None,
        *,
        filters: SiteFilters | None = None,
        introns: float | None = None,
    ) -> SiteFinder:
        """Return the finder of the sites."""
        if self.model.site.letters:
            logger.info(
                "reporting only sites with the letters %s, as in the training data",
                self.model.site.letters,
            )
        return finder_of(self.model, self.organism, filters=filters)

    def allele_scorer(self) -> AlleleScorer:
        """Return what compares alleles by the sites whose windows they change."""
        from seqmtl.variant_effects.effects import EffectScorer

        return EffectScorer(self.model, self.organism)


class WindowPredictor(SitePredictor):
    """Windows of a model without a site, which are scored wherever they are.

    Raises
    ------
    UnknownTaskError
        If the model lacks the organism and its relatives.
    """

    _advice = "use them to rank"

    def _check(self, model: MultiTaskModel) -> None:
        super()._check(model)
        self.is_stranded = model.features.is_stranded

    def finder(
        self,
        file_format: Format | None = None,
        *,
        filters: SiteFilters | None = None,
        introns: float | None = None,
    ) -> WindowFinder:
        """Return the finder of windows: all for a track, else those that no other exceeds."""
        model, organism = self.model, self.organism
        return WindowFinder(
            scanner_of(model, organism, site=Site(model.length // 2, 1, "")),
            is_stranded=self.is_stranded,
            with_all=file_format is not None and file_format.is_track,
            filters=filters,
            **calibration_of(model, organism),
        )

    def allele_scorer(self) -> AlleleScorer:
        """Return what compares alleles by the windows around them."""
        from seqmtl.variant_effects.window_effects import WindowEffectScorer

        return WindowEffectScorer(self.model, self.organism)


def _codes(sequence: Any) -> NDArray[np.uint8]:
    """Return the codes of a sequence."""
    if isinstance(sequence, np.ndarray) and sequence.dtype == np.uint8 and sequence.ndim == 1:
        if sequence.size and sequence.max() > OTHER:
            raise ValueError(
                f"codes must be 0 to {OTHER}, got {sequence.max()}; give letters as bytes"
            )
        return sequence
    letters = getattr(sequence, "seq", sequence)  # of a SeqRecord
    if isinstance(letters, list | tuple | dict | np.ndarray | bytearray) or letters is None:
        raise TypeError(f"a sequence must be text, bytes, or codes (uint8), got {brief(sequence)}")
    text = letters if isinstance(letters, bytes) else str(letters).encode("latin-1", "replace")
    codes = np.frombuffer(text.translate(CHECKED_CODES), dtype=np.uint8)
    if codes.size and codes.max() == INVALID:
        first = int(codes.argmax())
        raise ValueError(
            f"letter {first + 1} of the sequence is {chr(text[first])!r}, which is not that of a "
            f"nucleotide; {letter_remedy(text)}"
        )
    return codes


def _site_rows(finder: SiteFinder, sites: Sites) -> NDArray[Any]:
    """Return sites as rows of :data:`SITE`."""
    rows = np.empty(len(sites), SITE)
    rows["start"] = sites.starts - finder.before
    rows["end"] = rows["start"] + finder.extent
    rows["strand"] = _strands(sites) if finder.has_strand else "."
    rows["signal"], rows["score"] = finder.signal, sites["scores"]
    rows["log_odds"] = np.nan
    if finder.log_odds is not None:
        rows["log_odds"] = finder.log_odds(sites["scores"].astype(np.float64))
    rows["probability"] = to_probability(rows["log_odds"])
    return rows


def _intron_rows(introns: Sites) -> NDArray[Any]:
    """Return introns as rows of :data:`INTRON`."""
    rows = np.empty(len(introns), INTRON)
    rows["start"], rows["end"], rows["strand"] = introns.starts, introns["ends"], _strands(introns)
    for name in ("probability", "donor", "acceptor", "is_u12"):
        rows[name] = introns[name]
    return rows


def _strands(sites: Sites) -> NDArray[Any]:
    return np.where(sites.is_reverse, "-", "+")
