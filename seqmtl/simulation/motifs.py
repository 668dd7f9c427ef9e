"""Motifs of splice sites and promoters, made of slots, each with variants that drift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_LETTERS = {"A": (0,), "C": (1,), "G": (2,), "T": (3,), "R": (0, 2), "Y": (1, 3), "N": ()}


@dataclass(frozen=True)
class Slot:
    """A stretch of bases at a fixed distance from the site.

    A site has the slot with probability `usage`. Then one of `n_variants` variants is drawn, and
    its letters are drawn from the weight matrix of that variant. As variants differ in several
    positions at once, neighbouring bases are dependent, and no single weight matrix describes the
    slot.

    Attributes
    ----------
    offset : int
        First base of the slot, relative to the site, in the sense of transcription.
    consensus : str
        IUPAC letters common to all organisms; N is no preference.
    pull : float
        Log-odds of a consensus letter.
    n_variants : int
        Number of variants.
    spread : float
        Standard deviation of the log-odds of an organism.
    usage : float
        Probability that a site has the slot.
    jitter : int
        The slot is shifted by up to this many bases, uniformly.
    """

    offset: int
    consensus: str
    pull: float = 0.0
    n_variants: int = 1
    spread: float = 0.5
    usage: float = 1.0
    jitter: int = 0

    @property
    def n_traits(self) -> int:
        """Number of traits: log-odds of the letters of every variant, and of the variants."""
        return self.n_variants * (4 * len(self.consensus) + 1)

    def probabilities(self, traits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights of variants, shape (n,), and of their letters, shape (n, length, 4)."""
        common = np.zeros((len(self.consensus), 4))
        for position, symbol in enumerate(self.consensus):
            common[position, list(_LETTERS[symbol])] = self.pull
        specific = traits[self.n_variants :].reshape(self.n_variants, len(self.consensus), 4)
        return _softmax(0.5 * traits[: self.n_variants]), _softmax(common + self.spread * specific)


@dataclass(frozen=True)
class Signal:
    """A kind of site.

    Attributes
    ----------
    letters : str
        Bases that every site has, in the sense of transcription, or "".
    offset : int
        First of these bases, relative to the site.
    slots : tuple of Slot
        Slots, written in this order before `letters`.
    """

    letters: str
    offset: int
    slots: tuple[Slot, ...]

    @property
    def n_traits(self) -> int:
        """Number of traits of all slots."""
        return sum(slot.n_traits for slot in self.slots)

    def plant(
        self, codes: np.ndarray, sites: np.ndarray, traits: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Write the motif at sites of the sense strand, in place.

        Parameters
        ----------
        codes : numpy.ndarray
            Shape (bases,), uint8, 0..3 for A, C, G, T.
        sites : numpy.ndarray
            Shape (n,), positions of the sites.
        traits : numpy.ndarray
            Shape (:attr:`n_traits`,), traits of one organism.
        rng : numpy.random.Generator
            Random generator.
        """
        first = 0
        for slot in self.slots:
            weights, matrices = slot.probabilities(traits[first : first + slot.n_traits])
            first += slot.n_traits
            carriers = sites[rng.random(sites.size) < slot.usage] + slot.offset
            carriers += rng.integers(-slot.jitter, slot.jitter + 1, size=carriers.size)
            variant = rng.choice(slot.n_variants, p=weights, size=carriers.size)
            cumulative = np.cumsum(matrices, axis=-1)[..., :3][variant]
            drawn = rng.random((carriers.size, len(slot.consensus), 1))
            positions = carriers[:, None] + np.arange(len(slot.consensus))
            codes[positions] = (drawn >= cumulative).sum(axis=-1, dtype=np.uint8)
        for position, letter in enumerate(self.letters):
            codes[sites + self.offset + position] = _LETTERS[letter][0]


#: Sites of the three kinds. A donor is the first base of the intron, an acceptor the first base
#: after the intron, a TSS the first transcribed base.
MODELS = {
    "donor": Signal(
        letters="GT",
        offset=0,
        slots=(
            Slot(-12, "NNNNNN", n_variants=3, spread=2.2, usage=0.7),
            Slot(-3, "NAG", pull=0.8, spread=0.9, usage=0.9),
            Slot(2, "RAGT", pull=0.9, n_variants=2, spread=1.0, usage=0.9),
            Slot(7, "NNNNN", n_variants=3, spread=2.2, usage=0.7),
            Slot(14, "NNNNNN", n_variants=3, spread=2.2, usage=0.6, jitter=1),
        ),
    ),
    "acceptor": Signal(
        letters="AG",
        offset=-2,
        slots=(
            Slot(-50, "NNNNNN", n_variants=3, spread=2.2, usage=0.6),
            Slot(-34, "NYTNAYN", pull=1.5, spread=0.8, usage=0.7, jitter=6),
            Slot(-18, "YYYYYYYYYYYYY", pull=0.5, n_variants=2, spread=0.7, usage=0.85),
            Slot(-5, "NNY", pull=0.9, n_variants=2, spread=1.0, usage=0.9),
            Slot(0, "GNNNNN", pull=0.5, n_variants=3, spread=2.0, usage=0.7),
            Slot(8, "NNNNNN", n_variants=3, spread=2.2, usage=0.6, jitter=1),
        ),
    ),
    "tss": Signal(
        letters="",
        offset=0,
        slots=(
            Slot(-60, "NNNNNN", n_variants=3, spread=2.2, usage=0.6, jitter=1),
            Slot(-42, "NNNNNNN", n_variants=3, spread=2.0, usage=0.6),
            Slot(-31, "TATAAANN", pull=1.8, spread=0.9, usage=0.5, jitter=1),
            Slot(-14, "NNNNNN", n_variants=3, spread=2.2, usage=0.7),
            Slot(-2, "YYANTYY", pull=0.9, n_variants=2, spread=1.0, usage=0.9),
            Slot(8, "NNNNNN", n_variants=3, spread=2.2, usage=0.6),
            Slot(26, "NRGNYNN", pull=0.6, n_variants=2, spread=1.2, usage=0.6),
        ),
    ),
}


def _softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities: np.ndarray = weights / weights.sum(axis=-1, keepdims=True)
    return probabilities
