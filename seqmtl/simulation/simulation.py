"""Simulate genomes, genes and labelled sites of the organisms of a tree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqmtl._checks import check_choice, check_integer, check_number
from seqmtl._memory import require_memory
from seqmtl.linear_model.site import Site
from seqmtl.relations.trees import TreeSource
from seqmtl.sequences.sites import Sites
from seqmtl.simulation import background, codons
from seqmtl.simulation.genes import MEAN_INTRONS, Layout, fill_gaps, lay_out_genes
from seqmtl.simulation.labelled_sites import decoy_pools, draw_decoys, true_sites
from seqmtl.simulation.motifs import MODELS
from seqmtl.simulation.trees import drift_traits, read_organisms

_LETTERS = np.frombuffer(b"ACGTN", dtype=np.uint8)
_LOWER = 0x20
_COMPLEMENT = np.arange(256, dtype=np.uint8)
_COMPLEMENT[np.frombuffer(b"ACGTacgt", dtype=np.uint8)] = np.frombuffer(b"TGCAtgca", dtype=np.uint8)
_TYPICAL_INTRON = 30.0  # bases beyond the shortest one: median of the organisms,
_INTRON_SPREAD = 0.25  # and the standard deviation of its logarithm among them
#: Traits of an organism: of its composition, its codons, the lengths of its introns, its motifs.
_N_TRAITS = {
    "composition": background.N_TRAITS,
    "codons": codons.N_TRAITS,
    "introns": 1,
    **{name: model.n_traits for name, model in MODELS.items()},
}
SIGNALS = ("acceptor", "donor")
WINDOWS_PER_ORGANISM = 1000
_BASES_PER_GENE = 5000
_GENE_BYTES = 100.0  # of its exons and introns while it is drawn
_MINIMA = {"seed": 0, "n_chromosomes": 2, "chromosome_length": 1, "window": 2, "decoys_per_site": 1}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Parameters of :func:`seqmtl.simulation.simulate`, checked and complete.

    Attributes
    ----------
    organisms : tuple of str
        Names of the leaves of the tree.
    seed : int
        Equal seeds and parameters give equal results, to the byte.
    n_chromosomes : int
        At least 2.
    chromosome_length : int
        Length of each chromosome in bases.
    n_genes : int, optional
        Genes per organism, evenly distributed over chromosomes; default one in 5,000 bases, or
        more if `n_windows` requires it.
    n_windows : int or mapping of str to int
        Training windows per organism, true sites plus decoys; organisms missing in a mapping
        get 1,000. For a given `n_genes`, fewer windows are a subset of more.
    window : int
        Window length in bases.
    signal : {"acceptor", "donor"}
        Type of the labelled sites; the genomes do not depend on it.
    decoys_per_site : int
        Number of decoys per true site.
    drift : float
        Rate of drift per unit of branch length: the log-odds of two leaves at path length d
        have correlation exp(-drift * d).

    Raises
    ------
    ValueError
        With the name of the parameter, the rule and the value.
    """

    organisms: tuple[str, ...]
    seed: int = 0
    n_chromosomes: int = 3
    chromosome_length: int = 200_000
    n_genes: Any = None
    n_windows: Any = WINDOWS_PER_ORGANISM
    window: int = 200
    signal: str = "acceptor"
    decoys_per_site: int = 4
    drift: float = 0.5

    def __post_init__(self) -> None:
        check_choice("signal", self.signal, SIGNALS)
        check_number("drift", self.drift, min_val=0, remedy="0 means no drift")
        self._set("drift", float(self.drift))
        for name, minimum in _MINIMA.items():
            self._set(name, _integer(name, getattr(self, name), minimum))
        self._set("n_windows", _windows_by_organism(self.organisms, self.n_windows))
        has_number = self.n_genes is not None
        n_genes = _integer("n_genes", self.n_genes, 1) if has_number else _enough_genes(self)
        self._set("n_genes", n_genes)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def margin(self) -> int:
        """Bases without sites at either end of a chromosome, so that windows fit."""
        return self.window // 2 + 2

    def n_training(self, organism: str) -> tuple[int, int]:
        """Return the numbers of true sites and decoys for training of an organism."""
        n_windows = self.n_windows[organism]
        n_true = min(n_windows, max(1, round(n_windows / (1 + self.decoys_per_site))))
        return n_true, n_windows - n_true


@dataclass(frozen=True)
class SimulatedGenome:
    """Genome, genes and labelled sites of one organism.

    Attributes
    ----------
    organism : str
        Name of the leaf.
    letters : numpy.ndarray
        Shape (bases,), uint8 ASCII: concatenated chromosomes, repeats in lower case.
    offsets : numpy.ndarray
        Shape (chromosomes + 1,), int64: chromosome i is ``letters[offsets[i]:offsets[i + 1]]``.
    genes : tuple of Layout
        Genes of each chromosome, in coordinates of the plus strand.
    sites : Sites
        Labelled sites on the concatenated chromosomes, sorted by position, with the column of
        :mod:`seqmtl.simulation.labelled_sites`; those of the last chromosome are the test split.
    """

    organism: str
    letters: np.ndarray
    offsets: np.ndarray
    genes: tuple[Layout, ...]
    sites: Sites

    @property
    def contigs(self) -> list[str]:
        """Names of the chromosomes: chr1, chr2, ..."""
        return [f"chr{number}" for number in range(1, self.offsets.size)]

    def contig_index(self) -> np.ndarray:
        """Return the chromosome of every site, 0-based, shape (n,), int64."""
        return np.searchsorted(self.offsets, self.sites.starts, side="right") - 1

    def is_test(self) -> np.ndarray:
        """Return which sites are in the test split, shape (n,), bool."""
        in_last: np.ndarray = self.sites.starts >= self.offsets[-2]
        return in_last


@dataclass(frozen=True)
class Simulation:
    """The result of :func:`simulate`.

    Attributes
    ----------
    settings : Settings
        Parameters of the simulation.
    newick : str
        The tree, as one line.
    genomes : tuple of SimulatedGenome
        One entry per organism, in the order of the leaves.
    """

    settings: Settings
    newick: str
    genomes: tuple[SimulatedGenome, ...]

    def window_starts(self, sites: Sites) -> np.ndarray:
        """Return the first base of the windows around sites, on the forward strand.

        In reading direction, a site of a window of L bases is at bases ``L // 2 - 1`` and
        ``L // 2``.
        """
        window = self.settings.window
        return sites.starts - Site(window // 2 - 1, 2, "").offsets(sites.is_reverse, window)

    def windows(self, genome: SimulatedGenome, rows: slice = slice(None)) -> np.ndarray:
        """Cut the windows of a range of a genome's sites.

        Returns
        -------
        numpy.ndarray
            Shape (rows, window), uint8 ASCII letters, in the sense of each site's strand.
        """
        sites = genome.sites.take(rows)
        first = self.window_starts(sites)
        cut = genome.letters[first[:, None] + np.arange(self.settings.window)]
        cut[sites.is_reverse] = _COMPLEMENT[cut[sites.is_reverse][:, ::-1]]
        return cut


def simulate(tree: TreeSource | None = None, **settings: Any) -> Simulation:
    """Simulate the genomes of organisms related by a tree.

    The models are related, not the bases: composition, codon usage, lengths of introns, and the
    motifs of splice sites and promoters drift along the branches, and every genome is drawn
    independently from the models of its leaf. No stretch of a genome is a copy of another's, so
    nothing leaks between organisms; they share only what their genes look like.

    A gene has a promoter, exons and introns, an open reading frame that goes on from exon to exon
    (start codon, codons of the organism's usage, stop codon; introns of any phase), and
    untranslated ends. Not modelled: genes without introns, alternative transcripts, introns that
    are minor or outside the coding sequence, other genetic codes, codons that depend on the amino
    acids of a protein, the GC of the region or each other, transposons, pseudogenes, and genes that
    overlap.

    Training windows come from all chromosomes but the last. Test windows are all true sites of the
    last one, with `decoys_per_site` decoys each. Windows are only described here, not cut.

    Parameters
    ----------
    tree : TreeSource, optional
        Input of :func:`seqmtl.relations.read_tree`; default :func:`default_tree`.
    **settings
        All of :class:`Settings` but the organisms.

    Returns
    -------
    Simulation
        Genomes, genes, labelled sites and the tree.

    Raises
    ------
    InputFormatError
        If the tree is not suitable.
    ValueError
        If a parameter is out of range, or the genes or windows do not fit on the chromosomes.
    MemoryLimitError
        If the genomes do not fit into memory.

    Examples
    --------
    >>> made = simulate("(a:0.1,b:0.4);", n_windows=100, chromosome_length=50_000, seed=1)
    >>> [genome.organism for genome in made.genomes]
    ['a', 'b']
    >>> made.windows(made.genomes[0]).shape[1]
    200
    """
    parsed = read_organisms(tree)
    checked = Settings(organisms=parsed.leaf_names, **settings)
    n = len(parsed.leaf_names) * checked.n_chromosomes * checked.chromosome_length
    require_memory(
        2.0 * n + _GENE_BYTES * checked.n_genes,
        f"simulating {n:,} bases and {checked.n_genes:,} genes per organism",
        "give shorter chromosomes, or fewer of them, of the organisms or of the windows",
    )
    root, *streams = np.random.SeedSequence(checked.seed).spawn(1 + len(parsed.leaf_names))
    n_traits = list(_N_TRAITS.values())
    traits = drift_traits(parsed, sum(n_traits), checked.drift, np.random.default_rng(root))
    parts = [np.split(values, np.cumsum(n_traits)[:-1]) for values in traits]
    genomes = tuple(
        _make_genome(organism, dict(zip(_N_TRAITS, values, strict=True)), checked, stream)
        for organism, values, stream in zip(parsed.leaf_names, parts, streams, strict=True)
    )
    return Simulation(settings=checked, newick=parsed.to_newick() + "\n", genomes=genomes)


def _make_genome(
    organism: str,
    traits: Mapping[str, np.ndarray],
    settings: Settings,
    stream: np.random.SeedSequence,
) -> SimulatedGenome:
    """Draw genome, genes and labelled sites of one organism from its traits."""
    *for_chromosomes, for_sites = stream.spawn(settings.n_chromosomes + 1)
    chromosomes = []
    genes = []
    for number, seed in enumerate(for_chromosomes):
        n_genes = (settings.n_genes + number) // settings.n_chromosomes
        rng = np.random.default_rng(seed)
        letters, its_genes = _make_chromosome(n_genes, settings, traits, rng)
        chromosomes.append(letters)
        genes.append(its_genes)
    offsets = np.arange(settings.n_chromosomes + 1) * settings.chromosome_length
    sites = _label_sites(organism, chromosomes, genes, settings, for_sites)
    letters = np.concatenate(chromosomes)
    return SimulatedGenome(organism, letters, offsets, tuple(genes), sites)


def _make_chromosome(
    n_genes: int, settings: Settings, traits: Mapping[str, np.ndarray], rng: np.random.Generator
) -> tuple[np.ndarray, Layout]:
    """Draw one chromosome: background, codons, motifs of all signals, repeats and N runs."""
    typical_intron = _TYPICAL_INTRON * math.exp(_INTRON_SPREAD * traits["introns"].item())
    size = settings.chromosome_length, settings.margin
    layout = lay_out_genes(n_genes, *size, typical_intron, rng)
    codes = background.draw_bases(layout.regions(), traits["composition"], rng)
    coding, first = layout.codons()
    codons.write_codons(codes, coding, traits["codons"], rng)
    donors, acceptors = layout.introns()
    starts = layout.exon_start[layout.first_exon[:-1]]
    positions = {"donor": donors, "acceptor": acceptors, "tss": starts}
    for name, model in MODELS.items():
        model.plant(codes, positions[name], traits[name], rng)
    codons.keep_open(codes, coding, first, rng)
    codes = layout.turn(codes)
    repeats, unknown = fill_gaps(layout, codes, rng)
    codes[unknown] = 4
    letters = _LETTERS[codes]
    letters[repeats] |= _LOWER
    return letters, layout.forward()


def _label_sites(
    organism: str,
    chromosomes: list[np.ndarray],
    genes: list[Layout],
    settings: Settings,
    stream: np.random.SeedSequence,
) -> Sites:
    """Select the labelled sites of one organism: a training part and the last chromosome."""
    signal = settings.signal
    length = settings.chromosome_length
    true = [
        true_sites(chromosome_genes, signal, number * length)
        for number, chromosome_genes in enumerate(genes)
    ]
    n_true, n_decoys = settings.n_training(organism)
    training = Sites.join(true[:-1]).in_order()
    if n_true > len(training):
        raise ValueError(
            f"n_windows of {organism} must need at most {len(training)} true sites, got {n_true}; "
            f"use more genes (n_genes is {settings.n_genes}) or fewer windows"
        )
    pools = [
        decoy_pools(letters, chromosome_genes, signal, settings.margin, number * length)
        for number, (letters, chromosome_genes) in enumerate(zip(chromosomes, genes, strict=True))
    ]
    n_test = len(true[-1])
    parts = []
    for seed, positions, annotated, count, n_decoys_of_split in zip(
        stream.spawn(2),
        (pools[:-1], pools[-1:]),
        (training, true[-1]),
        (n_true, n_test),
        (n_decoys, n_test * settings.decoys_per_site),
        strict=True,
    ):
        rng_true, rng_decoys = (np.random.default_rng(child) for child in seed.spawn(2))
        parts.append(annotated.take(rng_true.permutation(len(annotated))[:count]))
        parts.append(draw_decoys(positions, n_decoys_of_split, rng_decoys))
    return Sites.join(parts).in_order()


def _integer(name: str, value: int, minimum: int) -> int:
    check_integer(name, value, minimum, remedy=f"give {minimum} or more")
    return int(value)  # numpy's have no JSON


def _windows_by_organism(
    organisms: tuple[str, ...], n_windows: int | Mapping[str, int]
) -> dict[str, int]:
    if not isinstance(n_windows, Mapping):
        return dict.fromkeys(organisms, _integer("n_windows", n_windows, 0))
    unknown = [name for name in n_windows if name not in organisms]
    if unknown:
        raise ValueError(
            f"n_windows must name leaves of the tree, got {unknown[0]!r}; "
            f"the leaves are {', '.join(organisms)}"
        )
    counts = {name: _integer(f"n_windows of {name}", n, 0) for name, n in n_windows.items()}
    return dict.fromkeys(organisms, WINDOWS_PER_ORGANISM) | counts


def _enough_genes(settings: Settings) -> int:
    """Return a number of genes that fills the chromosomes and yields enough true sites."""
    largest = max(settings.n_training(organism)[0] for organism in settings.organisms)
    needed = math.ceil(1.1 * largest / MEAN_INTRONS / (settings.n_chromosomes - 1)) + 1
    usual = settings.chromosome_length // _BASES_PER_GENE
    return max(needed, usual) * settings.n_chromosomes
