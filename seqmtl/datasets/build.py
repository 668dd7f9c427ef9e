"""Build the rows of a dataset from annotated genomes."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import available_memory
from seqmtl._threads import in_order, n_threads
from seqmtl.datasets.config import Config, OrganismConfig
from seqmtl.datasets.decoy_sampler import Decoys, DecoySampler
from seqmtl.datasets.duplicates import fingerprints
from seqmtl.datasets.introns import FEW_READS, MARGIN, check_introns, find_introns
from seqmtl.datasets.reading_frames import decide_coding
from seqmtl.datasets.signals import (
    NO_UTR,
    PSEUDOGENE,
    SMALL_RNA,
    annotated_sites,
    positions_of,
    site_columns,
    uncertain_sites,
)
from seqmtl.datasets.splits import Regions, make_regions
from seqmtl.datasets.true_sites import (
    CROSSING,
    MASKED,
    SiteResolver,
    TrueSites,
    count_reasons,
    excluded_site,
)
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.io import load_genome
from seqmtl.io.annotation import read_annotation
from seqmtl.io.bed import check_first_field, read_chrom_map, read_regions, read_site_bed
from seqmtl.io.dataset import Exclusion, genome_facts
from seqmtl.io.junctions import read_junctions
from seqmtl.io.transcripts import Annotation, Transcript
from seqmtl.sequences import ContigTable, Genome, Windows
from seqmtl.sequences.intervals import is_inside, merge_intervals
from seqmtl.sequences.sites import Sites

logger = logging.getLogger(__name__)

_MIN_CODING_SHARE = 0.25
_BYTES_PER_FILE_BYTE = 10  # memory for each byte of a genome's file, compressed or not


@dataclass
class OrganismDataset:
    """The rows of one organism.

    Attributes
    ----------
    organism : str
        Name of the organism.
    genome : dict
        Path, size and statistics of the FASTA file.
    contigs : ContigTable
        Contigs of the FASTA file in the genome's buffer.
    windows : Sites
        The windows, sorted by start and strand, with the columns labels (1 or -1), splits and
        consensus (indices), strata (-1 for a true site), row (of the annotated sites, -1 for a
        decoy), and prints: fingerprints, equal for equal sequences.
    annotated : Sites
        Annotated sites, see :func:`seqmtl.datasets.signals.site_columns`.
    names : tuple of str
        Consensus sequences by index.
    decoys : Decoys
        The decoys drawn, with the sizes of the strata.
    all_sites : Sites
        Every annotated site.
    regions : Regions
        Regions of the splits.
    exclusions : list of Exclusion
        Items excluded from the dataset.
    masked : ndarray of int64, shape (n, 2)
        Masked intervals of the buffer; disjoint and increasing.
    sequences : ndarray of uint8, shape (n_sites, window)
        Codes of the true sites' windows.
    """

    organism: str
    genome: dict[str, object]
    contigs: ContigTable
    windows: Sites
    annotated: Sites
    names: tuple[str, ...]
    decoys: Decoys
    all_sites: Sites
    regions: Regions
    exclusions: list[Exclusion]
    masked: NDArray[np.int64]
    sequences: NDArray[np.uint8]

    def weights(self) -> NDArray[np.float32]:
        """Return the number of genomic positions that each row represents, shape (n,)."""
        strata = self.windows["strata"]
        weights = np.ones(strata.size, dtype=np.float32)
        weights[strata >= 0] = self.decoys.weights(strata[strata >= 0])
        return weights

    def select(self, is_selected: NDArray[np.bool_]) -> None:
        """Reduce the dataset to some of its windows."""
        self.sequences = self.sequences[is_selected[self.windows["labels"] > 0]]
        self.windows = self.windows.take(is_selected)


def build_datasets(config: Config) -> Iterator[OrganismDataset]:
    """Yield the rows of each organism.

    Threads read genomes at the same time only if they fit into memory.

    Raises
    ------
    InputFormatError
        If a file is invalid.
    SeqmtlError
        If an organism has no usable site.
    """
    genomes = [os.path.getsize(organism.genome) for organism in config.organisms.values()]
    memory = n_threads() * _BYTES_PER_FILE_BYTE * max(genomes, default=0)
    run = in_order if memory < available_memory() else map
    yield from run(partial(_build, config), range(len(genomes)))


def read_sites(
    config: Config, name: str, organism: OrganismConfig
) -> tuple[Genome, Sites, Sites, Annotation | None]:
    """Read the genome of an organism, and the sites that its file has.

    Returns
    -------
    genome : Genome
        The genome, with the names of its contigs in the file.
    annotated, uncertain : Sites
        Sites, and positions that are neither true sites nor decoys; see
        :func:`seqmtl.datasets.signals.site_columns`.
    annotation : Annotation or None
        Transcripts, or introns of reads, if the file has them.
    """
    signal, rules = config.signal, config.sites
    annotation, junctions, bed_sites = None, [], []
    if organism.annotation is not None:
        annotation = read_annotation(organism.annotation, sources=organism.sources or rules.sources)
    elif organism.junctions is not None:
        junctions = read_junctions(organism.junctions)
    elif organism.sites is not None:
        bed_sites = read_site_bed(organism.sites, length=config.site.length)
    names = read_chrom_map(organism.contig_names) if organism.contig_names else {}
    genome = load_genome(organism.genome, padding=config.window + 1)
    for contig in genome.names:
        check_first_field(contig)
    genome = replace(genome, aliases=names)
    if annotation is not None:
        annotation = decide_coding(annotation, genome)
    elif junctions:
        source, check_letters = organism.source, bool(rules.words)
        annotation = find_introns(
            name, source, junctions, genome, config.junctions, check_letters=check_letters
        )
    else:
        rows = ((*site, "", -1, False) for site in bed_sites)
        return genome, site_columns(rows), site_columns([]), None
    annotated = annotated_sites(annotation, signal, rules.min_intron)
    return genome, annotated, uncertain_sites(annotation, signal), annotation


def _build(config: Config, number: int) -> OrganismDataset:
    rng = np.random.default_rng([config.seed, number])
    name, organism = list(config.organisms.items())[number]
    source = organism.source
    allow_missing = organism.allow_missing_contigs
    genome, annotated, uncertain, annotation = read_sites(config, name, organism)
    excluded = _excluded_transcripts(name, annotation)
    is_of_reads = organism.junctions is not None
    resolver = SiteResolver(name, source, genome, config.site, config.window)
    true_sites = resolver.find(annotated, uncertain=uncertain, allow_missing=allow_missing)
    is_splice = config.signal in ("donor", "acceptor")
    if annotation is not None and not is_of_reads and (config.sites.words or not is_splice):
        remedy = ', or set consensus = "all"' if is_splice else None
        check_introns(annotation, genome, config.sites.min_intron, remedy)
    if not len(true_sites.sites):
        exclusions = true_sites.exclusions + excluded * is_of_reads
        raise _no_sites(config, source, exclusions, annotation)
    if annotation is not None:
        _warn_of_types(config.signal, annotation, annotated, true_sites)
    if is_splice and annotation is not None:
        positions = _donors(annotation, config.sites.min_intron, genome)
    else:
        positions = true_sites.sites.starts
    try:
        regions = make_regions(genome, positions, config.split, organism.split, rng)
    except ValueError as error:
        raise InputFormatError(f"organisms.{name}.split: {error}", path=config.path) from error
    is_in_region = regions.of_windows(resolver.window_starts(true_sites.sites), config.window) >= 0
    masked = _masked(organism, genome)
    is_masked = is_inside(true_sites.sites.starts, masked)
    for is_out, reason in ((is_masked, MASKED), (~is_in_region & ~is_masked, CROSSING)):
        rows = true_sites.sites["row"][is_out].tolist()
        true_sites.exclusions += [
            excluded_site(annotated, row, config.site.length, reason, name, source) for row in rows
        ]
    true_sites.sites = true_sites.sites.take(is_in_region & ~is_masked)
    true = annotated.take(true_sites.sites["row"])
    genes = _genes(annotation, annotated, true, genome)
    if is_of_reads:
        true_sites.exclusions += excluded
        _log_junctions(name, genome, genes)
    if organism.sites is not None and config.decoys.in_genes:
        logger.info("%s: no genes are known, so decoys are drawn from the whole genome", name)
    sampler = DecoySampler(resolver, true_sites, genes, regions, config.decoys, masked)
    decoys = sampler.draw(rng)
    dataset = _join(name, organism, resolver, annotated, true_sites, decoys, regions, masked)
    if not is_of_reads:
        dataset.exclusions += excluded
    _log(dataset)
    return dataset


def _no_sites(
    config: Config, source: str, excluded: list[Exclusion], annotation: Annotation | None
) -> SeqmtlError:
    """Return the error for a file without a usable site: what it has, and the remedy."""
    counts = count_reasons(excluded)
    remedies = []
    reads = max((t.reads for t in annotation.transcripts), default=0) if annotation else 0
    if FEW_READS in counts and 0 < reads < config.junctions.min_reads:
        remedies = [f"none has more reads than {reads}: set min_reads = {reads} in [junctions]"]
    elif NO_UTR in counts:
        remedies = ["give an annotation with untranslated regions"]
    return SeqmtlError(
        f"{source}: none of the {len(excluded):,} {config.signal} sites can be used: "
        + "; ".join([f"{reason} ({n:,})" for reason, n in sorted(counts.items())] + remedies)
    )


def _warn_of_types(
    signal: str, annotation: Annotation, annotated: Sites, true_sites: TrueSites
) -> None:
    """Warn of sites left out as their transcripts have none, and of others that are doubtful."""
    reasons = Counter(row.reason for row in true_sites.exclusions)
    excluded = {reason: reasons[reason] for reason in (PSEUDOGENE, SMALL_RNA) if reasons[reason]}
    if excluded:
        logger.warning(
            "%s: %d %s sites are left out: %s",
            annotation.path,
            sum(excluded.values()),
            signal,
            "; ".join(f"{reason} ({n:,})" for reason, n in excluded.items()),
        )
    coding = {(t.name, t.line) for t in annotation.transcripts if t.cds}
    n_true = len(true_sites.sites)
    n_coding = sum(key in coding for key in _keys(annotated.take(true_sites.sites["row"])))
    if reasons[NO_UTR] > n_true and n_coding < _MIN_CODING_SHARE * n_true:
        logger.warning(
            "%s: %d of %d %s sites are those of transcripts without a coding sequence, and %d "
            "coding ones end where their coding sequence does; give an annotation with "
            "untranslated regions",
            annotation.path,
            n_true - n_coding,
            n_true,
            signal,
            reasons[NO_UTR],
        )


def _masked(organism: OrganismConfig, genome: Genome) -> NDArray[np.int64]:
    """Return the regions to leave out, in the genome's buffer."""
    intervals = [np.zeros((0, 2), dtype=np.int64)]
    if organism.mask is not None:
        contig_lengths = dict(zip(genome.names, genome.lengths.tolist(), strict=True))
        for contig, bounds in read_regions(organism.mask, contig_lengths).items():
            intervals.append(np.column_stack(bounds) + genome.starts[genome.index(contig)])
    return merge_intervals(np.concatenate(intervals))


def _donors(annotation: Annotation, min_intron: int, genome: Genome) -> NDArray[np.int64]:
    """Return the distinct donors in the genome's buffer, by which both ends of introns are split.

    So datasets of donors and of acceptors have the same regions.
    """
    annotated = annotated_sites(annotation, "donor", min_intron)
    annotated = annotated.take(annotated["reasons"] == "")
    contig = genome.indices(annotated["contigs"])
    return np.unique((genome.starts[contig] + annotated.starts)[contig >= 0])


def _log_junctions(name: str, genome: Genome, genes: list[NDArray[np.int64]]) -> None:
    covered = merge_intervals(np.concatenate(genes))
    logger.info(
        "%s: decoys are drawn from the whole genome; %.3g %% of its bases are within %d bases of "
        "introns that reads show. Sites in genes without reads are unknown, and evaluation counts "
        "them as false",
        name,
        100 * float((covered[:, 1] - covered[:, 0]).sum()) / max(1, genome.n_bases),
        MARGIN,
    )


def _genes(
    annotation: Annotation | None, annotated: Sites, true: Sites, genome: Genome
) -> list[NDArray[np.int64]]:
    """Return the extents of genes with sites on the plus and the minus strand of the buffer."""
    transcripts = annotation.transcripts if annotation is not None else []
    true_positions = {*positions_of(true)}
    strong = annotated.take(~annotated["is_weak"])
    rows = zip(_keys(strong), positions_of(strong), strict=True)
    with_sites = {key for key, position in rows if position in true_positions}
    genes = {_gene(t) for t in transcripts if (t.name, t.line) in with_sites}
    with_true_sites = [t for t in transcripts if _gene(t) in genes]
    contig = genome.indices([t.contig for t in with_true_sites])
    bounds = np.array([(t.start, t.end) for t in with_true_sites], dtype=np.int64).reshape(-1, 2)
    bounds = np.clip(bounds, 0, genome.lengths[contig][:, None])
    is_valid = (contig >= 0) & (bounds[:, 0] < bounds[:, 1])
    bounds += genome.starts[contig][:, None]
    is_reverse = np.array([t.is_reverse for t in with_true_sites], dtype=np.bool_)
    return [merge_intervals(bounds[is_valid & (is_reverse == strand)]) for strand in (False, True)]


def _keys(annotated: Sites) -> list[tuple[str, int]]:
    """Return name and line of the transcripts of annotated sites."""
    return [*zip(annotated["names"].tolist(), annotated["lines"].tolist(), strict=True)]


def _gene(transcript: Transcript) -> tuple[str, str, int]:
    """Return the key of a transcript's gene; a gene without a name is a line of the file."""
    line = 0 if transcript.gene.strip(".") else transcript.line
    return transcript.contig, transcript.gene, line


def _join(
    name: str,
    organism: OrganismConfig,
    resolver: SiteResolver,
    annotated: Sites,
    true_sites: TrueSites,
    decoys: Decoys,
    regions: Regions,
    masked: NDArray[np.int64],
) -> OrganismDataset:
    """Merge the true sites and the decoys of a genome, sorted."""
    genome = resolver.genome
    n_sequences = np.int16(len(resolver.words))
    sites = true_sites.sites
    drawn = decoys.windows
    true = replace(
        sites.adding(strata=np.full(len(sites), -1, np.int16)), starts=resolver.window_starts(sites)
    )
    consensus = (drawn["strata"] % n_sequences).astype(np.int8)
    drawn = drawn.adding(consensus=consensus, row=np.full(len(drawn), -1))
    windows = Sites.join([true, drawn]).in_order()
    codes_of_windows = Windows(
        genome.codes, windows.starts, resolver.window, is_reverse=windows.is_reverse
    )
    windows = windows.adding(
        labels=np.where(windows["strata"] < 0, 1, -1).astype(np.int8),
        splits=regions.of_windows(windows.starts, resolver.window),
        prints=fingerprints(codes_of_windows),
    )
    exclusions = true_sites.exclusions + [
        Exclusion.of_many(count, reason, name, organism.genome)
        for reason, count in decoys.excluded.items()
        if count
    ]
    return OrganismDataset(
        organism=name,
        genome=genome_facts(organism.genome, genome),
        contigs=genome.contigs,
        windows=windows,
        annotated=annotated,
        names=resolver.words,
        decoys=decoys,
        all_sites=true_sites.all_sites,
        regions=regions,
        exclusions=exclusions,
        masked=masked,
        sequences=codes_of_windows[np.flatnonzero(windows["labels"] > 0)].matrix(),
    )


def _excluded_transcripts(name: str, annotation: Annotation | None) -> list[Exclusion]:
    if annotation is None:
        return []
    return [
        Exclusion(name, *row[1:5], row.name or ".", row.reason, 1, f"{annotation.path}:{row.line}")
        for row in annotation.exclusions
    ]


def _log(dataset: OrganismDataset) -> None:
    """Log the numbers of sites, decoys and excluded items."""
    is_site = dataset.windows["labels"] > 0
    decoys = dataset.decoys
    n_sites = int(is_site.sum())
    logger.info(
        "%s: %d true sites and %d decoys; split by %s",
        dataset.organism,
        n_sites,
        is_site.size - n_sites,
        dataset.regions.by,
    )
    if decoys.n_moved:
        logger.warning(
            "%s: %d decoys had to be drawn outside the planned regions, which have too few "
            "candidates",
            dataset.organism,
            decoys.n_moved,
        )
    if decoys.n_missing:
        logger.warning(
            "%s: %d decoys fewer than requested: there are no more candidates",
            dataset.organism,
            decoys.n_missing,
        )
