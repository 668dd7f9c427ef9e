"""The shipped table of clades and common names, and the place of a taxon in a tree."""

from pathlib import Path

import numpy as np
import pytest

from seqmtl.exceptions import UnknownTaskError
from seqmtl.relations.clades import Clades, shipped_clades
from seqmtl.relations.trees import read_tree

FOLDER = Path(__file__).resolve().parents[2] / "taxonomies"
TABLE = """depth\ttaxid\tname\tother names
0\t1\tVita\tlife
1\t2\tAnimalia\tbeasts & monsters
2\t3\tInsecta\tinsects
3\t4\tMusca\thouse flies
3\t5\tAedes\tgnats
4\t50\tAedes parvus\ttiny gnat
2\t6\tMollusca\tsoft beasts
2\t7\tVermes\tgnats
1\t8\tPlantae
2\t9\tHerba
"""
COMMON = "name\ttaxon\ninsects\tInsecta\nflies\tMusca\nmice\tVermes\n"
TREE = "(((Musca_a:10,Musca_b:10)flies:40,Vermis_a:50)beasts:50,(Herba_a:80,Herba_b:80)herbs:20);"


@pytest.fixture(scope="module")
def clades():
    return Clades(TABLE, COMMON)


def test_names_are_found_in_any_case_and_number(clades):
    for names, expected in (
        (("insecta", "3", "INSECT"), "Insecta"),
        (("life",), "Vita"),
        (("fly", "house_fly"), "Musca"),
        (("mouse",), "Vermes"),
        (("Aedes parvus",), "Aedes parvus"),
        (("monster",), "Animalia"),
        (("soft beast",), "Mollusca"),
        (("Aedes magnus", "99"), None),
    ):
        for name in names:
            found = clades.find(name)
            assert expected == (None if found is None else clades.names[found])


def test_a_taxon_has_those_around_it_and_in_it(clades):
    around = [clades.names[i] for i in clades.lineage(clades.find("Aedes"))]
    assert around == ["Aedes", "Insecta", "Animalia", "Vita"]
    first = clades.find("Animalia")
    inside = "Animalia Insecta Musca Aedes Aedes parvus Mollusca Vermes"
    assert " ".join(clades.names[first : clades.ends[first]]) == inside


def test_a_common_name_of_two_taxa_is_refused(clades):
    with pytest.raises(UnknownTaskError, match="'gnats' could be Aedes or Vermes; write one of"):
        clades.find("gnats")


def test_suggestions_name_the_group(clades):
    assert clades.near("Insekta") == ["'Insecta' (insects)"]
    assert clades.near("Aedis magnus") == ["'Aedes' (gnats)"]
    assert clades.near("Quarx") == []


@pytest.mark.parametrize(
    ("name", "what", "distances"),
    [
        ("Musca", "Musca", [[0, 20, 100, 200, 200], [20, 0, 100, 200, 200]]),  # its leaves
        ("Plantae", "Plantae", [[200, 200, 200, 0, 160], [200, 200, 200, 160, 0]]),
        ("Aedes magnus", "one of Insecta", [[60, 60, 100, 200, 200]]),  # beside the only insects
        ("Mollusca", "one of Animalia", [[100, 100, 100, 200, 200]]),  # where animals divide
    ],
)
def test_a_taxon_without_leaves_is_beside_its_relatives(clades, name, what, distances):
    tree = read_tree(TREE.replace("Vermis", "Vermes"))
    placed = clades.locate(tree, name)
    assert placed.name == what
    order = [placed.tree.leaf_names.index(leaf) for leaf in tree.leaf_names]
    np.testing.assert_allclose(placed.tree.distances()[np.ix_(placed.leaves, order)], distances)


def test_a_taxon_outside_the_tree_has_no_place(clades):
    tree = read_tree("(Musca_a:10,Vermes_a:10);")
    assert clades.locate(tree, "Herba") is None
    assert clades.locate(read_tree("(x:1,y:1);"), "Herba") is None


def test_every_taxon_of_the_shipped_table_has_a_place():
    clades, tree = shipped_clades(), read_tree("eukaryotes")
    for taxon in range(0, len(clades.names), 8):
        name = clades.names[taxon]
        assert taxon <= clades.find(name) < clades.ends[taxon]  # Sorghum is S. bicolor
        placed = clades.locate(tree, clades.names[taxon])
        assert placed.leaves
        if placed.tree is not tree:  # as deep as the other leaves
            assert np.ptp(np.diagonal(placed.tree.shared())) < 1.0
            assert np.nanmin(placed.tree.lengths[1:]) > 0


def test_common_names_are_of_taxa_of_the_table():
    clades = shipped_clades()
    for line in (FOLDER / "common_names.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        name, taxon = line.split("\t")
        assert clades.names[clades.find(name)] == taxon
