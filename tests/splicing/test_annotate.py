"""``seqmtl annotate``: whose genome it is, and whose results the folder has."""

import json
import re

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


def test_a_genome_in_a_file_called_as_an_organism_is_adapted_to(new, tmp_path, seqmtl):
    """Genome c, in a file whose name is that of an organism of the model."""
    (tmp_path / "a.fa").write_bytes((new / "sim/genomes/c.fa").read_bytes())
    command = f"annotate {tmp_path}/a.fa --like b --model {new}/pair.seqmtl -o {tmp_path}/x"
    told = seqmtl(command).err
    assert "the organism is called a_genome, after the file" in told
    assert "unchanged" not in told
    summary = json.loads((tmp_path / "x/summary.json").read_text())
    assert summary["organism"] == "a_genome"
    assert summary["rounds"][0]["n_p90"][0] > 100
    assert load(tmp_path / "x/model.seqmtl").training["unlabelled"].keys() == {"a_genome"}


@pytest.fixture
def annotate(new, tmp_path, seqmtl):
    """Return a function that annotates a genome of the model in FOLDER, and returns messages."""

    def run(organism, options="", folder="x", code=0):
        genome = f"{new}/sim/genomes/{organism}.fa --organism {organism}"
        command = f"annotate {genome} --like a --model {new}/pair.seqmtl"
        return seqmtl(f"{command} -o {tmp_path}/{folder} {options}", code).err

    return run


@pytest.mark.parametrize("name", ["model.seqmtl", "report.html", "sites.donor.bed.gz"])
def test_files_of_the_names_of_results_are_replaced_only_by_force(annotate, tmp_path, name):
    """A user trains a model into model.seqmtl, and then names that folder."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / name).write_text("mine")
    told = annotate("a", code=1)
    assert f"x must have no files of the names of results, got {tmp_path}/x/{name}; " in told
    assert {path.name: path.read_text() for path in (tmp_path / "x").iterdir()} == {name: "mine"}
    assert "is used unchanged" in annotate("a", "--force")
    assert (tmp_path / "x" / name).read_bytes() != b"mine"
    results = files_of(tmp_path / "x")
    assert not any("unfinished" in path for path in results)
    assert json.loads(results["summary.json"])["organism"] == "a"
    annotate("b", code=1)
    assert files_of(tmp_path / "x") == results


def test_an_organism_of_the_model_has_no_rounds_and_other_files_stay(annotate, tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x/notes.txt").write_text("mine")
    annotate("a")
    summary = json.loads((tmp_path / "x/summary.json").read_text())
    assert "rounds" not in summary
    page = (tmp_path / "x/report.html").read_text()
    assert f"<td>{summary['introns']:,}</td>" in page
    assert (tmp_path / "x/notes.txt").read_text() == "mine"


def test_the_folder_has_what_a_scan_with_its_model_and_a_report_on_it_give(
    annotate, tmp_path, seqmtl
):
    """The report reads the model and its logos."""
    annotate("c", "--organism new")
    folder, genome = tmp_path / "x", json.loads((tmp_path / "x/summary.json").read_text())["genome"]
    seqmtl(f"scan {folder}/model.seqmtl {genome} --organism new --format all -o {tmp_path}/sites")
    for name in ("sites.introns.gff3", "sites.donor.bed.gz", "sites.acceptor.minus.bw"):
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()
    seqmtl(f"report {folder} -o {tmp_path}/again.html")
    pages = [(tmp_path / name).read_text() for name in ("x/report.html", "again.html")]
    page, again = (re.findall('data:image/svg[^"]+', text) for text in pages)
    assert page == again
    assert len(page) > 2


@pytest.mark.parametrize("error", [SeqmtlError("no"), KeyboardInterrupt()])
def test_a_run_that_fails_leaves_no_folder(annotate, tmp_path, monkeypatch, error):
    def fail(self, path):
        raise error

    monkeypatch.setattr(PairedModel, "save", fail)
    code = 1 if isinstance(error, SeqmtlError) else 130
    annotate("c", code=code)
    assert not (tmp_path / "x").exists()
    (tmp_path / "y").mkdir()
    (tmp_path / "y/notes.txt").write_text("mine")
    annotate("c", folder="y", code=code)
    assert [path.name for path in (tmp_path / "y").iterdir()] == ["notes.txt"]
