"""Names as people write them, and the errors where they leave open who is meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqmtl import _names as names
from seqmtl._names import match_names
from seqmtl.exceptions import UnknownTaskError
from seqmtl.files import catalogue

ORGANISMS = (
    "taxid\tname\tsynonyms\n"
    "9606\tHomo sapiens\thuman|man\n"
    "6239\tCaenorhabditis elegans\tworm\n"
    "6238\tCaenorhabditis briggsae\n"
    "4932\tSaccharomyces cerevisiae\tbaker's yeast|yeast\n"
    "\n"
    "7227\tDrosophila melanogaster\n"
)


@pytest.fixture
def organisms(monkeypatch):
    """Another table of organisms than the shipped one."""
    monkeypatch.setattr(catalogue, "table", {"organisms.tsv": ORGANISMS}.get)
    names._shipped.cache_clear()
    yield
    names._shipped.cache_clear()


@pytest.fixture
def no_organisms(monkeypatch):
    """No table of organisms."""
    monkeypatch.setattr(catalogue, "table", lambda _: None)
    names._shipped.cache_clear()
    yield
    names._shipped.cache_clear()


@pytest.mark.parametrize(
    ("wanted", "known"),
    [
        ("Homo sapiens", "Homo sapiens"),
        ("homo_sapiens", "Homo sapiens"),
        ("HOMO  SAPIENS", "homo.sapiens"),
        ("Homo-sapiens ", "homo_sapiens"),
        ("c_elegans", "Caenorhabditis elegans"),
        ("C. elegans", "caenorhabditis_elegans"),
        ("c elegans", "C.elegans"),
        ("Caenorhabditis elegans", "c_elegans"),
        ("C. lupus familiaris", "canis_lupus_familiaris"),
        ("task 1", "Task_1"),
    ],
)
def test_spellings(no_organisms, wanted, known):
    assert match_names([wanted], ["other one", known, "something else"], "a tree") == [1]


@pytest.mark.parametrize(
    ("wanted", "known"),
    [
        ("Canis elegans", "Caenorhabditis elegans"),
        ("c_elegans", "elegans"),
        ("t 1", "task 1"),
        ("a b", "alpha beta"),
        ("human", "Homo sapiens"),
        ("homo sapiens neanderthalensis", "h_sapiens"),
    ],
)
def test_what_is_another_name(no_organisms, wanted, known):
    with pytest.raises(UnknownTaskError, match=f"{wanted!r} is not in a tree"):
        match_names([wanted], [known], "a tree")


@pytest.mark.parametrize(
    "wanted", ["9606", "human", "Man", "h_sapiens", "Homo sapiens", "H sapiens"]
)
@pytest.mark.parametrize("known", ["9606", "human", "man", "h.sapiens", "homo_sapiens"])
def test_one_organism_under_all_its_names(organisms, wanted, known):
    assert match_names([wanted], ["worm", known, "fly"], "a tree") == [1]


def test_the_first_rule_decides(organisms):
    known = ["human", "Homo_sapiens", "homo sapiens", "h_sapiens"]
    assert match_names(["h_sapiens", "homo sapiens", "human"], known, "") == [3, 2, 0]
    assert match_names(["fly", "baker's Yeast"], ["yeast", "fly"], "") == [1, 0]


def test_ambiguous_names(organisms):
    with pytest.raises(UnknownTaskError, match="ambiguous in K: it could be 'a_b', 'A b'; write"):
        match_names(["a b"], ["a_b", "A b"], "K")
    known = ["Caenorhabditis elegans", "Centruroides elegans"]
    with pytest.raises(UnknownTaskError, match="'c_elegans' is ambiguous in K: it could be 'Caeno"):
        match_names(["c_elegans"], known, "K")


def test_two_names_of_one(organisms):
    with pytest.raises(UnknownTaskError, match=r"'human' is given twice: it and '9606' are bo"):
        match_names(["9606", "worm", "human"], ["Homo sapiens", "c_elegans"], "K")
    with pytest.raises(UnknownTaskError, match="it and 'a' are both 'a' in K"):
        match_names(["a", "a"], ["a"], "K")


def test_missing_names_list_their_neighbours(no_organisms):
    known = ["Homo sapiens", "Mus musculus", "a", "b", "c", "d"]
    with pytest.raises(UnknownTaskError, match="'homo_sapien' is not in K; did you mean 'Homo sap"):
        match_names(["homo_sapien"], known, "K")
    with pytest.raises(
        UnknownTaskError,
        match=r"^tasks 'xyz', 'uvw', 'rst' are not in K; it has 'Homo.*'c', \.\.\.$",
    ):
        match_names(["a", "xyz", "uvw", "rst"], known, "K")
    with pytest.raises(UnknownTaskError, match="'t3', 't4', and 2 more are not in K"):
        match_names([f"t{i}" for i in range(7)], known, "K")


@given(st.lists(st.text(), unique=True, max_size=8), st.randoms())
def test_a_name_always_finds_itself(known, random):
    wanted = random.sample(known, len(known))
    assert [known[i] for i in match_names(wanted, known, "K")] == wanted


def test_the_shipped_table_has_distinct_organisms():
    names._shipped.cache_clear()
    taxids, _ = names._shipped()
    assert all(name == taxid for name, taxid in taxids.items() if name.isdigit())
