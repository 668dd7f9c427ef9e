"""Small datasets against brute force: sites, decoys, weights, splits, duplicates."""

import csv
import json
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from seqmtl import MultiTaskModel, read_dataset
from seqmtl.datasets import measure_leakage, read_config, write_dataset
from seqmtl.datasets.duplicates import fingerprints
from seqmtl.datasets.true_sites import word_numbers
from seqmtl.io.dataset import read_split_genome, read_summary
from seqmtl.sequences import Windows, encode
from seqmtl.sequences.sites import Sites
from tests.oracles.annotation import reverse_complement

WINDOW = 21
OFFSET = {2: WINDOW // 2 - 1, 1: WINDOW // 2, 3: WINDOW // 2 - 1}


def make_genome(seed, n_genes=30, length=8000, n_contigs=2, at="GT"):
    """Return contigs as strings and genes as (contig, strand, exons), introns GT-AG."""
    rng = np.random.default_rng(seed)
    contigs, genes = {}, []
    for number in range(n_contigs):
        name = f"chr{number + 1}"
        letters = rng.choice(list("ACGT"), size=length)
        letters[rng.integers(length, size=3)] = "N"
        for begin in np.linspace(60, length - 260, n_genes // n_contigs).astype(int).tolist():
            strand = "+-"[int(rng.integers(2))]
            exons = [(begin, begin + 40), (begin + 80, begin + 130)]
            donor, acceptor = ("GT", "AG") if strand == "+" else ("CT", "AC")
            letters[begin + 40 : begin + 42] = list(donor)
            letters[begin + 78 : begin + 80] = list(acceptor)
            genes.append((name, strand, exons))
        contigs[name] = "".join(letters)
    return contigs, genes


def write_inputs(folder, contigs, genes, name="x"):
    fasta = "".join(f">{contig}\n{letters}\n" for contig, letters in contigs.items())
    (folder / f"{name}.fa").write_text(fasta)
    rows = ["##gff-version 3"]
    for number, (contig, strand, exons) in enumerate(genes):
        for start, end in exons:
            place = f"{contig}\tt\texon\t{start + 1}\t{end}\t.\t{strand}\t."
            rows.append(f"{place}\tParent=t{number}")
    (folder / f"{name}.gff3").write_text("\n".join(rows) + "\n")


def config_text(top="", tables="", organisms=("x",)):
    text = f'signal = "donor"\nwindow = {WINDOW}\n{top}\n{tables}\n'
    for name in organisms:
        text += f'[organisms.{name}]\ngenome = "{name}.fa"\nannotation = "{name}.gff3"\n'
    return text


def build(folder, text, **options):
    (folder / "config.toml").write_text(text)
    return write_dataset(read_config(folder / "config.toml", **options), folder / "out")


def read_rows(folder):
    with open(folder / "out" / "windows.tsv") as stream:
        header = stream.readline().rstrip("\n").lstrip("#").split("\t")
        return [dict(zip(header, line.rstrip("\n").split("\t"), strict=True)) for line in stream]


def read_excluded(folder):
    with open(folder / "out" / "excluded.tsv") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def site_of(row, length=2):
    start, end = int(row["start"]), int(row["end"])
    if row["strand"] == "+":
        return row["contig"], start + OFFSET[length], "+"
    return row["contig"], end - OFFSET[length] - length, "-"


def annotated(genes, signal="donor"):
    found = set()
    for contig, strand, exons in genes:
        for (_, left), (right, _) in pairwise(exons):
            at_left = (signal == "donor") == (strand == "+")
            found.add((contig, left if at_left else right - 2, strand))
    return found


def all_candidates(contigs, word):
    """Return every place with a word whose window is inside its contig and without N."""
    found = set()
    for contig, letters in contigs.items():
        for strand in "+-":
            for start in range(len(letters) - 1):
                site = letters[start : start + 2]
                if (site if strand == "+" else reverse_complement(site)) != word:
                    continue
                begin = start - OFFSET[2] if strand == "+" else start + 2 + OFFSET[2] - WINDOW
                window = letters[max(0, begin) : begin + WINDOW]
                if begin >= 0 and len(window) == WINDOW and "N" not in window:
                    found.add((contig, start, strand))
    return found


def test_rows_are_sorted_and_all_files_agree(tmp_path):
    contigs, genes = make_genome(2)
    write_inputs(tmp_path, contigs, genes)
    write_inputs(tmp_path, *make_genome(3), name="y")
    summary = build(tmp_path, config_text(organisms=("y", "x")))
    rows = read_rows(tmp_path)
    order = [(r["organism"] == "x", r["contig"], int(r["start"]), r["strand"] == "-") for r in rows]
    assert order == sorted(order)
    excluded = read_excluded(tmp_path)
    reasons = Counter()
    for row in excluded:
        reasons[row["reason"].partition(":")[0]] += int(row["count"])
    assert dict(reasons) == summary["excluded"]
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == summary
    compared = {
        name: facts["splits"]["test"]["sites"] for name, facts in summary["organisms"].items()
    }
    assert summary["leakage"]["test_sites_compared"] == compared
    n_rows = sum(f["sites"] + f["decoys"] for f in summary["organisms"].values())
    assert len(rows) == n_rows
    # every annotated place is a row, or a line of what is left out
    n_sites = sum(row["label"] == "1" for row in rows)
    assert n_sites + sum(row["start"] != "." for row in excluded) == len(annotated(genes)) + 30


@pytest.mark.parametrize("by", ["contigs", "blocks"])
def test_weights_stand_for_all_candidates_of_each_split(tmp_path, by):
    contigs, genes = make_genome(4, n_genes=120, length=12_000, n_contigs=6)
    write_inputs(tmp_path, contigs, genes)
    build(tmp_path, config_text("seed = 5", f'[split]\nby = "{by}"\nblock = 1000'))
    rows = read_rows(tmp_path)
    split_at = {}
    size = 12_000 if by == "contigs" else 1000
    for row in rows:
        block = row["contig"], int(row["start"]) // size
        assert split_at.setdefault(block, row["split"]) == row["split"]
        assert (
            by == "contigs"
            or (int(row["end"]) - 1) // size == block[1]
            or (split_at.get((block[0], block[1] + 1), row["split"]) == row["split"])
        )
    weight = Counter()
    for row in rows:
        assert row["label"] == "-1" or row["weight"] == "1"
        weight[row["split"]] += float(row["weight"]) * (row["label"] == "-1")
    others = all_candidates(contigs, "GT") - annotated(genes)
    if by == "contigs":
        expected = Counter(split_at[contig, 0] for contig, _, _ in others)
        assert weight == pytest.approx(expected)
    else:  # windows across borders are in none
        assert 0.9 * len(others) < weight.total() <= len(others)


@pytest.mark.parametrize("by", ["contigs", "blocks"])
def test_regions_and_sites_are_written(tmp_path, by):
    contigs, genes = make_genome(6, n_genes=60, n_contigs=6)
    contigs["tiny"] = "ACGT"
    contig, strand, exons = genes[0]
    place = exons[0][1] if strand == "+" else exons[1][0] - 2
    letters = contigs[contig]
    contigs[contig] = letters[: place - 4] + "N" + letters[place - 3 :]  # a site beside an N
    write_inputs(tmp_path, contigs, genes)
    build(tmp_path, config_text(tables=f'[split]\nby = "{by}"\nblock = 1000'))
    with open(tmp_path / "out" / "regions.tsv") as stream:
        regions = [line.rstrip("\n").lstrip("#").split("\t") for line in stream]
    assert regions.pop(0) == ["contig", "start", "end", "split", "organism"]
    split_of = {}
    for name, start, end, split, organism in regions:
        assert organism == "x"
        for base in range(int(start), int(end)):
            assert (name, base) not in split_of
            split_of[name, base] = split
    assert split_of.keys() == {(n, b) for n, text in contigs.items() for b in range(len(text))}
    rows = read_rows(tmp_path)
    for row in rows:
        bases = range(int(row["start"]), int(row["end"]))
        assert {split_of[row["contig"], base] for base in bases} == {row["split"]}
    with open(tmp_path / "out" / "sites.tsv") as stream:
        stream.readline()
        sites = [line.rstrip("\n").split("\t") for line in stream]
    assert {(s[0], int(s[1]), s[5]) for s in sites} == annotated(genes)
    assert all(int(s[2]) - int(s[1]) == 2 and s[6] == "x" for s in sites)
    true = {site_of(row) for row in rows if row["label"] == "1"}
    assert {(s[0], int(s[1]), s[5]) for s in sites if s[7] == "1"} == true
    assert (contig, place, strand) not in true


def test_equal_seeds_give_equal_bytes_and_others_do_not(tmp_path):
    write_inputs(tmp_path, *make_genome(7))
    written = []
    for seed in (1, 1, 2):
        build(tmp_path, config_text(f"seed = {seed}"))
        written.append((tmp_path / "out" / "windows.tsv").read_bytes())
    assert written[0] == written[1] != written[2]


def test_the_share_in_genes_and_what_lacks(tmp_path, caplog):
    contigs, genes = make_genome(8)
    write_inputs(tmp_path, contigs, genes)
    spans = [(c, s, e[0][0], e[-1][1]) for c, s, e in genes]
    for share in (0.0, 1.0):
        tables = f"[decoys]\nin_genes = {share}\nratio = 1\nclearance = 4"
        build(tmp_path, config_text(tables=tables))
        decoys = [site_of(row) for row in read_rows(tmp_path) if row["label"] == "-1"]
        inside = [
            any(
                c == contig and s == strand and first <= start < last
                for contig, strand, first, last in spans
            )
            for c, start, s in decoys
        ]
        assert decoys
        assert all(inside) if share else not any(inside)
    summary = build(tmp_path, config_text(tables="[decoys]\nratio = 1000"))
    facts = summary["organisms"]["x"]
    assert facts["decoys_lacking"] > 0
    assert "decoys fewer than requested" in caplog.text
    assert "outside the planned regions" not in caplog.text or facts["decoys_from_other_strata"]


def test_decoys_of_tss_have_the_dinucleotides_of_the_sites(tmp_path):
    contigs, genes = make_genome(9, n_genes=80, length=20_000)
    write_inputs(tmp_path, contigs, genes)
    build(tmp_path, config_text(tables="[split]\nvalid = 0\ntest = 0"), signal="tss")
    names = Counter()
    for row in read_rows(tmp_path):
        contig, start, strand = site_of(row, 1)
        letters = contigs[contig]
        pair = letters[start - 1 : start + 1] if strand == "+" else letters[start : start + 2]
        pair = pair if strand == "+" else reverse_complement(pair)
        kind, _, word = row["name"].partition(":")
        assert word == pair
        names[kind, word] += 1
    for (kind, word), count in names.items():
        if kind == "tss":
            assert names["decoy", word] == 10 * count


def test_duplicates_leave_valid_and_test(tmp_path, caplog):
    contigs, genes = make_genome(10, n_genes=60, n_contigs=6)
    contigs["chr6"] = contigs["chr1"]  # a contig twice: all of its windows are duplicates
    genes = [g for g in genes if g[0] != "chr6"]
    genes += [("chr6", s, e) for c, s, e in genes if c == "chr1"]
    write_inputs(tmp_path, contigs, genes)
    text = config_text() + 'split = { test = ["chr6"], valid = ["chr2"] }\n'
    summary = build(tmp_path, text)
    rows = read_rows(tmp_path)
    by_split = {
        s: {w for w, r in zip(cut(contigs, rows), rows, strict=True) if r["split"] == s}
        for s in ("train", "valid", "test")
    }
    assert not by_split["train"] & by_split["test"]
    assert not any(row["split"] == "test" and row["label"] == "1" for row in rows)
    n_removed = summary["excluded"]["window of valid or test whose sequence is in train"]
    assert n_removed >= len([g for g in genes if g[0] == "chr6"]) - 1
    assert not any(summary["leakage"]["duplicates_between_splits"].values())
    assert summary["leakage"]["with_both_labels"] == 0
    assert re.search(
        r"x: (\d+) of \1 true sites of test are left out: window of valid or test whose sequence "
        r"is in train \(\1\); is a genome or contig given twice\?",
        caplog.text,
    )
    assert "sites of valid" not in caplog.text
    assert "sites of train" not in caplog.text


def test_a_split_asked_for_without_a_true_site_is_named(tmp_path, caplog):
    contigs, genes = make_genome(10, n_genes=20)
    write_inputs(tmp_path, contigs | {"chr3": contigs["chr1"][::-1]}, genes)
    for text, is_asked_for in (("test = ['chr3']", True), ("valid = ['chr2']", False)):
        caplog.clear()
        build(tmp_path, f"{config_text()}split = {{ {text} }}\n")
        assert ("x: no true site is in test: its regions have none" in caplog.text) == is_asked_for
        assert "no true site is in valid" not in caplog.text


def cut(contigs, rows):
    for row in rows:
        letters = contigs[row["contig"]][int(row["start"]) : int(row["end"])]
        yield letters if row["strand"] == "+" else reverse_complement(letters)


def test_leakage_is_measured_and_not_assumed():
    rows = [  # letters, start, label, split
        ("ACGT" * 5 + "A", 100, 1, 0),
        ("ACGT" * 5 + "A", 100, 1, 0),
        ("ACGT" * 5 + "A", 900, 1, 2),  # the same sequence in another split
        ("ACGT" * 5 + "A", 900, -1, 2),  # and with the other label
        ("CCAT" * 5 + "A", 120, 1, 1),  # one base in common with train
        ("GGAT" * 5 + "A", 141, 1, 2),  # beside the one in valid
    ]
    letters, starts, labels, splits = zip(*rows, strict=True)
    windows = Windows.from_strings(letters)
    columns = {"labels": labels, "splits": splits}
    sites = Sites(
        np.array(starts),
        np.zeros(len(rows), bool),
        {name: np.array(column) for name, column in columns.items()}
        | {"prints": fingerprints(windows)},
    )
    assert measure_leakage({"x": sites}, {"x": windows.matrix()[np.array(labels) > 0]}) == {
        "duplicates_between_splits": {"train-valid": 0, "train-test": 2, "valid-test": 0},
        "with_both_labels": 4,
        "overlapping_between_splits": {"train-valid": 1, "train-test": 0, "valid-test": 0},
        "duplicates_inside_splits": 1,
        "test_sites_compared": {"x": 2},
        "test_sites_with_homologue_in_train": {"x": 0},  # 21 bases are too few to tell
    }


@given(
    seed=st.integers(0, 10_000),
    signal=st.sampled_from(["donor", "acceptor"]),
    clearance=st.integers(1, 40),
    shift=st.integers(-6, 6),
)
@settings(max_examples=16)
def test_decoys_are_never_sites_nor_too_near(tmp_path_factory, seed, signal, clearance, shift):
    contigs, genes = make_genome(seed, n_genes=40, length=4000)
    folder = tmp_path_factory.mktemp("near")
    write_inputs(folder, contigs, genes)
    text = config_text(f"shift = {shift}", f"[decoys]\nclearance = {clearance}")
    summary = build(folder, text, signal=signal)
    offset, word = OFFSET[2] - shift, {"donor": "GT", "acceptor": "AG"}[signal]
    begins = {
        (contig, start - offset if strand == "+" else start + 2 + offset - WINDOW, strand)
        for contig, start, strand in annotated(genes, signal)
    }
    rows = read_rows(folder)
    for row, letters in zip(rows, cut(contigs, rows), strict=True):
        assert letters[offset : offset + 2] == word
        place = row["contig"], int(row["start"]), row["strand"]
        is_site = place in begins
        assert (row["label"], row["score"]) == (("1", "1000") if is_site else ("-1", "0"))
        assert row["name"] == f"{signal if is_site else 'decoy'}:{word}"
        if not is_site:
            assert all(c != place[0] or abs(b - place[1]) >= clearance for c, b, _ in begins)
    places = [(row["contig"], row["start"], row["strand"]) for row in rows]
    assert len({*places}) == len(places)
    assert summary["organisms"]["x"]["sites"] == sum(row["label"] == "1" for row in rows)


@pytest.mark.parametrize(
    ("consensus", "letters"), [('"canonical"', "GT"), ('["GT", "GC"]', "GT,GC"), ('"all"', "")]
)
def test_non_canonical_sites_are_left_out_or_taken(tmp_path, consensus, letters):
    contigs, genes = make_genome(16)
    contig, strand, exons = genes[0]
    place = exons[0][1] if strand == "+" else exons[1][0] - 2
    text = contigs[contig]
    contigs[contig] = text[:place] + "GC" + text[place + 2 :]
    write_inputs(tmp_path, contigs, genes)
    summary = build(tmp_path, config_text(tables=f"[sites]\nconsensus = {consensus}"))
    rows = read_rows(tmp_path)
    assert summary["site"]["letters"] == letters
    true = {site_of(row): row["name"] for row in rows if row["label"] == "1"}
    assert {*true.values()} == {f"donor:{word}" for word in (letters or "GT,GC").split(",")}
    assert true.get((contig, place, strand)) == (None if letters == "GT" else "donor:GC")
    assert (contig, place, strand) not in {site_of(row) for row in rows if row["label"] == "-1"}


def test_many_contigs(tmp_path):
    rng = np.random.default_rng(17)
    scraps = {f"scrap{i}": "".join(rng.choice(list("ACGT"), 30)) for i in range(10_000)}
    contigs, genes = make_genome(17)
    write_inputs(tmp_path, contigs | scraps, genes)
    build(tmp_path, config_text(tables='[split]\nby = "blocks"'))
    windows = read_dataset(tmp_path / "out")
    assert windows.sequences() == list(cut(contigs | scraps, read_rows(tmp_path)))


def test_blocks_are_balanced(tmp_path):
    contigs, genes = make_genome(12, n_genes=300, length=60_000)
    write_inputs(tmp_path, contigs, genes)
    summary = build(tmp_path, config_text(tables="[split]\nblock = 2000"))
    facts = summary["organisms"]["x"]
    assert facts["split_by"] == "blocks"  # two contigs are too few
    shares = {name: split["sites"] / facts["sites"] for name, split in facts["splits"].items()}
    assert shares == pytest.approx({"train": 0.7, "valid": 0.1, "test": 0.2}, abs=0.03)


def test_a_model_has_the_site_and_the_organisms_of_its_dataset(tmp_path, seqmtl):
    for name, seed in (("x", 13), ("y", 14)):
        write_inputs(tmp_path, *make_genome(seed, n_genes=60, n_contigs=6), name=name)
    (tmp_path / "config.toml").write_text(config_text("shift = 2", organisms=("x", "y")))
    folder, model, scores = (tmp_path / name for name in ("out", "m.seqmtl", "scores.tsv"))
    seqmtl(f"dataset {tmp_path}/config.toml -o {folder} -q")
    windows = read_dataset(folder, split="train")
    site = read_summary(folder)["site"]
    assert site == {"offset": 7, "length": 2, "letters": "GT", "signal": "donor"}
    assert {s[7:9] for s in windows.sequences()} == {"GT"}
    options = "--features wd:2,kmers:3/inf --window 13 --shift -1 -q"
    seqmtl(f"train {folder} -o {model} {options}")
    loaded = MultiTaskModel.load(model)
    assert (loaded.site.offset, loaded.site.signal) == (4, "donor")
    assert loaded.training["dataset"] == {"path": str(folder), "signal": "donor"}
    assert {s[4:6] for s in windows.center(13, -1).sequences()} == {"GT"}
    trimers = loaded.position_weights("x")[2][: loaded.length - 2]
    parts = np.split(trimers, [loaded.site.offset])  # what a 3-mer adds up- and downstream
    assert all((part == part[0]).all() and part.any() for part in parts)
    assert (parts[0][0] != parts[1][0]).any()
    seqmtl(f"predict {model} {folder}/windows.tsv --organism y -o {scores} -q")
    n_test = sum(r["split"] == "test" and r["organism"] == "y" for r in read_rows(tmp_path))
    assert len(scores.read_text().splitlines()) == 1 + n_test


def test_words_of_decoys_are_as_common_as_among_candidates(tmp_path):
    contigs, genes = make_genome(4)
    letters = {name: list(text) for name, text in contigs.items()}
    for contig, strand, exons in genes[::3]:  # a third of the donors are GC
        place = exons[0][1] + 1 if strand == "+" else exons[1][0] - 2
        letters[contig][place] = "C" if strand == "+" else "G"
    contigs = {name: "".join(text) for name, text in letters.items()}
    write_inputs(tmp_path, contigs, genes)
    tables = '[sites]\nconsensus = ["GT", "GC"]\n[decoys]\nclearance = 1\nratio = 20\n'
    summary = build(tmp_path, config_text(tables=tables + "[split]\ntest = 0.0\nvalid = 0.0"))
    rows = read_rows(tmp_path)
    sites = Counter(row["name"] for row in rows if row["label"] == "1")
    assert sites["donor:GC"] > 5
    decoys = Counter(row["name"][-2:] for row in rows if row["label"] == "-1")
    every = {word: all_candidates(contigs, word) - annotated(genes) for word in ("GT", "GC")}
    share = len(every["GC"]) / sum(map(len, every.values()))
    assert decoys["GC"] / decoys.total() == pytest.approx(share, abs=0.005)
    for word in every:  # weights count the candidates of each word
        weights = [float(r["weight"]) for r in rows if r["name"] == f"decoy:{word}"]
        assert sum(weights) == pytest.approx(len(every[word]), rel=0.02)
    assert summary["organisms"]["x"]["decoys_lacking"] == 0


@pytest.mark.parametrize("by", ["contigs", "blocks"])
def test_both_ends_of_introns_have_the_same_splits(tmp_path, seqmtl, by):
    """The second exon of every gene runs over the end of a block now and then."""
    contigs, genes = make_genome(3, n_genes=80, length=4000, n_contigs=8)
    write_inputs(tmp_path, contigs, genes)
    (tmp_path / "x.toml").write_text(config_text(tables=f'[split]\nby = "{by}"\nblock = 1000'))
    regions = []
    for signal in ("donor", "acceptor"):
        out = tmp_path / f"{by}.{signal}"
        seqmtl(f"dataset {tmp_path}/x.toml --signal {signal} -o {out} -q")
        regions.append((out / "regions.tsv").read_text())
    assert regions[0] == regions[1]
    splits = {line.split("\t")[3] for line in regions[0].splitlines()[1:]}
    assert splits == {"train", "valid", "test"}


def test_masked_regions_have_neither_sites_nor_decoys(tmp_path):
    contigs, genes = make_genome(4)
    write_inputs(tmp_path, contigs, genes)
    plain = build(tmp_path, config_text("seed = 1"))
    every = read_split_genome(tmp_path / "out", "x")
    assert every.masked.shape == (0, 2)
    mask = [("chr1", 2000, 4000), ("chr2", 0, 1500), ("chr1", 3500, 5000)]
    (tmp_path / "mask.bed").write_text("".join("{}\t{}\t{}\n".format(*row) for row in mask))
    found = build(tmp_path, config_text("seed = 1") + 'mask = "mask.bed"\n')

    def is_masked(contig, start):
        return any(contig == name and a <= start < b for name, a, b in mask)

    sites = [site_of(row) for row in read_rows(tmp_path)]
    assert not any(is_masked(contig, start) for contig, start, _ in sites)
    true = {own for own in annotated(genes) if is_masked(*own[:2])}
    rows = [row for row in read_excluded(tmp_path) if "site in a masked" in row["reason"]]
    assert {(row["contig"], int(row["start"]), row["strand"]) for row in rows} == true
    assert found["excluded"]["site in a masked region"] == len(true) > 3
    n_masked = found["excluded"]["candidate in a masked region"]
    before, after = (own["organisms"]["x"]["candidates"] for own in (plain, found))
    assert 0 < before - after <= n_masked
    # the regions and the sites say so, too: those of the mask are neither true nor false
    held = read_split_genome(tmp_path / "out", "x")
    assert_array_equal(held.regions, every.regions)
    starts = held.genome.starts
    expected = [(starts[0] + 2000, starts[0] + 5000), (starts[1], starts[1] + 1500)]
    assert held.masked.tolist() == [list(map(int, row)) for row in expected]
    starts, is_true = held.sites.starts, held.sites["is_true"]
    inside = np.any([(starts >= a) & (starts < b) for a, b in held.masked], axis=0)
    assert not is_true[inside].any()
    assert is_true[~inside].any()


@pytest.mark.parametrize(
    "words", [("GT",), ("GT", "GC"), ("TAA", "TAG", "TGA"), ("AC", "CA", "TT")]
)
def test_words_are_found_on_both_strands(words):
    letters = "".join(np.random.default_rng(3).choice([*"ACGTN"], 400))
    turned = [reverse_complement(word) for word in words]
    for is_reverse, of_strand in ((False, words), (True, turned)):
        k = len(words[0])
        texts = [letters[i : i + k] for i in range(400 - k + 1)]
        expected = [next((n for n, w in enumerate(of_strand) if w == text), -1) for text in texts]
        assert word_numbers(encode(letters), words, is_reverse).tolist() == expected
