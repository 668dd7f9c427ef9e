"""The trees that ship with the package are consistent, with the times of times.tsv."""

import csv
import re
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from seqmtl._names import abbreviate, identify, match_names, simplify
from seqmtl.exceptions import ModelFileError
from seqmtl.files import catalogue
from seqmtl.relations.trees import read_tree

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "taxonomies"
TREES = sorted(path.stem for path in FOLDER.glob("*.nwk"))
ORGANISMS = [
    line.split("\t")
    for line in (FOLDER / "organisms.tsv").read_text(encoding="utf-8").splitlines()[1:]
]
SETS = {
    "six_eukaryotes": "a_thaliana c_elegans d_melanogaster h_sapiens p_falciparum s_cerevisiae",
    "epdnew_complete": "a_mellifera c_elegans c_familiaris g_gallus p_falciparum s_cerevisiae "
    "s_pombe",
    "epdnew_tata": "d_melanogaster d_rerio h_sapiens m_mulatta m_musculus r_norvegicus z_mays",
    "widmer2010_splice": "A.nidulans P.trichocarpa A.thaliana O.sativa C.savignyi D.rerio "
    "O.latipes G.aculeatus T.nigroviridis B.taurus H.sapiens M.musculus C.elegans A.gambiae "
    "D.melanogaster",
    "widmer2012_splice": "d_melanogaster m_musculus h_sapiens b_taurus",
    "widmer2015_tss": "E.caballus C.briggsae M.musculus C.elegans D.rerio D.simulans V.vinifera "
    "A.thaliana H.sapiens",
    "schweikert2008_splice": "c_elegans c_remanei p_pacificus d_melanogaster a_thaliana",
}


def test_a_model_in_an_archive_is_no_file(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("starter/x.seqmtl", b"")
    folder = zipfile.Path(archive.filename, "starter/")
    monkeypatch.setattr(catalogue, "_folder", lambda name: folder)
    with pytest.raises(ModelFileError, match=r"^starter:x: is in an archive .*; unpack it"):
        catalogue.model_path("starter:x")


def ages(tree):
    """Return the age of every named inner node: height above the leaves."""
    depth = np.zeros(len(tree))
    for i in range(1, len(tree)):
        depth[i] = depth[tree.parents[i]] + tree.lengths[i]
    inner = set(range(len(tree))) - set(tree.leaves.tolist())
    return {tree.labels[i]: depth.max() - depth[i] for i in inner}


def test_the_catalogue_lists_the_folder():
    assert list(catalogue.names()) == TREES
    assert set(SETS) < set(TREES)
    assert catalogue.find("metazoa") == (FOLDER / "metazoa.nwk").read_text(encoding="utf-8")
    assert catalogue.find("metazoan") is None
    assert catalogue.find("../taxonomies/metazoa") is None


@pytest.mark.parametrize("name", TREES)
def test_every_tree_is_dated_named_and_the_great_one_pruned(name):
    tree = read_tree(name)
    inner = [tree.labels[i] for i in range(len(tree)) if i not in set(tree.leaves.tolist())]
    assert len(set(tree.leaf_names)) == len(tree.leaf_names) > 3
    assert {leaf.replace("_", " ") for leaf in tree.leaf_names} <= {row[1] for row in ORGANISMS}
    assert all(re.fullmatch(r"[A-Z][a-z]+_[a-z]+", leaf) for leaf in tree.leaf_names)
    assert all(inner)
    assert len(set(inner)) == len(inner)
    assert (tree.lengths[1:] > 0).all()
    heights = np.diagonal(tree.shared())
    assert np.ptp(heights) < 1.0  # million years
    pruned = read_tree("eukaryotes").prune(tree.leaf_names)
    order = match_names(tree.leaf_names, pruned.leaf_names, "eukaryotes")
    np.testing.assert_allclose(tree.distances(), pruned.distances()[np.ix_(order, order)])
    assert ages(tree) == pytest.approx(ages(pruned))


def test_every_time_has_a_source():
    with (FOLDER / "times.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert all(row["source"] for row in rows)
    assert {row["clade"]: float(row["million_years"]) for row in rows} == pytest.approx(
        ages(read_tree("eukaryotes"))
    )


def test_sets_of_papers_and_data_are_found_by_short_names():
    for name, wanted in SETS.items():
        leaves = read_tree(name).leaf_names
        assert sorted(match_names(wanted.split(), leaves, name)) == list(range(len(leaves)))


def test_organisms_are_named_once():
    taxids, names, _ = zip(*ORGANISMS, strict=True)
    assert len(set(taxids)) == len(ORGANISMS)
    assert all(taxid.isdecimal() for taxid in taxids)
    assert sorted(names) == sorted(
        leaf.replace("_", " ") for leaf in read_tree("eukaryotes").leaf_names
    )
    short = Counter(abbreviate(simplify(name)) for name in names)
    assert [key for key, n in short.items() if n > 1] == ["c japonica"]  # a worm and a quail
    assert identify("c japonica") == "c japonica"
    owner = {}
    for taxid, name, others in ORGANISMS:
        for text in (taxid, name, *filter(None, others.split("|"))):
            assert owner.setdefault(simplify(text), name) == name
