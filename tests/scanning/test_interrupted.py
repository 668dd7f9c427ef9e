"""A scan that ends early, at whatever moment, leaves no file under the name of an output."""

from __future__ import annotations

import os

import numpy as np
import pytest

from seqmtl import MultiTaskModel
from seqmtl.core.weights import TaskWeights
from seqmtl.io import read_contigs
from seqmtl.io.genome import contig_lengths
from seqmtl.scanning import TrackOptions, write_scan
from seqmtl.scanning.finder import finder_of
from tests.scanning.cases import SUFFIXES, make_genome, make_model, run_scan

SIZES = {"c1": 2_600, "tiny": 10, "c2": 1_600, "c3": 30}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted")
    make_model(folder / "model.seqmtl")
    make_genome(folder / "genome.fa", SIZES)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("suffix", [*SUFFIXES, "bed.gz"])
@pytest.mark.parametrize("n_contigs", [0, 3])
def test_an_interrupted_scan_leaves_what_was_there(folder, tmp_path, suffix, n_contigs):
    out = tmp_path / f"x.{suffix}"
    for name in ("x.plus.bw", "x.minus.bw") if suffix == "bw" else (out.name,):
        (tmp_path / name).write_text("of an earlier scan")
    before = contents(tmp_path)
    finder = finder_of(MultiTaskModel.load(folder / "model.seqmtl"), "man", block=750)
    track = TrackOptions(lengths=contig_lengths(folder / "genome.fa"))

    def interrupted():
        for number, contig in enumerate(read_contigs(folder / "genome.fa")):
            if number == n_contigs:
                raise KeyboardInterrupt
            yield contig

    with pytest.raises(KeyboardInterrupt):
        write_scan(out, interrupted(), finder, track=track)
    assert contents(tmp_path) == before
    write_scan(out, read_contigs(folder / "genome.fa"), finder, track=track)
    after = contents(tmp_path)
    assert {name for name in after if not name.endswith(".tbi")} == set(before)
    assert b"of an earlier scan" not in after.values()


def test_a_failure_between_the_files_of_both_strands_leaves_whole_files(
    folder, tmp_path, monkeypatch
):
    replace, replaced = os.replace, []

    def interrupted(*file):
        if replaced:
            raise KeyboardInterrupt
        replaced.append(file)
        replace(*file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        run_scan(folder, tmp_path / "x.bw", "-q", code=130)
    (name,) = contents(tmp_path)
    whole = contents(tmp_path)[name]
    run_scan(folder, tmp_path / "x.bw", "-q")
    assert contents(tmp_path)[name] == whole
    assert len(contents(tmp_path)) == 2


@pytest.mark.parametrize("suffix", ["gff3", "bw"])
def test_a_full_disk_leaves_nothing(folder, tmp_path, file_size, capsys, suffix):
    file_size(2_000)
    run_scan(folder, tmp_path / f"x.{suffix}", code=1)
    told = capsys.readouterr().err
    assert f"cannot write {tmp_path}/x." in told
    assert "File too large; free some space" in told
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("suffix", ["bed.gz", "gff3.gz"])
def test_an_index_for_which_the_disk_is_full_is_an_error(
    folder, tmp_path, monkeypatch, file_size, capsys, suffix
):
    """The sites fit on the disk, their index does not: no half index, and none of another file."""
    pysam = pytest.importorskip("pysam")
    index = tmp_path / f"x.{suffix}.tbi"
    index.write_text("of an earlier scan")
    make_index = pysam.tabix_index

    def full(*args, **options):
        file_size(20)
        make_index(*args, **options)

    monkeypatch.setattr(pysam, "tabix_index", full)
    run_scan(folder, tmp_path / f"x.{suffix}", "-q", code=1)
    assert f"cannot write {index}: File too large; free some space" in capsys.readouterr().err
    (name,) = contents(tmp_path)
    assert name == f"x.{suffix}"


@pytest.mark.parametrize("suffix", [*SUFFIXES])
@pytest.mark.parametrize("factor", [1e12, 3e37])
def test_scores_that_have_no_digits_are_refused_before_the_scan(
    folder, tmp_path, capsys, suffix, factor
):
    """Of a model that did not train well, raw scores were written with digits of other numbers."""
    model = make_model(tmp_path / "huge")
    model.W = TaskWeights.of(np.asarray(model.W) * np.float32(factor), model.W.columns)
    model.save(tmp_path / "huge")
    run_scan(folder, tmp_path / f"x.{suffix}", model=tmp_path / "huge", code=1)
    told = capsys.readouterr().err
    assert "scores must be of a size below 9.0072e+10, but those of this model may be" in told
    assert contents(tmp_path).keys() == {"huge"}
