"""``seqmtl annotate``: whose genome it is, and whose results the folder has."""

import json

import pytest

from seqmtl.commands.annotate import Annotate
from seqmtl.exceptions import SeqmtlError
from seqmtl.loading import load
from seqmtl.splicing.model import PairedModel
from tests.crashes import files_of


@pytest.fixture(scope="module")
def starter():
    return load("starter:splice")


def _organism(starter, file, like="Diptera", **options):
    return Annotate(genome=file, like=like, output="out", **options).organism_of(starter)


@pytest.mark.parametrize("name", ["fly", "worm", "human", "bee", "yeast", "maize", "c_elegans"])
def test_the_name_of_the_file_is_only_a_label(starter, name):
    """A genome of D. virilis in fly.fa: the fly of the model is another species."""
    called, like = _organism(starter, f"genomes/{name}.fa.gz", "Drosophila virilis")
    assert (called, like) == (f"{name}_genome", "Drosophila virilis")
    assert called not in starter.tasks


def test_an_organism_is_that_of_the_model_only_by_its_name(starter):
    assert _organism(starter, "x.fa", organism="fly") == ("d_melanogaster", None)
    assert _organism(starter, "fly.fa", organism="gnat") == ("gnat", "Diptera")
    # the model has seen introns of the mosquito, but no genome
    organism = _organism(starter, "x.fa", organism="Anopheles gambiae")
    assert organism == ("a_gambiae_genome", "a_gambiae")
    seen = [name for name in starter.tasks if starter.has_genome(name)]
    assert len(seen) == 8
    assert {"h_sapiens", "s_cerevisiae"} < {*seen}


@pytest.fixture
def annotate(new, tmp_path, seqmtl):
    """Return a function that annotates a genome of the model in FOLDER, and returns messages."""

    def run(organism, options="", folder="x", code=0):
        genome = f"{new}/sim/genomes/{organism}.fa --organism {organism}"
        command = f"annotate {genome} --like a --model {new}/pair.seqmtl"
        return seqmtl(f"{command} -o {tmp_path}/{folder} {options}", code).err

    return run


def test_only_files_of_the_names_of_results_are_replaced_and_only_by_force(annotate, tmp_path):
    """A user trains a model into model.seqmtl, and then names that folder."""
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    for name in ("model.seqmtl", "report.html", "sites.donor.bed.gz"):
        (folder / name).write_text("mine")
        told = annotate("a", code=1)
        assert f"x must have no files of the names of results, got {folder}/{name}; " in told
        assert {*files_of(folder).values()} == {b"mine"}
        (folder / name).rename(tmp_path / name)
    (folder / "model.seqmtl").write_text("mine")
    assert "is used unchanged" in annotate("a", "--force")
    results = files_of(folder)
    assert results.pop("notes.txt") == b"mine"
    assert b"mine" not in results.values()
    assert not any("unfinished" in path for path in results)
    summary = json.loads(results["summary.json"])
    assert summary["organism"] == "a"
    assert "rounds" not in summary  # it is in the model
    assert f"<td>{summary['introns']:,}</td>".encode() in results["report.html"]
    annotate("b", code=1)
    assert files_of(folder, but=["notes.txt"]) == results


@pytest.mark.parametrize("error", [SeqmtlError("no"), KeyboardInterrupt()])
def test_a_run_that_fails_leaves_no_folder(annotate, tmp_path, monkeypatch, error):
    def fail(self, path):
        raise error

    monkeypatch.setattr(PairedModel, "save", fail)
    code = 1 if isinstance(error, SeqmtlError) else 130
    annotate("a", code=code)
    assert not (tmp_path / "x").exists()
    (tmp_path / "y").mkdir()
    (tmp_path / "y/notes.txt").write_text("mine")
    annotate("a", folder="y", code=code)
    assert [path.name for path in (tmp_path / "y").iterdir()] == ["notes.txt"]
