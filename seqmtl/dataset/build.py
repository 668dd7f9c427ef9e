"""Build the rows of a dataset from annotated genomes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import available_memory
from seqmtl._threads import n_threads
from seqmtl.cluster import Cluster, Here, Piece
from seqmtl.dataset.config import SPLITS, Config, OrganismConfig
from seqmtl.dataset.duplicates import fingerprints
from seqmtl.dataset.introns import REACH, Introns, find_introns
from seqmtl.dataset.signals import Place, places_of
from seqmtl.dataset.splits import Regions, make_regions
from seqmtl.dataset.strata import Decoys, Sampler
from seqmtl.dataset.true_sites import CROSSING, Contigs, Finder, LeftOut, TrueSites
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.io import load_genome
from seqmtl.io.annotation import read_annotation
from seqmtl.io.dataset import genome_sum
from seqmtl.io.junctions import read_junctions
from seqmtl.io.rows import check_first_field, read_chrom_map, read_site_bed
from seqmtl.io.transcripts import Annotation
from seqmtl.sequences import ContigTable, Genome, Windows
from seqmtl.sequences.intervals import merge_intervals

logger = logging.getLogger(__name__)

_MEMORY = 10  # bytes for each byte of a genome's file, compressed or not


@dataclass
class Part:
    """The rows of one organism, sorted by contig, start and strand.

    Attributes
    ----------
    organism : str
        Name of the organism.
    genome : dict
        Path, size and statistics of the FASTA file.
    contigs : ContigTable
        Contigs of the FASTA file in the genome's buffer.
    contig, start : ndarray of int64, shape (n,)
        Contig of each window, and its 0-based start on the forward strand.
    is_reverse : ndarray of bool, shape (n,)
        Whether a window is on the minus strand.
    labels, splits, words : ndarray of int8, shape (n,)
        1 or -1; index into the splits; index of the word at the site.
    strata : ndarray of int16, shape (n,)
        Stratum of a decoy; -1 for a true site.
    prints : ndarray of uint64, shape (n, 2)
        Fingerprints, equal for equal sequences.
    places : list of Place
        Annotated positions of the true sites, in their order.
    names : tuple of str
        Words by index.
    decoys : Decoys
        The decoys drawn, with the sizes of the strata.
    known_starts : ndarray of int64, shape (m,)
        First base of every annotated site on the forward strand, in the genome's buffer.
    known_is_reverse : ndarray of bool, shape (m,)
        Which of these are on the minus strand.
    regions : Regions
        Regions of the splits.
    left_out : list of LeftOut
        Items excluded from the dataset.
    """

    organism: str
    genome: dict[str, object]
    contigs: ContigTable
    contig: NDArray[np.int64]
    start: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]
    labels: NDArray[np.int8]
    splits: NDArray[np.int8]
    words: NDArray[np.int8]
    strata: NDArray[np.int16]
    prints: NDArray[np.uint64]
    places: list[Place]
    names: tuple[str, ...]
    decoys: Decoys
    known_starts: NDArray[np.int64]
    known_is_reverse: NDArray[np.bool_]
    regions: Regions
    left_out: list[LeftOut]

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop rows."""
        is_site = kept[self.labels > 0].tolist()
        self.places = [place for place, k in zip(self.places, is_site, strict=True) if k]
        for name in ("contig", "start", "is_reverse", "labels", "splits", "words", "strata"):
            setattr(self, name, getattr(self, name)[kept])
        self.prints = self.prints[kept]

    def weights(self) -> NDArray[np.float32]:
        """Return the number of genomic positions that each row represents, shape (n,)."""
        is_decoy = self.strata >= 0
        weights = np.ones(self.strata.size, dtype=np.float32)
        weights[is_decoy] = self.decoys.weights(self.strata[is_decoy])
        return weights


def build_parts(config: Config, workers: Here | Cluster | None = None) -> Iterator[Part]:
    """Yield the rows of each organism.

    Threads of this process read genomes at the same time only if they fit into memory.

    Raises
    ------
    InputFormatError
        If a file is invalid.
    SeqmtlError
        If an organism has no usable site.
    """
    given, organisms = list(config.organisms.values()), config.organisms
    if isinstance(workers, Cluster):  # they may be elsewhere
        organisms = {name: organism.absolute() for name, organism in organisms.items()}
    pieces = [
        Piece(name, (name, number), tuple(organism.files))
        for number, (name, organism) in enumerate(organisms.items())
    ]
    genomes = [os.path.getsize(organism.genome) for organism in given]
    most = n_threads() * _MEMORY * max(genomes, default=0)
    options: dict[str, Any] = {"ordered": True, "is_small": most < available_memory()}
    config = replace(config, organisms=organisms)
    for done in (workers or Here()).map(_build, pieces, common=config, **options):
        yield _as_given(done.result, given[done.number])


def _as_given(part: Part, organism: OrganismConfig) -> Part:
    """Name the files of a part as they were given."""
    for full, path in zip(organism.absolute().files, organism.files, strict=True):
        part.left_out = [
            row._replace(source=path + row.source.removeprefix(full))
            if row.source.startswith(full)
            else row
            for row in part.left_out
        ]
    return replace(part, genome=part.genome | {"path": organism.genome})


def _build(config: Config, name: str, number: int) -> Part:
    rng = np.random.default_rng([config.seed, number])
    organism = config.organisms[name]
    source = organism.source
    annotation, places = _read_places(config, organism)
    junctions = read_junctions(organism.junctions) if organism.junctions else []
    names = read_chrom_map(organism.contig_names) if organism.contig_names else {}
    genome = load_genome(organism.genome, padding=config.window + 1)
    for contig in genome.names:
        check_first_field(contig)
    contigs, introns = Contigs(genome, names), None
    if junctions:
        check_letters = bool(config.sites.words)
        introns = find_introns(
            name, source, junctions, contigs, config.junctions, check_letters=check_letters
        )
        places = introns.places(config.signal, config.sites.min_intron)
    finder = Finder(name, source, genome, config.site, config.window)
    sites = finder.find(places, contigs, organism.allow_missing_contigs)
    if not len(sites):
        lost = sites.left_out + (introns.left_out if introns else [])
        raise SeqmtlError(
            f"{source}: none of the {len(lost):,} {config.signal} sites can be used: "
            + "; ".join(sorted({row.reason for row in lost}))
        )
    if config.signal in ("donor", "acceptor") and organism.sites is None:
        known = introns or annotation
        positions = _donors(known, config.sites.min_intron, contigs)
    else:
        positions = sites.starts
    try:
        regions = make_regions(genome, positions, config.split, organism.split, rng)
    except ValueError as error:
        raise InputFormatError(f"organisms.{name}.split: {error}", path=config.path) from error
    windows = finder.window_starts(sites.starts, sites.is_reverse)
    is_whole = regions.of_windows(windows, config.window) >= 0
    sites.left_out += [
        finder.left_out(place, CROSSING)
        for place, whole in zip(sites.places, is_whole.tolist(), strict=True)
        if not whole
    ]
    sites.keep(is_whole)
    within = None
    if introns is not None:
        genes = introns.genes(places, sites, contigs)
        sites.left_out += introns.left_out
        if config.junctions.decoys == "introns":
            within = merge_intervals(np.concatenate(genes))
        _log_junctions(name, genome, genes, within)
    else:
        genes = _genes(annotation, places, sites, contigs)
    if organism.sites is not None and config.decoys.in_genes:
        logger.info("%s: no genes are known, so decoys are drawn from the whole genome", name)
    decoys = Sampler(finder, sites, genes, regions, config.decoys, within).draw(rng)
    part = _join(name, organism, finder, sites, decoys, regions)
    part.left_out += _transcripts_left_out(name, annotation)
    _log(part)
    return part


def _donors(
    known: Annotation | Introns | None, min_intron: int, contigs: Contigs
) -> NDArray[np.int64]:
    """Return the distinct donors in the genome's buffer, by which both ends of introns are split.

    So datasets of donors and of acceptors have the same regions.
    """
    places: list[Place] = []
    if isinstance(known, Annotation):
        places = places_of(known, "donor", min_intron)
    elif known is not None:
        places = known.places("donor", min_intron)
    places = [place for place in places if not place.reason]
    contig = contigs.numbers([place.contig for place in places])
    starts = np.array([place.start for place in places], dtype=np.int64)
    return np.unique((contigs.genome.starts[contig] + starts)[contig >= 0])


def _log_junctions(
    name: str,
    genome: Genome,
    genes: list[NDArray[np.int64]],
    within: NDArray[np.int64] | None,
) -> None:
    covered = merge_intervals(np.concatenate(genes))
    logger.info(
        "%s: decoys are drawn from %s; %.3g %% of its bases are within %d bases of introns that "
        "reads show. Sites in genes without reads are unknown, and evaluation counts them as false",
        name, "the whole genome" if within is None else "the genome near introns",
        100 * float((covered[:, 1] - covered[:, 0]).sum()) / max(1, genome.n_bases), REACH,
    )  # fmt: skip


def _read_places(config: Config, organism: OrganismConfig) -> tuple[Annotation | None, list[Place]]:
    """Return the annotation if there is one, and the positions of the sites, if it has them."""
    if organism.junctions is not None:
        return None, []  # their strands depend on the genome
    if organism.sites is not None:
        rows = read_site_bed(organism.sites, length=config.site.length)
        places = [Place(r.contig, r.start, r.is_reverse, r.name, r.line) for r in rows]
        return None, places
    annotation = read_annotation(
        str(organism.annotation), sources=organism.sources or config.sites.sources
    )
    return annotation, places_of(annotation, config.signal, config.sites.min_intron)


def _genes(
    annotation: Annotation | None, places: list[Place], sites: TrueSites, contigs: Contigs
) -> list[NDArray[np.int64]]:
    """Return the extents of genes with sites on the plus and the minus strand of the buffer."""
    transcripts = annotation.transcripts if annotation is not None else []
    where = {place[:3] for place in sites.places}
    with_sites = {place.name for place in places if place[:3] in where}
    genes = {(t.contig, t.gene) for t in transcripts if t.name in with_sites}
    own = [t for t in transcripts if (t.contig, t.gene) in genes]
    return contigs.extents([(t.contig, t.start, t.end, t.is_reverse) for t in own])


def _join(
    name: str,
    organism: OrganismConfig,
    finder: Finder,
    sites: TrueSites,
    decoys: Decoys,
    regions: Regions,
) -> Part:
    """Merge the true sites and the decoys of a genome, sorted."""
    genome, length = finder.genome, finder.window
    true_windows = finder.window_starts(sites.starts, sites.is_reverse)
    starts = np.concatenate([true_windows, decoys.window_starts])
    is_reverse = np.concatenate([sites.is_reverse, decoys.is_reverse])
    order = np.lexsort([is_reverse, starts])
    strata = np.concatenate([np.full(len(sites), -1, np.int16), decoys.strata])[order]
    n_words = np.int16(len(finder.motif.names))
    words = np.concatenate([sites.words, (decoys.strata % n_words).astype(np.int8)])[order]
    starts, is_reverse = starts[order], is_reverse[order]
    windows = Windows(genome.codes, starts, length, is_reverse=is_reverse)
    contig = genome.contigs.contig_of(starts + length // 2)
    rank = order[strata < 0]  # the true sites in their new order
    facts = {
        "path": organism.genome,
        "bytes": os.path.getsize(organism.genome),
        "n_contigs": len(genome),
        "n_bases": genome.n_bases,
        "crc32": genome_sum(genome),
    }
    left_out = sites.left_out + [
        LeftOut.of_many(count, reason, name, organism.genome)
        for reason, count in decoys.excluded.items()
        if count
    ]
    return Part(
        name, facts, genome.contigs, contig, starts - genome.starts[contig], is_reverse,
        np.where(strata < 0, 1, -1).astype(np.int8), regions.of_windows(starts, length), words,
        strata, fingerprints(windows), [sites.places[i] for i in rank], finder.motif.names,
        decoys, sites.known_starts, sites.known_is_reverse, regions, left_out,
    )  # fmt: skip


def _transcripts_left_out(name: str, annotation: Annotation | None) -> list[LeftOut]:
    if annotation is None:
        return []
    return [
        LeftOut(
            name, row.contig, row.start, row.end, row.strand, row.name or ".", row.reason, 1,
            f"{annotation.path}:{row.line}",
        )
        for row in annotation.left_out
    ]  # fmt: skip


def _log(part: Part) -> None:
    """Log what was found, and what was not."""
    n_sites, decoys = int((part.labels > 0).sum()), part.decoys
    logger.info(
        "%s: %d true sites and %d decoys; split by %s",
        part.organism, n_sites, part.labels.size - n_sites, part.regions.by,
    )  # fmt: skip
    if decoys.n_moved:
        logger.warning(
            "%s: %d decoys are from other strata than planned, which have too few candidates",
            part.organism, decoys.n_moved,
        )  # fmt: skip
    if decoys.n_lacking:
        logger.warning(
            "%s: %d decoys fewer than requested: there are no more candidates",
            part.organism, decoys.n_lacking,
        )  # fmt: skip
    for number, name in enumerate(SPLITS):
        if not ((part.splits == number) & (part.labels > 0)).any():
            logger.warning("%s: no true site is in %s", part.organism, name)
