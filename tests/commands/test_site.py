"""Windows cut anywhere around a site: every command reports the very base of it."""

import json
import re

import numpy as np
import pytest

from seqmtl import MultiTaskClassifierCV, MultiTaskSVC, PositionalKmers, Windows, load
from seqmtl.files.model_file import read_arrays
from seqmtl.io import read_windows
from tests.oracles.annotation import reverse_complement

LENGTH, GAP, N_SITES = 60, 150, 80
#: What is around a site, "|" before its first base, the words of which one begins there, and the
#: bases of its interval.
SIGNALS = {
    "donor": ("CAG|AAGTAT", ["GT"], 2),
    "stop": ("GGCTCC|ATTGC", ["TAA", "TAG", "TGA"], 3),
    "tss": ("TATAAAGGCGGCC|AGTTC", ["A", "G"], 1),
}


def genome_of(signal, rng):
    """Return a genome with sites on both strands: letters, and first base and strand of each."""
    around, words, _ = SIGNALS[signal]
    before, after = around.split("|")
    letters = list("".join(rng.choice(list("ACGT"), GAP * (N_SITES + 2))))
    sites = []
    for i in range(N_SITES):
        near = [
            "".join(np.where(rng.random(len(t)) < 0.8, list(t), rng.choice(list("ACGT"), len(t))))
            for t in (before, after)
        ]
        text, place = near[0] + rng.choice(words) + near[1], len(before)
        first, is_reverse = GAP * (i + 1) + int(rng.integers(40)), bool(i % 2)
        if is_reverse:
            text, place = reverse_complement(text), len(text) - 1 - place
        letters[first : first + len(text)] = text
        sites.append((first + place, is_reverse))
    return "".join(letters), sites


def cut(letters, site, offset, length=LENGTH):
    """Return the window in which a site is at a base."""
    base, is_reverse = site
    if is_reverse:
        return reverse_complement(letters[base + 1 - length + offset : base + 1 + offset])
    return letters[base - offset : base - offset + length]


def decoys_of(signal, letters, sites, rng, *, has_letters):
    """Draw places on both strands that are no sites, with their letters or anywhere."""
    words = tuple(SIGNALS[signal][1])
    found = []
    while len(found) < 4 * N_SITES:
        place = int(rng.integers(LENGTH, len(letters) - LENGTH)), bool(rng.integers(2))
        if place not in sites and (not has_letters or cut(letters, place, 0).startswith(words)):
            found.append(place)
    return found


def table_of(letters, sites, decoys, offset, length=LENGTH):
    rows = [(1, cut(letters, s, offset, length)) for s in sites]
    rows += [(-1, cut(letters, s, offset, length)) for s in decoys]
    return "organism\tlabel\tsequence\n" + "".join(f"x\t{y}\t{text}\n" for y, text in rows)


@pytest.fixture
def case(tmp_path, monkeypatch, seqmtl):
    """Return a function that writes a genome and windows, and trains."""
    monkeypatch.chdir(tmp_path)

    def make(signal, offset, *, has_letters=True, options="", code=0):
        rng = np.random.default_rng(7)
        letters, sites = genome_of(signal, rng)
        decoys = decoys_of(signal, letters, sites, rng, has_letters=has_letters)
        (tmp_path / "g.fa").write_text(f">c\n{letters}\n")
        (tmp_path / "w.tsv").write_text(table_of(letters, sites, decoys, offset))
        quick = "--selection none --features wd:4 -C 1"
        told = seqmtl(f"train w.tsv {quick} {options} -o m.seqmtl", code).err
        return letters, sites, decoys, told

    return make


def called(tmp_path, sites, length):
    """Return for every site the best call near it on its strand: its first base in reading."""
    rows = [line.split("\t") for line in (tmp_path / "calls.bed").read_text().splitlines()]
    rows = [row for row in rows if not row[0].startswith("#")]
    assert {int(row[2]) - int(row[1]) for row in rows} == {length}
    found = []
    for base, is_reverse in sites:
        strand = "-" if is_reverse else "+"
        firsts = [(float(r[6]), int(r[2]) - 1 if is_reverse else int(r[1]), r[5]) for r in rows]
        near = [f for f in firsts if f[2] == strand and abs(f[1] - base) < 25]
        found.append((max(near)[1], is_reverse))
    return found


@pytest.mark.parametrize(
    ("signal", "offset", "has_letters"),
    [
        ("donor", 12, True),
        ("donor", 44, False),
        ("stop", 44, True),
        ("stop", 12, False),
        ("tss", 12, True),
        ("tss", 44, False),
    ],
)
def test_the_best_call_is_the_true_base(signal, offset, has_letters, case, tmp_path, seqmtl):
    is_given = len(SIGNALS[signal][1][0]) == 1
    options = f"--site {offset}" if is_given else ""
    _, sites, _, told = case(signal, offset, has_letters=has_letters, options=options)
    assert re.search(rf"site begins at base {offset} of {LENGTH} \(0-based\): ", told)
    length = SIGNALS[signal][2]
    assert vars(load("m.seqmtl").site).items() >= {"offset": offset, "length": length}.items()
    seqmtl("scan m.seqmtl g.fa --organism x --threshold -100 -o calls.bed")
    assert called(tmp_path, sites, length) == sites


def test_without_a_site_labels_choose_features_and_given_ones_are_refused(case, tmp_path, seqmtl):
    unknown = r"site of the windows of 60 bases is unknown.*give .* with --site"
    assert re.search(unknown, case("tss", 44, code=1)[3])  # with --features
    assert not (tmp_path / "m.seqmtl").exists()
    told = seqmtl("train w.tsv -C 1 -o m.seqmtl").err
    # near the end, and in the words of those who have peaks, too
    assert re.search(
        r"have no common site.*cut around sites, give .* \(0-based\) with --site", told
    )
    assert told.splitlines()[-1].startswith("seqmtl: note: next: seqmtl evaluate m.seqmtl ")
    assert "unknown" not in told
    assert load("m.seqmtl").site.length == 0
    for wrong, message in (
        ("--site 60", "w.tsv:2: site must be a base of the sequence, 0 to 59, got 60"),
        ("--site 44 --window 20", "w.tsv:2: the site must be inside the window, got base 24 of"),
    ):
        assert message in case("tss", 44, code=1, options=wrong)[3]
    told = case("tss", 44, code=2, options="--site 44 --window 40 --shift -10")[3]
    assert "--window 40 --shift -10 cuts off the site" in told


def test_the_site_of_a_column_and_of_headers_is_kept_by_a_cut(case, tmp_path, seqmtl):
    case("tss", 44, options="--site 44 --window 40")
    assert load("m.seqmtl").site.offset == 34
    head, *rows = (tmp_path / "w.tsv").read_text().splitlines()
    table = "\n".join([f"{head}\tsite", *(f"{row}\t44" for row in rows)])
    (tmp_path / "s.tsv").write_text(table + "\n")
    records = [row.split("\t") for row in rows]
    texts = [f">{i} organism={r[0]} label={r[1]} site=44\n{r[2]}\n" for i, r in enumerate(records)]
    (tmp_path / "s.fa").write_text("".join(texts))
    for data in ("s.tsv", "s.fa"):
        windows = read_windows(data)
        assert (windows.site, windows[3:9].site, windows.center(40).site) == (44, 44, 34)
        told = seqmtl(f"train {data} --selection none --features wd:4 -C 1 -o c.seqmtl").err
        assert "site begins at base 44 of 60 (0-based): as given" in told
    bad = table.replace("\t44\n", "\t43\n", 3).replace("\t43\n", "\t44\n", 2)
    (tmp_path / "s.tsv").write_text(bad + "\n")
    with pytest.raises(ValueError, match=r"s.tsv:4: the site must be at base 44 as on line 2"):
        read_windows("s.tsv")
    (tmp_path / "s.fa").write_text("".join([texts[0], texts[1].replace(" site=44", "")]))
    with pytest.raises(ValueError, match=r"have site= in their headers or none; write"):
        read_windows("s.fa")


def test_python_has_the_site_of_windows(case):
    letters, sites, decoys, _ = case("tss", 44, options="--site 44")
    texts = [cut(letters, s, 44) for s in [*sites, *decoys]]
    y = [1] * len(sites) + [-1] * len(decoys)
    windows = Windows.from_strings(texts, y, ["x"] * len(y), site=44)
    assert MultiTaskSVC(features=PositionalKmers("wd:4")).fit(windows).model_.site.offset == 44
    assert windows.with_site_at(10, 30).sequences() == [text[34:] + "N" * 4 for text in texts]
    for other, remedy in (
        (windows.center(30), "got 30"),
        (windows.with_site_at(43, 60), "got base 43"),
    ):
        message = rf"{remedy}; cut them with Windows.with_site_at\(44, 60\)"
        with pytest.raises(ValueError, match=message):
            load("m.seqmtl").decision_function(other)
        assert load("m.seqmtl").decision_function(other.with_site_at(44, 60)).size == len(y)
    with pytest.raises(ValueError, match="site must be inside the windows of 60 bases"):
        Windows.from_strings(texts, y, site=60)
    with pytest.raises(ValueError, match="the site must be known to place windows"):
        Windows.from_strings(texts).with_site_at(10, 30)


def scores_of(path):
    return [float(line.split("\t")[2]) for line in path.read_text().splitlines()[1:]]


def test_python_finds_the_site_or_does_not_know_it_but_never_takes_the_middle(
    case, tmp_path, seqmtl
):
    """Windows of which nobody told where the site is: as on the command line, but scores go."""
    for signal in ("donor", "tss"):
        letters, sites, decoys, _ = case(signal, 44, options="--site 44")
        texts = [cut(letters, s, 44) for s in [*sites, *decoys]]
        y = [1] * len(sites) + [-1] * len(decoys)
        windows = Windows.from_strings(texts, y, ["x"] * len(y))
        model = MultiTaskClassifierCV(PositionalKmers("wd:4"), costs=[1.0]).fit(windows).model_
        model.save(tmp_path / "p.seqmtl")
        assert len(load("p.seqmtl").decision_function(windows)) == len(y)
        command = "scan p.seqmtl g.fa --organism x --threshold -100 -o calls.bed"
        if signal == "donor":
            assert model.site.offset == 44
            seqmtl(command)
            assert called(tmp_path, sites, 2) == sites
            continue
        told = "the model does not know which base of its windows is the site"
        assert told in seqmtl(command, 1).err
        assert told in seqmtl("explain p.seqmtl -o e", 1).err
        head, *rows = (tmp_path / "w.tsv").read_text().splitlines()
        table = "\n".join([f"{head}\tsite", *(f"{row}\t44" for row in rows)]) + "\n"
        (tmp_path / "s.tsv").write_text(table)
        assert told in seqmtl("predict p.seqmtl s.tsv --split all", 1).err
        assert "unknown" in seqmtl("info p.seqmtl").out


def arrays_of(path):
    return {name: array.tolist() for name, array in read_arrays(path)[1].items()}


@pytest.mark.parametrize(
    ("signal", "offset", "length"), [("donor", 20, 35), ("stop", 14, 60), ("tss", 20, 35)]
)
def test_other_windows_are_placed_at_the_site(signal, offset, length, case, tmp_path, seqmtl):
    """All commands take windows that are cut elsewhere as if N were where they lack bases."""
    is_given = len(SIGNALS[signal][1][0]) == 1
    letters, sites, decoys, _ = case(signal, 44, options="--site 44" if is_given else "")
    other = table_of(letters, sites, decoys, offset, length)
    head, *rows = other.splitlines()
    padded = [head]
    for row in rows:
        organism, label, text = row.split("\t")
        around = "N" * 60 + text + "N" * 60
        padded.append("\t".join([organism, label, around[60 + offset - 44 :][:60]]))
    other = "\n".join([f"{head}\tsite", *(f"{row}\t{offset}" for row in rows)]) + "\n"
    (tmp_path / "other.tsv").write_text(other)
    (tmp_path / "padded.tsv").write_text("\n".join(padded) + "\n")
    results = []
    for name in ("other", "padded"):
        data = f"m.seqmtl {name}.tsv --split all"
        seqmtl(f"predict {data} -o p.tsv")
        seqmtl(f"evaluate {data} --bootstrap 0 --json e.json")
        seqmtl(f"calibrate m.seqmtl {name}.tsv -o c.seqmtl")
        text = (tmp_path / f"{name}.tsv").read_text().replace("x\t", "z\t")
        (tmp_path / "new.tsv").write_text(text)
        seqmtl("adapt m.seqmtl new.tsv --organism z --like x -o a.seqmtl")
        metrics = json.loads((tmp_path / "e.json").read_text())["tasks"]
        found = [scores_of(tmp_path / "p.tsv"), metrics, arrays_of("c.seqmtl")]
        results.append([*found, arrays_of("a.seqmtl")])
    assert results[0] == results[1]
    assert len(set(results[0][0])) > N_SITES


def test_shorter_windows_whose_site_is_unknown_are_refused(case, tmp_path, seqmtl):
    letters, sites, decoys, _ = case("tss", 44, options="--site 44")
    (tmp_path / "short.tsv").write_text(table_of(letters, sites, decoys, 20, 35))
    told = seqmtl("predict m.seqmtl short.tsv --split all", 1).err
    assert "windows of 35 bases are shorter than the model's 60, and their site is" in told
    assert "in a column site" in told
    both = table_of(letters, sites, decoys, 44) + "x\t1\tACGT\n"
    (tmp_path / "mixed.tsv").write_text(both)
    told = seqmtl("predict m.seqmtl mixed.tsv --split all", 1).err
    assert "at least the model's 60 bases, got 4; add a column site" in told
