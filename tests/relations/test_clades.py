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
3\t5\tAedes\tgnats\tCulex-nova Idyia
4\t50\tAedes parvus\ttiny gnat
2\t6\tMollusca\tsoft beasts\tHelicidae Helix Herbella:magna,minor
2\t7\tVermes\tgnats
1\t8\tPlantae
2\t9\tHerba\t\tHerbella
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
    with pytest.raises(UnknownTaskError, match="'gnats' could be Aedes or Vermes; write one of"):
        clades.find("gnats")


def test_a_taxon_has_those_around_it_and_in_it(clades):
    around = [clades.names[i] for i in clades.lineage(clades.find("Aedes"))]
    assert around == ["Aedes", "Insecta", "Animalia", "Vita"]
    first = clades.find("Animalia")
    inside = "Animalia Insecta Musca Aedes Aedes parvus Mollusca Vermes"
    assert " ".join(clades.names[first : clades.ends[first]]) == inside


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Aedes parvus", "Aedes parvus, Aedes, Insecta, Animalia, Vita"),
        ("Aedes magnus (strain 7)", "Aedes, Insecta, Animalia, Vita"),  # by its genus
        ("Helix ignota", "Mollusca, Animalia, Vita"),  # a genus without a line
        ("Nemo captus", ""),
        ("insects", "Insecta, Animalia, Vita"),
        ("gnats", ""),  # of two taxa
    ],
)
def test_the_taxa_around_an_organism_are_the_smallest_first(clades, name, expected):
    assert ", ".join(clades.taxa_around(name)) == expected


def test_suggestions_name_the_group(clades):
    assert clades.near("Insekta") == ["'Insecta' (insects)"]
    assert clades.near("Aedis magnus") == ["'Aedes' (gnats)"]
    assert clades.near("Helyx pomatia") == ["'Helix' (soft beasts)"]
    assert clades.near("Quarx") == clades.near("Hexil") == clades.near("Helcide us") == []


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


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("Helix", "one of Animalia"),
        ("'Helicidae' sp. 7", "one of Animalia"),
        ("culex-nova pipiens", "one of Insecta"),
        ("Aedes (Musca) parvus subsp. x", "one of Insecta"),
        ("Herbella minor", "one of Animalia"),
        ("Herbella viridis", "one of Herba"),
        ("Herbella", "one of Herba"),
    ],
)
def test_a_name_without_a_line_is_in_the_taxon_around_it(clades, name, what, caplog):
    with caplog.at_level("INFO"):
        placed = clades.locate(read_tree(TREE.replace("Vermis", "Vermes")), name)
    assert placed.name == what
    assert [placed.tree.leaf_names[i] for i in placed.leaves] == [name]
    is_unsure = name in ("Herbella viridis", "Herbella")
    text = f"{name!r} could be in Herba or Mollusca: taken as in Herba; name a family or order"
    assert (text in caplog.text) == bool(caplog.text) == is_unsure
    assert ("WARNING" in caplog.text) == (name == "Herbella")  # no species tells


def test_a_name_without_a_line_is_no_taxon_of_its_own(clades):
    """It is beside the leaves of the taxon around it, which is at their mean."""
    tree = read_tree(TREE)
    assert clades.locate(tree, "Herba").name == "Herba"
    placed = clades.locate(tree, "Herbella viridis")
    order = [placed.tree.leaf_names.index(leaf) for leaf in ("Herba_a", "Herba_b", "Musca_a")]
    distances = placed.tree.distances()[placed.leaves[0], order]
    np.testing.assert_allclose(distances, [180, 180, 200])


def test_a_taxon_outside_the_tree_has_no_place(clades):
    tree = read_tree("(Musca_a:10,Vermes_a:10);")
    assert clades.locate(tree, "Herba") is None
    assert clades.locate(read_tree("(x:1,y:1);"), "Herba") is None


def test_every_taxon_of_the_shipped_table_has_a_place():
    clades, tree = shipped_clades(), read_tree("eukaryotes")
    for taxon in range(0, len(clades.names), 24):
        name = clades.names[taxon]
        assert taxon <= clades.find(name) < clades.ends[taxon]  # Sorghum is S. bicolor
        placed = clades.locate(tree, clades.names[taxon])
        assert placed.leaves
        if placed.tree is not tree:  # as deep as the other leaves
            assert np.ptp(np.diagonal(placed.tree.shared())) < 1.0
            assert np.nanmin(placed.tree.lengths[1:]) > 0


def test_every_name_within_a_taxon_of_the_shipped_table_has_a_place():
    clades, tree = shipped_clades(), read_tree("eukaryotes")
    lines = (FOLDER / "clades.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [(*line.split("\t")[2:3], *line.split("\t")[4:]) for line in lines]
    entries = [(taxon, entry) for taxon, *texts in rows for entry in " ".join(texts).split()]
    assert len(entries) > 100_000
    for taxon, entry in entries[::1999]:
        genus, _, species = entry.partition(":")
        if ":" in entry and not species:
            continue  # the genus alone is another
        placed = clades.locate(tree, f"{genus} {species.split(',')[0]}".strip())
        around = [clades.names[i] for i in clades.lineage(clades.find(taxon))]
        assert placed.name.removeprefix("one of ") in around, entry


def test_common_names_are_of_taxa_of_the_table():
    clades = shipped_clades()
    for line in (FOLDER / "common_names.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        name, taxon = line.split("\t")
        assert clades.names[clades.find(name)] == taxon
