"""Names that people give to ``--like``, and the nearest organisms of the starter model."""

from functools import cache

import numpy as np
import pytest

from seqmtl import load
from seqmtl.adaptation.messages import log_relatives
from seqmtl.adaptation.relatives import RelativeWeights, weights_of_relatives
from seqmtl.exceptions import UnknownTaskError

ARTHROPODS = (
    "a_gambiae a_mellifera b_mori d_magna d_melanogaster h_americanus h_azteca i_scapularis "
    "l_polyphemus p_japonicus r_microplus t_castaneum"
)
VERTEBRATES = "coturnix_japonica d_rerio f_catus h_sapiens l_chalumnae m_musculus t_guttata "
#: A name, the nearest organisms of the model by divergence, and this time in million years.
NEAREST = [
    ("Brassicaceae", "a_thaliana", 0),
    ("tomatoes", "n_tabacum", 24),
    ("rice", "o_brachyantha", 15),
    ("yeasts", "s_cerevisiae", 164),
    ("truffles", "a_coremiiformis", 425),
    ("malaria parasites", "p_falciparum", 0),
    ("worms", "c_elegans", 174),
    ("Diptera", "d_melanogaster", 84),
    ("7157", "a_gambiae", 90),
    ("Nasonia vitripennis", "a_mellifera", 205),
    ("butterflies", "b_mori", 0),
    ("tardigrades", ARTHROPODS, 580),
    ("oyster", "c_virginica m_gigas", 40),
    ("sea urchins", "a_rubens", 490),
    ("birds", "coturnix_japonica", 43),
    ("lizards", "coturnix_japonica t_guttata", 280),
    ("sharks", f"{VERTEBRATES} x_tropicalis", 512),
    ("Mammalia", "h_sapiens", 77),
    ("dog", "f_catus", 54),
    ("Primates", "h_sapiens", 12),
    ("corals", "o_faveolata p_damicornis", 326),
]


@pytest.fixture(scope="module")
def placed():
    model = load("starter:donor")

    @cache
    def place(name):
        return weights_of_relatives(model.kernel, model.tasks, "new", like=name)

    return place


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
    model = load("starter:donor")
    for name, tree in (("Fungi", "metazoa"), ("rice", "metazoa"), ("Mammalia", "plants")):
        message = (
            f"'{name}' is neither .* of the tree {tree} or .*; the tree eukaryotes has it, and is "
            "searched if no tree is given; give its family"
        )
        with pytest.raises(UnknownTaskError, match=message):
            weights_of_relatives(model.kernel, model.tasks, "new", like=name, tree=tree)
    with pytest.raises(UnknownTaskError, match=r"tree fungi or .*; did you mean 'Culex'"):
        weights_of_relatives(model.kernel, model.tasks, "new", like="Culxe", tree="fungi")


#: Names of all kinds, and a taxon around each, which has the same place.
AROUND = [
    ("Albugo candida", "Oomycota"),
    ("Phytophthora infestans (strain T30-4)", "Oomycota"),
    ("Phytomonas sp. isolate EM1", "Kinetoplastea"),
    ("Stylonychia lemnae", "Intramacronucleata"),
    ("Pseudo-nitzschia multiseries", "Bacillariophyta"),
    ("Thecamonas trahens ATCC 50062", "Apusomonadida"),
    ("Pneumocystis carinii (strain B80)", "Taphrinomycotina"),
    ("Edhazardia", "Microsporidia"),
    ("Sphagnum", "Sphagnopsida"),
    ("Albuginaceae", "Oomycota"),
    ("Excavata", "Discoba"),  # no clade of the tree is around either
]


@pytest.mark.parametrize(("name", "taxon"), AROUND)
def test_a_name_that_the_tree_lacks_is_placed_by_its_clade(placed, name, taxon, caplog):
    with caplog.at_level("INFO"):
        found = placed(name)
    assert f"the tree eukaryotes lacks {name!r}: placed as one of " in caplog.text
    np.testing.assert_allclose(found.weights, placed(taxon).weights, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("Saccharomyces cerevisiae S288C", "s_cerevisiae"),
        ("Homo sapiens (isolate CHM13)", "h_sapiens"),
        ("Mus musculus domesticus", "m_musculus"),
        ("Vitrella brassicaformis (strain CCMP3155)", "v_brassicaformis"),
        ("Canis lupus familiaris", "Canis familiaris"),
        ("[Candida] albicans SC5314", "Candida albicans"),
        ("Drosophila (Sophophora) melanogaster", "d_melanogaster"),
        ("Hansenula polymorpha", "Ogataea"),
        ("Morus alba", "Morus notabilis"),  # a mulberry
        ("Morus bassanus", "Sulidae"),  # a gannet
    ],
)
def test_strains_subspecies_and_old_names_are_those_of_the_species(placed, name, same):
    np.testing.assert_allclose(placed(name).weights, placed(same).weights, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("Culxe", r"'Culex' \(mosquitos\)"),
        ("Sphagnumm", r"'Sphagnum' \(mosses\)"),
        ("Bodoo saltans", r"'Bodo' \(kinetoplastids\)"),
        ("Sacharomyces cerevisiae", "'Saccharomyces_cerevisiae'"),
        ("Caenorhabditis elegens", "'Caenorhabditis_elegans'"),
    ],
)
def test_only_a_name_with_a_wrong_letter_has_a_suggestion(placed, name, suggestion):
    with pytest.raises(UnknownTaskError, match=rf"; did you mean {suggestion}\?; give its family"):
        placed(name)


def test_a_name_that_is_in_no_table_is_refused_without_a_suggestion(placed):
    for name in ("Quarxonia bella", "Unknowngenus sp. 3", "[Quarxonia]", "()", "99999999"):
        with pytest.raises(UnknownTaskError, match="or the table of clades; the model has 'a_com"):
            placed(name)
    with pytest.raises(UnknownTaskError, match="could be Chaetodontidae or Pantodontidae; write"):
        placed("butterflyfish")


def test_case_and_number_do_not_matter(placed):
    for name in ("MOSQUITO", "mosquitoes", "mosquitos", "Culicidae", "culicidae"):
        assert placed(name).weights.tolist() == placed("mosquito").weights.tolist()


@pytest.mark.parametrize(("n", "text"), [(4, "a, b, c, d held out"), (5, "5 organisms held out")])
def test_many_nearest_organisms_are_counted_instead_of_named(n, text, caplog):
    names = tuple("abcde"[:n])
    relatives = RelativeWeights(np.full(n, 1 / n), "x", 1.0, "a", 20.0, names, "eukaryotes")
    left_out = {name: {"auprc": 0.9, "distance": 20.0} for name in names}
    with caplog.at_level("INFO"):
        log_relatives(f"one of {n}", relatives, left_out)
    assert f"({text}, 10 million years" in caplog.text
