"""Introns of single genes of many eukaryotes, beside AUGUSTUS and Helixer, by kind of genome.

    python benchmarks/bench_genes.py starter:splice G3PO --json OUT.json

G3PO is a folder with genes.tsv.gz, genes_2Kb.fa.gz, genes_2Kb.gff3.gz and, optionally,
peers_introns_2Kb.tsv.gz, of the benchmark of Scalzitti et al. (2020). The confirmed genes of each
species, all of the plus strand, are scanned as a genome of their own with `--like` the species.
Introns that overlap a gene count, on its strand; they are right if both ends are. `PAIR` may have
a %, which stands for 0, 1 and 2: models whose numbers were fitted without the families of a fold.
"""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import Options, write_result

from seqmtl.io.genome import read_contigs
from seqmtl.relations.clades import shipped_clades
from seqmtl.splicing.finder import PairedFinder
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.new_organism import add_unlabelled

QUICK = {"model": "starter:splice"}
#: Kinds of genomes, and the taxa that they are: each the first that a species is in.
KINDS = {
    "mammals": "Mammalia",
    "reptiles, birds, frogs": "Tetrapoda",
    "fish": "Vertebrata",
    "sea squirts": "Tunicata",
    "flies and mosquitoes": "Diptera",
    "other arthropods": "Arthropoda",
    "nematodes": "Nematoda",
    "molluscs and leeches": "Spiralia",
    "other animals": "Metazoa",
    "fungi": "Fungi",
    "oomycetes": "Oomycota",
    "ciliates": "Ciliophora",
    "other protists": "Eukaryota",
}
#: Families of genes of each fold.
FOLDS = (
    ("BBS4", "BBS19", "BBS13"),
    ("BBS1", "BBS2", "BBS8", "BBS16"),
    ("BBS17", "BBS21", "BBS11"),
)
PROGRAMS = {"augustus": "AUGUSTUS", "helixer": "Helixer"}
Introns = set[tuple[int, int]]


class Gene(NamedTuple):
    """A gene: species, family, where it begins and ends in its sequence, letters, and introns."""

    species: str
    family: str
    begin: int
    end: int
    letters: str
    introns: Introns


def simulate(folder: Path) -> dict[str, Path]:
    """Return a folder with two genes of random letters."""
    rng = np.random.default_rng(0)
    head = "id species group kingdom type family length exons introns gt_ag start_2Kb start_10Kb"
    rows, letters, parts = [head.replace(" ", "\t")], [], []
    for name, species in (("x", "Danio rerio"), ("y", "Mus musculus")):
        rows.append(f"{name}\t{species}\tMetazoa\t\tConfirmed\tBBS4\t600\t2\t1\t1\t200\t")
        letters.append(f">{name}\n{''.join(rng.choice(list('ACGT'), 1_000))}\n")
        places = ("gene\t201\t800", "exon\t201\t400", "exon\t601\t800")
        parts += [f"{name}\t.\t{place}\t.\t+\t.\t.\n" for place in places]
    texts = {"genes.tsv": "\n".join(rows) + "\n", "genes_2Kb.fa": "".join(letters)}
    for file, text in (texts | {"genes_2Kb.gff3": "".join(parts)}).items():
        (folder / f"{file}.gz").write_bytes(gzip.compress(text.encode()))
    return {"folder": folder}


def read_genes(folder: Path) -> dict[str, Gene]:
    """Return the confirmed genes."""
    exons, spans = defaultdict(list), {}
    with gzip.open(folder / "genes_2Kb.gff3.gz", "rt") as stream:
        for line in stream:
            parts = line.split("\t")
            if len(parts) > 4 and parts[2] in ("gene", "exon"):
                bounds = int(parts[3]) - 1, int(parts[4])
                if parts[2] == "gene":
                    spans[parts[0]] = bounds
                else:
                    exons[parts[0]].append(bounds)
    letters = {
        contig.name: "".join("ACGTN"[code] for code in contig.codes)
        for contig in read_contigs(folder / "genes_2Kb.fa.gz")
    }
    with gzip.open(folder / "genes.tsv.gz", "rt") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["type"] == "Confirmed"]
    genes = {}
    for row in rows:
        name = row["id"]
        introns = {(a[1], b[0]) for a, b in pairwise(sorted(exons[name]))}
        genes[name] = Gene(row["species"], row["family"], *spans[name], letters[name], introns)
    return genes


def called(model: PairedModel, genes: dict[str, Gene], folder: Path) -> dict[str, Introns]:
    """Return the introns of probability 0.5 or more of the genes, each species a genome."""
    calls: dict[str, Introns] = {}
    for species in sorted({gene.species for gene in genes.values()}):
        path, name = folder / "genes.fa", f"{species}, new"
        of_species = {key: gene for key, gene in genes.items() if gene.species == species}
        path.write_text("".join(f">{key}\n{gene.letters}\n" for key, gene in of_species.items()))
        finder = PairedFinder(
            add_unlabelled(model, name, str(path), species).paired(), name, introns=0.5
        )
        for contig in read_contigs(path):
            introns = finder.find(contig, 0, contig.codes.size)["introns"]
            plus = introns.take(~introns.is_reverse)
            bounds = zip(plus.starts.tolist(), plus["ends"].tolist(), strict=True)
            calls[contig.name] = set(bounds)
    return calls


def predicted(path: Path, starts: dict[str, int]) -> dict[str, dict[str, Introns]]:
    """Return the introns of other programs, which count from 1 from the beginning of a gene."""
    calls: dict[str, dict[str, Introns]] = defaultdict(lambda: defaultdict(set))
    if path.exists():
        with gzip.open(path, "rt") as stream:
            for row in csv.DictReader(stream, delimiter="\t"):
                if (begin := starts.get(row["id"])) is not None:
                    bounds = int(row["start"]) - 1 + begin, int(row["end"]) + begin
                    calls[PROGRAMS[row["program"]]][row["id"]].add(bounds)
    return calls


def kind_of(species: str) -> str:
    """Return the kind of genome of a species."""
    taxa = shipped_clades().taxa_around(species)
    return next(kind for kind, taxon in KINDS.items() if taxon in taxa)


def figures(calls: dict[str, Introns], genes: dict[str, Gene]) -> dict[str, float]:
    """Return sensitivity, precision and F1 of introns that overlap genes."""
    n_right = n_called = 0
    for name, gene in genes.items():
        introns = calls.get(name, set())
        inside = {(begin, end) for begin, end in introns if begin < gene.end and end > gene.begin}
        n_right, n_called = n_right + len(inside & gene.introns), n_called + len(inside)
    n = sum(len(gene.introns) for gene in genes.values())
    return {
        "sensitivity": n_right / max(n, 1),
        "precision": n_right / max(n_called, 1),
        "F1": 2 * n_right / max(n + n_called, 1),
    }


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("model", metavar="PAIR")
    parser.add_argument("folder", metavar="G3PO", type=Path)
    args = parser.parse_args()
    genes = read_genes(args.folder)
    calls: dict[str, Introns] = {}
    for fold, families in enumerate(FOLDS if "%" in args.model else [()]):
        model = PairedModel.load(args.model.replace("%", str(fold)))
        of_fold = {
            key: gene for key, gene in genes.items() if not families or gene.family in families
        }
        with tempfile.TemporaryDirectory() as scratch:
            calls |= called(model, of_fold, Path(scratch))
    starts = {key: gene.begin for key, gene in genes.items()}
    peers = predicted(args.folder / "peers_introns_2Kb.tsv.gz", starts)
    kinds = {key: kind_of(gene.species) for key, gene in genes.items()}
    animals = [*KINDS][: [*KINDS].index("fungi")]
    rows: list[dict[str, Any]] = []
    for title, members in {"all": [*KINDS], "animals": animals, **{k: [k] for k in KINDS}}.items():
        of_kind = {key: gene for key, gene in genes.items() if kinds[key] in members}
        n = sum(len(gene.introns) for gene in of_kind.values())
        row = {"clade": title, "genes": len(of_kind), "introns": n, **figures(calls, of_kind)}
        for program, of_program in sorted(peers.items()):
            values = figures(of_program, of_kind)
            row |= {f"{program} {key}": value for key, value in values.items()}
        rows += [row] * bool(of_kind)
    write_result(args, rows)


if __name__ == "__main__":
    main()
