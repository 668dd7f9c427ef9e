"""Make the starter models that ship with the package: donors, acceptors, and their pairs.

    python examples/04_starter_models.py DATA starter

DATA holds the windows and genomes that seqmtl/starter/README.md names. Prints the accuracy of each
organism. `--without` leaves organisms out, to test on their genomes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import zipfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl import (
    MultiTaskModel,
    MultiTaskSVC,
    PositionalKmers,
    TaskKernel,
    Windows,
    dataset,
    read_windows,
)
from seqmtl._names import NameIndex
from seqmtl.adaptation import adapt
from seqmtl.adaptation.relatives import extend, weights_of_relatives
from seqmtl.core.weights import TaskWeights
from seqmtl.evaluation import evaluate
from seqmtl.files.catalogue import model_path
from seqmtl.files.model_file import write_arrays
from seqmtl.io.dataset import read_dataset, read_summary
from seqmtl.io.genome import ContigPiece, load_genome, read_contigs
from seqmtl.linear_model.site import Site
from seqmtl.linear_model.weights_io import round_weights
from seqmtl.relations.clades import shipped_clades
from seqmtl.relations.trees import read_tree
from seqmtl.sequences import encode, reverse_complement
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.sites import Sites, find_motifs
from seqmtl.splicing import fit_layer, join_ends
from seqmtl.splicing.candidates import (
    EndFinder,
    cut_regions,
    end_finders,
    find_edges,
    find_piece,
)
from seqmtl.splicing.chain import run_chain, stretch_rows, to_log_odds, with_letters
from seqmtl.splicing.coding import CODING_SHAPE, GC_CUTS, Content, Transcribed
from seqmtl.splicing.estimates import layer_of_relatives, logit
from seqmtl.splicing.fit import OrganismData, fit_numbers, tables_of
from seqmtl.splicing.layer import ALL, EDGES, ENDS, DonorLetters, Edge, PairLayer, U12Introns
from seqmtl.splicing.lengths import exon_densities, length_tables
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.regions import read_both

TREE = "eukaryotes"
FEATURES = "wd:5@-20..20,kmers:3-5/7@-80..80=0.05,kmers:3-6/25@-80..80=0.05,kmers:3-6/80=0.05"
#: Weights of the tree, of what all organisms share, and of each alone, in the task kernel.
SHARES = (0.4, 0.3, 0.3)
STEP = 2.0**-5  # of the weights in a file
LENGTH = 140  # bases of a window
OFFSETS = {"donor": 50, "acceptor": 88}  # bases before the site
#: Decoys of genomes and of human introns to train on are drawn as the parses of this pair meet
#: them: by the odds that all but their own score gives them. So the models learn what parses do not
#: know.
MET_BY = "starter:splice"
PIECE, MARGIN = 200_000, 10_000  # bases that are parsed at a time, and on either side
INTRONS = 200  # that are parsed at a time
ANY_CODON = tuple(Edge(edge, 0.0, 0.0, ALL[0]) for edge in EDGES)
#: Other decoys of genomes are drawn from all GTs (AGs).
RULES = """\
[decoys]
ratio = 40
in_genes = 0
clearance = 1
[split]
valid = 0.3
test = 0
"""
#: Donors are paired with GC, too, which their models score as GT.
TO_PAIR = {"donor": '[sites]\nconsensus = ["GT", "GC"]\n', "acceptor": ""}
MAX_SITES = 6_000  # of an organism, from each source
MAX_DECOYS = 4_000  # near a site, of each organism
FOLDS = 6  # of the organisms, each left out once
SMALL = (500, 2_000)  # sites and decoys of each organism of the models without a fold


class Annotated(NamedTuple):
    """An annotated genome: its organism, files below DATA, and decoys per site to train on."""

    organism: str
    genome: str
    annotation: str
    ratio: int


#: Annotated genomes.
GENOMES = [
    Annotated("h_sapiens", "human_chr19/genome.fa.gz", "human_chr19/annotation.gff3.gz", 40),
    Annotated(
        "a_thaliana", "a_thaliana_chr1/genome.fa.gz", "a_thaliana_chr1/annotation.gff3.gz", 8
    ),
    Annotated("m_musculus", "vertebrates/mouse17.fa.gz", "vertebrates/mouse17.gff3.gz", 40),
    Annotated("f_catus", "vertebrates/cat.fa.gz", "vertebrates/cat.gff3.gz", 40),
    Annotated(
        "c_elegans",
        "genomes_1pct/c_elegans.1pct.fa.gz",
        "genomes_1pct/c_elegans.1pct.gff3.gz",
        30,
    ),
    Annotated(
        "d_melanogaster", "genomes_1pct/dm6.small.fa.gz", "genomes_1pct/dm6.small.gtf.gz", 50
    ),
    Annotated(
        "p_falciparum",
        "genome_pfalciparum/Pf3D7_chr01-12.fasta.gz",
        "genome_pfalciparum/Pf3D7_chr01-12.gff3.gz",
        10,
    ),
    Annotated(
        "s_cerevisiae",
        "genome_scerevisiae/S_cerevisiae.fasta.gz",
        "genome_scerevisiae/S_cerevisiae.gff3.gz",
        40,
    ),
]
#: Precision of the introns called in genomes of organisms that were left out.
NEW_GENOMES = Path(__file__).parents[1] / "benchmarks/results/new_genomes.json"
MIN_CALLS = 20  # of probability 0.9
#: Windows of these organisms, whose annotated genomes are small pieces.
TABLES = {
    "donor": "joint_splice6/joint_splice6_don.tsv.gz",
    "acceptor": "joint_splice6/joint_splice6_acc.tsv.gz",
}
OF_TABLES = ("c_elegans", "d_melanogaster")
#: Human introns of all chromosomes with 50 bases of exons, for sites, decoys and coding content.
HUMAN_INTRONS = "human_u2/u2_reference_human.introns.iic.gz"
HUMAN_DECOYS = 6  # of each, at least so many bases from its donor and its acceptor
CLEAR_OF = {"donor": (60, 100), "acceptor": (100, 70)}
EXON = 50  # bases of the exons in these files
LONGEST = 1_000  # bases at either end of an intron that count for coding content
#: Genes of many organisms, for the numbers of the layers, and the clades that share them: an
#: organism belongs to the first that it is of.
GENES = "g3po"
CLADES = (
    *("Mammalia", "Vertebrata", "Tunicata", "Diptera", "Arthropoda", "Nematoda", "Spiralia"),
    *(
        "Viridiplantae",
        "Metazoa",
        "Fungi",
        "Opisthokonta",
        "Oomycota",
        "Ciliophora",
        "Sar",
        "Eukaryota",
    ),
)
LEAST = -3.5  # log-likelihood ratio of a candidate that counts for these numbers
GENES_AS_GENOMES = 5  # genes of a clade that count as much as all genomes
#: Organisms with the numbers that are fitted on their own genome, and clades with the same ones;
#: mouse and cat have those of mammals, for new ones. Clades with those that genomes share: the
#: genes have two fungi, and what is of no other clade.
WITH_NUMBERS = (
    *("a_thaliana", "c_elegans", "d_melanogaster", "h_sapiens", "p_falciparum", "s_cerevisiae"),
)
OF_GENOMES = {"Viridiplantae": "a_thaliana"}
OF_ALL_GENOMES = ("Fungi", "Eukaryota")
#: What organisms have of their own: lengths of introns, and other facts.
LENGTHS = ("shortest", "introns", "tails", "n_introns")
OWN = (*LENGTHS, "coding", "least", "n_coding")
#: Mammals with the lengths of human introns: those in the pieces of their genomes are too short.
WITH_HUMAN_LENGTHS = ("m_musculus", "f_catus")
#: The wheel with all introns of intron90, and other species, which are not read.
WHEEL = "intronic-3.0.0-py3-none-any.whl"
INTRONS_OF_WHEEL = "intronIC/data/u2_reference_multispecies.introns.iic.gz"
#: The same of U12-type introns; windows of their sites: letters, bases before, length, features.
U12_OF_WHEEL = "intronIC/data/u12_reference_multispecies.introns.iic.gz"
U12_SITES = {
    "donor": ("GT,AT", 20, 60, "wd:5@-3..15,wd:3=0.3"),
    "acceptor": ("AG,AC", 78, 100, "wd:5@-15..10,kmers:4-7/10@-60..5"),
}
U12_SHARE = 0.003  # U12-type introns per other intron of an organism that has any
#: Organisms without any of their own in that file that have such introns.
WITH_U12 = {"a_thaliana", "f_catus", "m_musculus"}
U12_LOST = 0.02  # share of the true sites of an end that parses leave out
#: Genomes with decoys of U12-type sites, and how many of each.
U12_DECOYS = {"m_musculus": 140_000, "a_thaliana": 140_000, "c_elegans": 30_000}
#: Codes of intron90 that are not three letters of each word of the name in the tree.
CODES = {"CraGig": "Magallana_gigas", "NeoSp.": "Neocallimastix_sp"}


def main(arguments: list[str] | None = None) -> None:
    """Make the models of both signals, and the paired one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the data")
    parser.add_argument("output", type=Path, help="folder of the models")
    signals = [*ENDS, "splice"]
    parser.add_argument("--signals", nargs="+", default=signals, choices=signals)
    parser.add_argument("--without", nargs="+", default=[], metavar="ORGANISM")
    parser.add_argument(
        "--without-families", nargs="+", default=[], metavar="FAMILY", help="of genes"
    )
    parser.add_argument("--sites", type=int, default=MAX_SITES, help="at most, of each source")
    parser.add_argument("--card", action="store_true", help="measure without each organism, too")
    args = parser.parse_args(arguments)
    args.output.mkdir(parents=True, exist_ok=True)
    for signal in args.signals:
        if signal == "splice":
            genomes = build_both(args.data, args.output, args.without)
            model = pair(args.data, args.output, genomes, args.without, args.without_families)
            save_paired(with_u12(model, args.data, args.without), args.output)
        else:
            model = make(args.data, args.output, signal, args.without, args.sites, args.card)
            model.save(args.output / f"{signal}.seqmtl")


def make(
    data: Path, folder: Path, signal: str, without: list[str], n_sites: int, with_card: bool
) -> MultiTaskModel:
    """Train on the train rows, calibrate and measure on the others."""
    train, held_out, shares = rows_of(data, folder, signal, without, n_sites)
    model = fit(train)
    model.site = replace(model.site, signal=signal)
    # of windows around a site, such as those of `seqmtl dataset`, the model takes this part
    model.shift = (model.length - model.site.length) // 2 - model.site.offset
    model.W = TaskWeights.of(round_weights(np.asarray(model.W), STEP), model.W.columns)
    sources = (genome.genome for genome in GENOMES)
    model.training["sources"] = ["intron90", HUMAN_INTRONS, *sources]
    usual = float(np.exp(np.mean(np.log(list(shares.values())))))
    accuracy = {}
    for name in model.tasks:
        rows = held_out[held_out.tasks == name]
        scores = model.decision_function(rows, name)
        model.calibrate(name, scores, rows.labels, prevalence=shares.get(name, usual))
        rows = measured(rows)
        accuracy[name] = metrics(rows, model.decision_function(rows, name))
        show(signal, name, accuracy[name], int((train.labels[train.tasks == name] > 0).sum()))
    if with_card:
        model.training["left_out"] = left_out(train, held_out, accuracy)
        for name, entry in model.training["left_out"].items():
            print(f"{signal:9} {name:20} left out: {entry}")
    return model


def rows_of(
    data: Path, folder: Path, signal: str, without: list[str], n_sites: int
) -> tuple[Windows, Windows, dict[str, float]]:
    """Return rows to train on, rows held out, and the share of true sites among candidates."""
    train: list[tuple[str, Windows]] = []
    held_out: list[tuple[str, Windows]] = []
    shares = {}
    met_by, genomes = PairedModel.load(MET_BY), build(data, folder, signal, without)
    both, summary = build_both(data, folder, without), read_summary(genomes)
    cut = (summary["site"]["offset"] - OFFSETS[signal], LENGTH)
    for name, _, _, ratio in GENOMES:
        if name in without:
            continue
        facts = summary["organisms"][name]
        shares[name] = facts["sites"] / (facts["sites"] + facts["candidates"])
        train.append((name, rows_of_genome(met_by, both, signal, name, n_sites, ratio)))
        rows = read_dataset(genomes, split="valid", organism=name, cut=cut)
        n = min(n_sites, int((rows.labels > 0).sum()))
        held_out.append((name, some(rows, n, n * ratio)))
    for split, parts in (("train", train), ("test", held_out)):
        windows = read_windows(data / TABLES[signal], split=split)
        for name in OF_TABLES if split == "train" else ():
            if name not in without:
                rows = windows[windows.tasks == name]
                parts.append((name, some(rows, n_sites, 3 * n_sites)))
        for name, rows in rows_of_introns(data, signal, split):
            is_measured = split == "test" and name in shares  # on its genome
            if name not in without and not is_measured:
                parts.append((name, some(rows, n_sites, MAX_DECOYS)))
    if "h_sapiens" not in without:
        train.append(("h_sapiens", rows_of_human(met_by, data, signal)))
    return pooled(train, OFFSETS[signal]), pooled(held_out, OFFSETS[signal]), shares


def human_introns(data: Path) -> Iterator[tuple[NDArray[np.uint8], int, int]]:
    """Yield human introns between their exons, 50 bases of each, and where they begin and end."""
    with gzip.open(data / HUMAN_INTRONS, "rt") as stream:
        for line in stream:
            parts = line.split("\t")
            if not line.startswith("#") and min(len(parts[2]), len(parts[4])) >= EXON:
                text = parts[2][-EXON:] + parts[3] + parts[4][:EXON]
                yield encode(text), EXON, EXON + len(parts[3])


def rows_of_genome(
    met_by: PairedModel, both: list[Path], signal: str, name: str, n_sites: int, ratio: int
) -> Windows:
    """Return sites of the train regions of a genome, and decoys as parses meet them."""
    layer, held = met_by.layer[name]._replace(least=ALL, u12=None), read_both(*both, name, "train")
    finders = end_finders([met_by.donor, met_by.acceptor], name, layer, paths=both)
    any_codon, parts = layer._replace(edges=ANY_CODON), []
    for bounds in cut_regions(held[0], MARGIN, PIECE):
        sites = find_piece(finders, held, bounds, any_codon, {})
        parts.append(in_context(sites, layer, signal))
    return rows_met(held[0].genome.codes, Sites.join(parts), signal, n_sites, ratio)


def rows_of_human(met_by: PairedModel, data: Path, signal: str) -> Windows:
    """Return the sites of human introns, and decoys from within, as parses of these meet them."""
    layer = met_by.layer["h_sapiens"]._replace(least=ALL, u12=None)
    finders = end_finders([met_by.donor, met_by.acceptor], "h_sapiens", layer)
    any_codon, (after, before) = layer._replace(edges=ANY_CODON), CLEAR_OF[signal]
    introns, texts, parts, origin = human_introns(data), [], [], 0
    while batch := [
        np.append(letters, np.uint8(OTHER)) for letters, *_ in islice(introns, INTRONS)
    ]:
        sizes, codes = np.array([letters.size for letters in batch]), np.concatenate(batch)
        stretches = origin + np.cumsum(sizes)[:, np.newaxis] - np.column_stack([sizes, 0 * sizes])
        piece, end = ContigPiece("", origin, codes), origin + codes.size
        ends = {
            name: finder.find(piece, origin, end)
            for name, finder in zip(ENDS, finders, strict=True)
        }
        ends |= find_edges(any_codon, {}, piece, origin, end, ends["donor"])
        sites = join_ends(ends, codes, layer.coding, origin, stretches)
        from_begin = sites.starts - stretches[sites["stretches"], 0] - EXON
        to_end = sizes[sites["stretches"]] - 1 - 2 * EXON - from_begin
        is_true = from_begin == 0 if signal == "donor" else to_end == 2
        is_decoy = (from_begin >= after) & (to_end >= before)
        labels = np.where(is_true, 1, np.where(is_decoy, -1, 0)) * ~sites.is_reverse
        bounds = stretch_rows(sites, len(batch))
        parts.append(in_context(sites.adding(labels=labels), layer, signal, bounds))
        texts, origin = [*texts, codes], end
    sites = Sites.join(parts)
    return rows_met(np.concatenate(texts), sites, signal, len(sites), HUMAN_DECOYS)


def in_context(
    sites: Sites, layer: PairLayer, signal: str, bounds: NDArray[np.int64] | None = None
) -> Sites:
    """Return the sites with labels, and their log-odds in parses without their own score."""
    log_odds = to_log_odds(run_chain(sites, layer, bounds=bounds).sites)
    context = log_odds - layer.scale * with_letters(sites, layer)
    is_one = (sites["signals"] == ENDS.index(signal)) & (sites["labels"] != 0)
    columns = {"labels": sites["labels"], "context": context}
    rows = np.flatnonzero(is_one & (sites["letters"] == 0))
    return Sites(sites.starts, sites.is_reverse, columns).take(rows)


def rows_met(
    codes: NDArray[np.uint8], sites: Sites, signal: str, n_sites: int, ratio: int
) -> Windows:
    """Return true sites, at most so many, and decoys of each, drawn by their odds in context.

    The odds count up to the median of true sites. (Draws without replacement are those with the
    highest sums of log-odds and Gumbel noise.)
    """
    rng, context = np.random.default_rng(0), sites["context"]
    true, decoys = (np.flatnonzero(sites["labels"] == label) for label in (1, -1))
    highest, true = np.median(context[true]), rng.permutation(true)[:n_sites]
    keys = np.minimum(context[decoys], highest) + rng.gumbel(size=decoys.size)
    sites = sites.take(np.concatenate([true, decoys[np.argsort(-keys)[: ratio * true.size]]]))
    letters = np.empty((len(sites), LENGTH), dtype=np.uint8)
    for is_reverse, strand in enumerate((codes, reverse_complement(codes))):
        of_strand = sites.is_reverse == is_reverse
        starts = sites.starts[of_strand]
        starts = codes.size - 2 - starts if is_reverse else starts
        letters[of_strand] = strand[starts[:, np.newaxis] - OFFSETS[signal] + np.arange(LENGTH)]
    return windows_of(letters, sites["labels"])


def build_both(data: Path, folder: Path, without: list[str]) -> list[Path]:
    """Return the datasets of donors, GC too, and of acceptors, as :func:`build` does."""
    return [build(data, folder, end, without, TO_PAIR[end]) for end in ENDS]


def build(data: Path, folder: Path, signal: str, without: list[str], more_rules: str = "") -> Path:
    """Return the dataset of the annotated genomes, which is built if it is not in the folder."""
    path = folder / (f"{signal}s_to_pair" if more_rules else f"{signal}s")
    if not path.exists():
        lines = [more_rules, RULES]
        for organism, *paths, _ in GENOMES:
            if organism not in without:
                genome, annotation = (str((data / path).resolve()) for path in paths)
                lines.append(f"[organisms.{organism}]\n{genome = }\n{annotation = }\n")
        (folder / "genomes.toml").write_text("".join(lines))
        dataset(folder / "genomes.toml", signal=signal, output=path)
    return path


def rows_of_introns(data: Path, signal: str, split: str) -> Iterator[tuple[str, Windows]]:
    """Yield the organisms of intron90, and the windows of each in a split."""
    names, rows = names_by_code(), defaultdict(list)
    with gzip.open(data / f"intron90/intron90_{signal}.tsv.gz", "rt") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            if row["split"] == split:
                rows[row["organism"]].append((row["sequence"], int(row["label"])))
    for code, examples in rows.items():
        sequences, labels = zip(*examples, strict=True)
        yield names[code], windows_of(np.array([*map(encode, sequences)]), np.array(labels))


def names_by_code() -> dict[str, str]:
    """Return the organisms of the tree by their codes in intron90, such as c_elegans of CaeEle."""
    leaves = read_tree(TREE).leaf_names
    codes = CODES | {"".join(part[:3].title() for part in leaf.split("_")): leaf for leaf in leaves}
    short = defaultdict(list)
    for leaf in leaves:
        genus, species = leaf.lower().split("_")
        if species != "sp":
            short[f"{genus[0]}_{species}"].append(leaf)
    names = {leaves[0]: name for name, leaves in short.items() if len(leaves) == 1}
    return {code: names.get(leaf, leaf.lower()) for code, leaf in codes.items()}


def windows_of(letters: NDArray[np.uint8], labels: NDArray[Any]) -> Windows:
    """Return the rows of a matrix as windows."""
    n, length = letters.shape
    return Windows(letters.ravel(), np.arange(n) * length, length, labels=labels.astype(np.int8))


def some(rows: Windows, n_sites: int, n_decoys: int) -> Windows:
    """Return evenly drawn rows, at most so many."""
    drawn = []
    for is_drawn, n in ((rows.labels > 0, n_sites), (rows.labels < 0, n_decoys)):
        numbers = np.flatnonzero(is_drawn)
        drawn.append(np.random.default_rng(0).permutation(numbers)[:n])
    return rows[np.sort(np.concatenate(drawn))]


def pooled(parts: list[tuple[str, Windows]], site: int | None) -> Windows:
    """Return the windows of all organisms, with the site at a base."""
    names = sorted({name for name, _ in parts})
    ids = np.concatenate([np.full(len(rows), names.index(name)) for name, rows in parts])
    letters = np.concatenate([rows.matrix() for _, rows in parts])
    labels = np.concatenate([rows.labels for _, rows in parts])
    starts, of_tasks = np.arange(len(letters)) * LENGTH, {"task_ids": ids, "task_names": names}
    return Windows(letters.ravel(), starts, LENGTH, labels=labels, site=site, **of_tasks)


def fit(windows: Windows) -> MultiTaskModel:
    """Train all organisms jointly."""
    names = list(windows.task_names)
    of_tree, of_all, alone = SHARES
    K = of_tree * TaskKernel.from_tree(TREE, names).matrix + of_all + alone * np.eye(len(names))
    kernel = TaskKernel(names, K, f"{TREE}, {of_tree:g}; all, {of_all:g}; each, {alone:g}")
    svc = MultiTaskSVC(features=PositionalKmers(FEATURES), task_kernel=kernel, tol=0.01)
    return svc.fit(windows, windows.labels, tasks=windows.tasks).model_


def left_out(
    train: Windows, held_out: Windows, accuracy: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the accuracy on each organism of a small model without it, and without others."""
    entries = {}
    small = {name: some(train[train.tasks == name], *SMALL) for name in train.task_names}
    train = pooled([*small.items()], train.site)
    for fold in range(FOLDS):
        names = list(train.task_names)[fold::FOLDS]
        model = fit(train[~np.isin(train.tasks, names)])
        for name in names:
            rows = measured(held_out[held_out.tasks == name])
            scores = adapt(model, name, tree=TREE).decision_function(rows, name)
            relatives = weights_of_relatives(model.kernel, model.tasks, name, tree=TREE)
            entries[name] = {
                "nearest": relatives.nearest,
                "distance": relatives.distance,
                "auprc": round(metrics(rows, scores)["auprc"], 4),
                "own": round(accuracy[name]["auprc"], 4),
            }
    return dict(sorted(entries.items()))


def measured_precision(tasks: Sequence[str]) -> dict[str, Any]:
    """Return the precision of introns in held-out genomes by clade, and the tasks of each clade."""
    tree, by_clade = read_tree(TREE), {}
    for row in json.loads(NEW_GENOMES.read_text())["rows"]:
        if row["bases"] == "all" and row["calls of .9"] >= MIN_CALLS:
            shares = by_clade.setdefault(row["clade"], {}).setdefault(row["model"], [])
            shares.append(round(row["right"], 2))
    facts = {}
    for clade, cases in sorted(by_clade.items()):
        leaves = shipped_clades().locate(tree, clade).leaves
        members = NameIndex([tree.leaf_names[leaf] for leaf in leaves])
        ranges = {case: [min(shares), max(shares)] for case, shares in sorted(cases.items())}
        facts[clade] = {"organisms": [name for name in tasks if members.find(name)], **ranges}
    return facts


def pair(
    data: Path, folder: Path, datasets: list[Path], without: list[str], families: list[str]
) -> PairedModel:
    """Pair the models of a folder: by annotated genomes, by genes, and by introns."""
    donor, acceptor = ends = [MultiTaskModel.load(folder / f"{end}.seqmtl") for end in ENDS]
    names = names_by_code()
    lengths = defaultdict(list)
    with zipfile.ZipFile(data / WHEEL) as wheel, wheel.open(INTRONS_OF_WHEEL) as packed:
        for line in gzip.open(packed, "rt"):
            code, _, of_line = line.partition("-")
            name = names.get(code.removeprefix("U2_"))
            if name in donor.tasks:
                lengths[name].append(len(of_line.split("\t")[3]))
    annotated = {genome.organism for genome in GENOMES}
    others = {name: np.array(of) for name, of in lengths.items() if name not in annotated}
    samples = {name: of for name, of in exons_and_introns(data).items() if name in donor.tasks}
    layer = fit_layer(donor, acceptor, *datasets, lengths=others, samples=samples)
    model = PairedModel(donor, acceptor, layer)
    clades, clade_of = numbers_of_clades(model, data, families), clade_finder()
    likelihoods = {name: -sum(logit(end.prevalence(name)) for end in ends) for name in layer}
    of_genomes = {
        clade: layer[name].assuming(likelihoods[name])
        for clade, name in (OF_GENOMES | dict.fromkeys(OF_ALL_GENOMES, next(iter(others)))).items()
        if name in layer
    }
    for name, values in layer.items():
        if name not in WITH_NUMBERS:
            genomes, clade = clade_of(name, of_genomes), clade_of(name, CLADES)
            numbers = of_genomes[genomes]
            if clade != genomes and clade in clades:
                numbers = between(numbers, *clades[clade])
            facts = {fact: getattr(values, fact) for fact in OWN}
            if name in WITH_HUMAN_LENGTHS and "h_sapiens" in layer:
                facts |= {fact: getattr(layer["h_sapiens"], fact) for fact in LENGTHS}
            layer[name] = numbers.assuming(-likelihoods[name])._replace(n_sites=0, **facts)
        text = f"{values.n_introns} introns, {values.n_coding} coding bases, {values.n_sites} sites"
        print(f"splice    {name:20} {text}", flush=True)
    training = {"split": "valid", "precision": measured_precision(donor.tasks)}
    return PairedModel(donor, acceptor, layer, training)


def between(genomes: PairLayer, clade: PairLayer, n_genes: int) -> PairLayer:
    """Return a layer with numbers between those of genomes and of a clade, by its genes."""
    share = n_genes / (n_genes + GENES_AS_GENOMES)

    def mean(before: Any, after: Any) -> float:
        return float((1 - share) * before + share * after)

    numbers = ("shift", "coding_shift", "switch", "coding_scale", "exon_shift")
    edges = zip(genomes.edges, clade.edges, strict=True)
    return clade._replace(
        scale=float(np.exp(mean(np.log(genomes.scale), np.log(clade.scale)))),
        edges=tuple(edge._replace(shift=mean(edge.shift, of.shift)) for edge, of in edges),
        **{name: mean(getattr(genomes, name), getattr(clade, name)) for name in numbers},
    )


def exons_and_introns(data: Path) -> dict[str, Transcribed]:
    """Return pieces of exons and introns of the organisms of intron90, and of human introns."""
    samples: dict[str, Transcribed] = defaultdict(lambda: Transcribed([], []))

    def add(name: str, exons: NDArray[np.uint8], *introns: NDArray[np.uint8]) -> None:
        letters = np.concatenate([exons, *introns])
        number = int(np.searchsorted(GC_CUTS, np.isin(letters, encode("CG")).mean()))
        samples[name].exons.append((exons, number))
        samples[name].introns.extend((intron, number) for intron in introns)

    for name, (donor, acceptor) in pairs_of_windows(data):
        left, right = OFFSETS["donor"], OFFSETS["acceptor"] + 2
        add(
            name,
            np.concatenate([donor[:left], acceptor[right:]]),
            donor[left + 10 :],
            acceptor[: right - 30],
        )
    for letters, begin, end in human_introns(data):
        exons = np.concatenate([letters[:begin], letters[end:]])
        first, last = letters[begin + 10 : end - 30][:LONGEST], letters[begin + 10 : end - 30]
        add("h_sapiens", exons, first, last[LONGEST:][-LONGEST:])
    return samples


def pairs_of_windows(data: Path) -> Iterator[tuple[str, list[NDArray[np.uint8]]]]:
    """Yield the organism and the windows of both sites of each intron of intron90."""
    names, windows = names_by_code(), defaultdict(dict)
    for end in ENDS:
        with gzip.open(data / f"intron90/intron90_{end}.tsv.gz", "rt") as stream:
            for row in csv.DictReader(stream, delimiter="\t"):
                if row["label"] == "1":
                    windows[row["organism"], row["group"], row["gene"]][end] = row["sequence"]
    for (code, *_), of_intron in windows.items():
        if len(of_intron) == len(ENDS):
            yield names[code], [encode(of_intron[end]) for end in ENDS]


def clade_finder() -> Callable[[str, Collection[str]], str]:
    """Return a function that finds which of some clades is the first that an organism is of."""
    leaves = read_tree(TREE).leaf_names
    index = NameIndex(leaves)

    def find(name: str, among: Collection[str]) -> str:
        matches = index.find(name)
        taxa = shipped_clades().taxa_around(leaves[matches[0]] if matches else name)
        return next(clade for clade in CLADES if clade in among and clade in taxa)

    return find


def genes_of(data: Path, families: list[str]) -> Iterator[tuple[str, NDArray[np.uint8], Any, Any]]:
    """Yield species, letters, exons and span of the confirmed genes, all of the plus strand.

    Those of the families are left out.
    """
    folder, exons, spans = data / GENES, defaultdict(list), {}
    with gzip.open(folder / "genes_2Kb.gff3.gz", "rt") as stream:
        for line in stream:
            parts = line.split("\t")
            if len(parts) > 4 and parts[2] == "exon":
                exons[parts[0]].append((int(parts[3]) - 1, int(parts[4])))
            elif len(parts) > 4 and parts[2] == "gene":
                spans[parts[0]] = int(parts[3]) - 1, int(parts[4])
    letters = {contig.name: contig.codes for contig in read_contigs(folder / "genes_2Kb.fa.gz")}
    with gzip.open(folder / "genes.tsv.gz", "rt") as stream:
        for row in csv.DictReader(stream, delimiter="\t"):
            if row["type"] == "Confirmed" and row["family"] not in families:
                name = row["id"]
                yield row["species"], letters[name], sorted(exons[name]), spans[name]


def numbers_of_clades(
    model: PairedModel, data: Path, families: list[str]
) -> dict[str, tuple[PairLayer, int]]:
    """Return a layer for each clade of the genes, for log-likelihood ratios, and their number.

    Its numbers are fitted to the sites of the genes, without what is around them.
    """
    clade_of = clade_finder()
    pieces, introns, exons = defaultdict(list), defaultdict(list), defaultdict(list)
    by_species = defaultdict(list)
    for species, *gene in genes_of(data, families):
        by_species[species].append(gene)
    for species, genes in by_species.items():
        clade = clade_of(species, CLADES)
        relatives = weights_of_relatives(
            model.donor.kernel, model.donor.tasks, species, like=species
        ).weights
        layer = layer_of_relatives(model, relatives)._replace(donors=(DonorLetters("GC", 0.0),))
        ends = [
            replace(end, kernel=extend(end.kernel, len(end.tasks), species, relatives))
            for end in (model.donor, model.acceptor)
        ]
        finders = end_finders(ends, species, layer)
        logits = [
            float(relatives @ [logit(end.prevalence(task)) for task in end.tasks])
            for end in (model.donor, model.acceptor)
        ]
        for letters, of_gene, span in genes:
            pieces[clade].append(labelled_sites(letters, of_gene, span, finders, logits, layer))
            introns[clade] += [after[0] - before[1] for before, after in pairwise(of_gene)]
            exons[clade] += [end - begin for begin, end in of_gene[1:-1]]
    names = [*pieces]
    lengths = {name: np.array(introns[name], dtype=np.int64) for name in names}
    alike = np.ones((len(names), len(names)))
    tables = length_tables(lengths, alike)
    of_exons = exon_densities(
        {name: np.array(exons[name], dtype=np.int64) for name in names}, lengths, alike
    )
    none = Content(np.zeros(CODING_SHAPE, dtype=np.float32), 0)
    tasks = {
        name: OrganismData(
            pieces[name],
            tables_of(
                lengths[name].size, tables[name], of_exons[name], none, donors=["GC"]
            )._replace(n_sites=2 * lengths[name].size),
            0.0,
            0.0,
        )
        for name in names
    }
    values = fit_numbers({name: task for name, task in tasks.items() if task.tables.n_sites})
    for name, of_clade in values.items():
        text = ", ".join(f"{key} {value:.2f}" for key, value in of_clade.items())
        print(f"numbers   {name:20} {len(pieces[name])} genes: {text}", flush=True)
    return {
        name: (tasks[name].layer(of_clade), len(pieces[name])) for name, of_clade in values.items()
    }


def labelled_sites(
    letters: NDArray[np.uint8],
    exons: list[tuple[int, int]],
    span: tuple[int, int],
    finders: list[EndFinder],
    logits: list[float],
    layer: PairLayer,
) -> Sites:
    """Return the sites of the chain of a gene, with log-likelihood ratios and labels."""
    piece = ContigPiece("", 0, letters)
    ends = {}
    for end, finder, assumed in zip(ENDS, finders, logits, strict=True):
        sites = finder.find(piece, 0, letters.size)
        ends[end] = sites.adding(log_odds=sites["log_odds"] - assumed)
    any_codon = layer._replace(edges=ANY_CODON)
    ends |= find_edges(any_codon, {}, piece, 0, letters.size, ends["donor"])
    sites = join_ends(ends, letters, layer.coding)
    places, signals = sites["places"], sites["signals"]
    true = [{end for _, end in exons[:-1]}, {begin for begin, _ in exons[1:]}]
    is_true = np.zeros(len(sites), dtype=np.bool_)
    for signal, of_signal in enumerate(true):
        is_true |= (signals == signal) & ~sites.is_reverse & np.isin(places, [*of_signal])
    is_counted = (signals < len(ENDS)) & (places >= span[0]) & (places <= span[1])
    labels = np.where(is_counted, np.where(is_true, 1, -1), 0).astype(np.int8)
    is_promising = (signals >= len(ENDS)) | (sites["log_odds"] >= LEAST)
    return sites.adding(labels=labels).take(np.flatnonzero(is_promising))


def with_u12(model: PairedModel, data: Path, without: list[str]) -> PairedModel:
    """Return a paired model with the sites of U12-type introns, which all organisms share."""
    names = names_by_code()
    introns = {own: [*introns_of(data, own)] for own in (U12_OF_WHEEL, INTRONS_OF_WHEEL)}
    has_u12 = {names.get(own[0].partition("-")[0]) for own in introns[U12_OF_WHEEL]} | WITH_U12
    ends = [u12_model(data, end, introns, without) for end in ENDS]
    layer = dict(model.layer)
    for name in has_u12 & layer.keys():
        shares = [own.prevalence(name) for own in (model.donor, model.acceptor)]
        odds = float(np.log(U12_SHARE) + sum(np.log(p / (1 - p)) for p in shares))
        layer[name] = layer[name]._replace(u12=U12Introns(odds, (ends[0][1], ends[1][1])))
    return replace(model, layer=layer, u12=tuple(own for own, _ in ends))


def introns_of(data: Path, path: str) -> Iterator[list[str]]:
    """Yield the introns of a file in the wheel: name, score, exon, intron, exon, cluster."""
    with zipfile.ZipFile(data / WHEEL) as wheel, wheel.open(path) as packed:
        for line in gzip.open(packed, "rt"):
            if not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def u12_model(
    data: Path, end: str, introns: dict[str, list[list[str]]], without: list[str]
) -> tuple[MultiTaskModel, float]:
    """Return a model of the sites of U12-type introns at one end, and the least log-odds.

    Decoys are the sites of other introns, and candidates anywhere in genomes. A fifth of the
    introns conserved at the same place, and of the decoys, is for calibration.
    """
    letters, before, length, features = U12_SITES[end]
    names, rows, folds, labels = names_by_code(), [], [], []
    for path, label in ((U12_OF_WHEEL, 1), (INTRONS_OF_WHEEL, -1)):
        for name, _, exon, intron, next_exon, _, cluster in introns[path]:
            if names.get(name.partition("-")[0].removeprefix("U2_")) not in without:
                at = length + len(exon) + (len(intron) - 2) * (end == "acceptor") - before
                text = f"{'N' * length}{exon}{intron}{next_exon}{'N' * length}"
                rows.append(encode(text[at : at + length]))
                folds.append(int(cluster) % 5)
                labels.append(label)
    matrices, rng = [np.array(rows)], np.random.default_rng(0)
    for organism, path, *_ in GENOMES:
        if organism in U12_DECOYS and organism not in without:
            codes = load_genome(data / path, padding=length).codes
            for strand in (codes, reverse_complement(codes)):
                starts = np.flatnonzero(find_motifs(strand, letters.split(","), False))
                starts = rng.permutation(starts)[: U12_DECOYS[organism] // 2, np.newaxis]
                matrices.append(strand[starts - before + np.arange(length)])
    letters_of_rows = np.concatenate(matrices)
    labels += [-1] * (len(letters_of_rows) - len(labels))
    folds += rng.integers(0, 5, len(labels) - len(folds)).tolist()
    windows, is_train = windows_of(letters_of_rows, np.array(labels)), np.array(folds) > 0
    features = PositionalKmers(features, anchor=before)
    model = MultiTaskSVC(features=features, tol=0.01).fit(windows[is_train]).model_
    model.site = Site(before, len(letters.split(",")[0]), letters, end)
    model.W = TaskWeights.of(round_weights(np.asarray(model.W), STEP), model.W.columns)
    held_out, (task,) = windows[~is_train], model.tasks
    scores = model.decision_function(held_out, task)
    model.calibrate(task, scores, held_out.labels, method="sigmoid", prevalence=0.5)
    log_odds = model.log_odds_of(task)(scores[held_out.labels > 0])
    least = float(np.quantile(log_odds, U12_LOST))
    print(f"{end:9} U12 {len(log_odds)} held out, {U12_LOST:.0%} below {least:.2f}", flush=True)
    return model, least


def save_paired(model: PairedModel, folder: Path) -> None:
    """Write the paired model; it names its parts instead where they are the shipped ones."""
    header, arrays = model.contents()
    shipped = [Path(model_path(f"starter:{end}")).read_bytes() for end in ENDS]
    if [(folder / f"{end}.seqmtl").read_bytes() for end in ENDS] == shipped:
        header |= {end: {"starter": end} for end in ENDS}
        arrays = {name: of for name, of in arrays.items() if name.partition(".")[0] not in ENDS}
    write_arrays(folder / "splice.seqmtl", header, arrays)


def measured(rows: Windows) -> Windows:
    """Return the rows that count: 3 decoys per site, as most organisms have."""
    n = int((rows.labels > 0).sum())
    return some(rows, n, 3 * n)


def metrics(rows: Windows, scores: Any) -> dict[str, Any]:
    """Return AUROC and AUPRC with their intervals."""
    return evaluate(rows.labels, scores, rows.tasks, n_bootstrap=200)["tasks"][rows.tasks[0]]


def show(signal: str, name: str, accuracy: dict[str, Any], n_sites: int) -> None:
    """Print one row of the table of accuracies."""
    low, high = accuracy["auprc_interval"]
    value = f"auprc {accuracy['auprc']:.4f} ({low:.4f} to {high:.4f})"
    print(f"{signal:9} {name:20} {n_sites:6} sites  {value}", flush=True)


if __name__ == "__main__":
    main()
