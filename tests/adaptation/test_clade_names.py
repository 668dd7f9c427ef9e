"""Names that people give to ``--like``, and the nearest organisms of the starter model."""

import pytest

from seqmtl import load_model
from seqmtl.adaptation.relatives import weights_of_relatives
from seqmtl.exceptions import UnknownTaskError

MAMMALS = "f_catus h_sapiens m_musculus"
ANIMALS = f"c_elegans d_melanogaster {MAMMALS}"
#: A name, the nearest organisms of the model by divergence, and this time in million years.
NEAREST = [
    ("plants", "a_thaliana", 168),
    ("Brassicaceae", "a_thaliana", 0),
    ("tomatoes", "a_thaliana", 120),
    ("ferns", "a_thaliana", 300),
    ("green algae", "a_thaliana", 950),
    ("yeasts", "s_cerevisiae", 118),
    ("malaria parasites", "p_falciparum", 0),
    ("worms", "c_elegans", 149),
    ("Diptera", "d_melanogaster", 84),
    ("7157", "d_melanogaster", 245),
    ("bee", "d_melanogaster", 345),
    ("butterflies", "d_melanogaster", 295),
    ("tardigrades", "d_melanogaster", 558),
    ("oyster", "c_elegans d_melanogaster", 628),
    ("sea urchins", MAMMALS, 625),
    ("zebrafish", MAMMALS, 429),
    ("birds", MAMMALS, 319),
    ("Mammalia", "h_sapiens", 77),
    ("dog", "f_catus", 54),
    ("Primates", "h_sapiens", 12),
    ("corals", ANIMALS, 685),
]


@pytest.fixture(scope="module")
def placed():
    model = load_model("starter:splice").donor
    return lambda name: weights_of_relatives(model.kernel, model.tasks, "new", like=name)


@pytest.mark.parametrize(("name", "nearest", "years"), NEAREST)
def test_a_clade_or_common_name_has_a_place(placed, name, nearest, years):
    found = placed(name)
    assert set(found.alike) == set(nearest.split())
    assert f"{found.distance / 2:.0f}" == f"{years}"
    assert found.apart == f"{years:,} million years"
    assert found.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "organism"),
    [
        ("mouse", "m_musculus"),
        ("thale cress", "a_thaliana"),
    ],
)
def test_the_common_name_of_an_organism_of_the_model_is_its_place(placed, name, organism):
    found = placed(name)
    assert found.source == f"the place of {organism}"
    assert found.weights.max() == 1.0


def test_a_tree_that_lacks_a_name_is_told_from_one_that_has_it():
    """--like Fungi --tree metazoa: the name is right, and only the tree is another."""
    model = load_model("starter:splice").donor
    for name, tree in (("Fungi", "metazoa"), ("rice", "metazoa"), ("Mammalia", "plants")):
        message = (
            f"'{name}' is neither .* of the tree {tree}; the tree eukaryotes has it, and is "
            "searched if no tree is given; give a species"
        )
        with pytest.raises(UnknownTaskError, match=message):
            weights_of_relatives(model.kernel, model.tasks, "new", like=name, tree=tree)
    with pytest.raises(UnknownTaskError, match=r"tree fungi; did you mean 'Culex'"):
        weights_of_relatives(model.kernel, model.tasks, "new", like="Culxe", tree="fungi")


def test_case_and_number_do_not_matter(placed):
    for name in ("MOSQUITO", "mosquitoes", "mosquitos", "Culicidae", "culicidae"):
        assert placed(name).weights.tolist() == placed("mosquito").weights.tolist()


def test_what_no_table_has_is_refused_with_near_names(placed):
    message = (
        r"'Culxe' is neither an organism of the model nor one organism, clade or genus of the tree "
        r"eukaryotes; did you mean 'Culex' \(mosquitos\)\?; give a species, genus, family, order, "
        "class or taxid, auto, or the folder"
    )
    with pytest.raises(UnknownTaskError, match=message):
        placed("Culxe")
    with pytest.raises(UnknownTaskError, match=r"'Quarx' is .*; the model has 'a_thaliana', "):
        placed("Quarx")
