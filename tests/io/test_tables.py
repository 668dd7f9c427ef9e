"""Windows from tables."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl._messages import forget_logged
from seqmtl.exceptions import InputFormatError, MemoryLimitError
from seqmtl.files.streams import BLOCK_BYTES
from seqmtl.io import guess_format, is_table_of_windows, read_windows
from seqmtl.io.tables import read_windows_in_parts
from seqmtl.sequences import Windows

ROWS = [("worm", "1", "ACGTA"), ("fly", "-1", "acgnn"), ("worm", "-1", "TTTTT")]


def table(rows=ROWS, header=("organism", "label", "sequence"), end="\n", last=True) -> str:
    lines = ["\t".join(header), *("\t".join(row) for row in rows)]
    return end.join(lines) + (end if last else "")


def rows_of(windows) -> list[tuple[str, int, str]]:
    return list(zip(windows.tasks, windows.labels.tolist(), windows.sequences(), strict=True))


EXPECTED = [("worm", 1, "ACGTA"), ("fly", -1, "ACGNN"), ("worm", -1, "TTTTT")]


def test_columns_may_come_in_any_order_and_be_left_out(write, monkeypatch):
    rows = [("x", "ACGTA", "", "1", "worm", "n 1"), ("y", "CCCCC", "?", "+1", "fly", "n2")]
    header = ("other", "sequence", "more", "label", "organism", "name")
    windows = read_windows(write(table(rows, header)))
    assert rows_of(windows) == [("worm", 1, "ACGTA"), ("fly", 1, "CCCCC")]
    assert windows.names.tolist() == ["n 1", "n2"]
    assert windows[1:].names.tolist() == ["n2"]
    path = write("sequence\nACGT\n\nTTTT\n")
    windows = read_windows(path, organism="worm", require_labels=False)
    assert rows_of(windows) == [("worm", 0, "ACGT"), ("worm", 0, "TTTT")]
    assert read_windows(path, require_labels=False).task_names == ("task",)  # as in FASTA
    with pytest.raises(InputFormatError, match="the column 'label'"):
        read_windows(path)
    windows = read_windows(write(table()), organism="yeast")
    assert windows.task_names == ("yeast",)
    for pack in (bytes, gzip.compress):
        raw = io.BufferedReader(io.BytesIO(pack(table().encode())))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
        assert guess_format("-") == "table"  # a look consumes nothing
        assert rows_of(read_windows("-")) == EXPECTED


def test_window_takes_the_centre_of_sequences_of_any_length(write):
    sequences = ["ACGTACGTA", "TTACGTT", "GGGACC"]
    path = write(table([("w", "1", sequence) for sequence in sequences]))
    windows = read_windows(path, window=4)
    assert windows.sequences() == [s[(len(s) - 4) // 2 :][:4] for s in sequences]
    assert windows.codes.size == 12
    with pytest.raises(InputFormatError, match="at least the window's 7 bases, got 6") as caught:
        read_windows(path, window=7)
    assert caught.value.line == 4
    with pytest.raises(ValueError, match="window must be 1 or more, got 0"):
        read_windows(path, window=0)


def test_formats_are_told_by_the_first_bytes(write):
    for content, is_fasta, is_table in (
        (">a\nAC\n", True, False),
        ("\n  >a\nAC\n", True, False),
        ("\ufeff>a\n", True, False),
        (gzip.compress(b">a\nAC\n"), True, False),
        (">organism\tsequence\nAC\n", True, False),
        (table(), False, True),
        ("\ufeff\n sequence \tsplit\torganism\r\nACGT", False, True),
        (gzip.compress(table().encode()), False, True),
        (table().replace("\t", ","), False, True),
        ('"organism","sequence"\r\n"a","AC"\r\n', False, True),
        ("organism;sequence\n", False, False),
        ("task\tlabel\tsequence\n", False, False),
        ("", False, False),
        (b"\x1f\x8bxx", False, False),
        (b"PK\x03\x04\x00", False, False),
    ):
        path = write(content)
        assert guess_format(path) == ("fasta" if is_fasta else "table")
        assert is_table_of_windows(path) is is_table


def test_blank_lines_are_skipped_and_still_counted(write):
    lines = table().split("\n")
    path = write("\n\n" + lines[0] + "\n\n" + lines[1] + "\n\t\n  \n" + lines[2] + "\n\n\n")
    assert rows_of(read_windows(path)) == EXPECTED[:2]
    broken = path.read_text() + "worm\t1\n"
    with pytest.raises(InputFormatError, match="3 tab-separated fields like the first, got 2") as e:
        read_windows(write(broken))
    assert e.value.line == 11


def test_csv_is_read_as_the_same_rows_between_tabs(write):
    rows = [*ROWS, ("worm, the", "1", "GGGGG"), ('a "fly"', "0", "CCCCC")]
    rows = [(name, label.replace("-1", "0"), letters) for name, label, letters in rows]
    expected = rows_of(read_windows(write(table(rows))))
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("organism", "label", "sequence"), *rows])
    assert '"worm, the",1,GGGGG\r\n"a ""fly""",0,' in text.getvalue()
    assert rows_of(read_windows(write(text.getvalue()))) == expected
    assert rows_of(read_windows(write(gzip.compress(text.getvalue().encode())))) == expected
    windows = read_windows(write("sequence,label\r\nACGT,1\r\nTTTT,0\r\n"))
    assert rows_of(windows) == [("task", 1, "ACGT"), ("task", -1, "TTTT")]


def letters_of(alphabet, shortest, longest):
    """Return a strategy of sequences; NA and NAN are missing values in a table."""
    texts = st.text(alphabet, min_size=shortest, max_size=longest)
    return texts.filter(lambda text: text.upper() not in ("NA", "NAN"))


SEQUENCES = st.lists(letters_of("ACGTNacgt", 1, 12), min_size=1, max_size=9)


@settings(max_examples=50)
@given(SEQUENCES, st.none() | st.integers(1, 14), st.booleans())
def test_padded_sequences_begin_at_their_first_base(sequences, window, is_fasta):
    length = window or max(map(len, sequences))
    expected = []
    for letters in sequences:
        first = max(0, (len(letters) - length) // 2)
        cut = letters[first : first + length].upper()
        expected.append(cut + "N" * (length - len(cut)))
    text = table([("w", "1", letters) for letters in sequences])
    if is_fasta:
        text = "".join(f">{i} label=1\n{letters}\n" for i, letters in enumerate(sequences))
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(text)
        file.flush()
        windows = read_windows(file.name, window=window, pad=True)
    assert windows.sequences() == expected
    assert windows.names.tolist() == [str(i) for i in range(len(sequences))]
    if window is None:
        assert Windows.from_strings(sequences, pad=True).sequences() == expected


def test_padded_windows_have_their_rows_splits_and_sites(write):
    header = ("label", "sequence", "split", "site")
    rows = [("1", "ACG", "train", "2"), ("-1", "A" * 99, "test", "2"), ("-1", "GGGT", "train", "2")]
    path = write(table(rows, header))
    windows = read_windows(path, pad=True, split="train")
    assert rows_of(windows) == [("task", 1, "ACGN"), ("task", -1, "GGGT")]
    assert (windows.site, windows.names.tolist()) == (2, ["0", "2"])
    for bad, message in ((("1", "AC", "x", "1"), "at base 2 as"), (("1", "", "x", "0"), "empty")):
        with pytest.raises(InputFormatError, match=message):
            read_windows(write(table([*rows, bad], header)), pad=True)


def test_padding_that_does_not_fit_names_the_longest_sequence(write, monkeypatch):
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 5_000)
    texts = ["AC", "A" * 1000, *["AC"] * 9]
    path = write(table([("a", "1", letters) for letters in texts]))
    with pytest.raises(MemoryLimitError, match=r"11 sequences of up to 1000 bases \(.*:3\)"):
        read_windows(path, pad=True)
    path = write("".join(f">x{i} label=1\n{letters}\n" for i, letters in enumerate(texts)))
    with pytest.raises(MemoryLimitError, match=r"bases \(.*:3\)"):
        read_windows(path, pad=True)
    with pytest.raises(MemoryLimitError, match=r"\(sequence 1\) would .* leave them out"):
        Windows.from_strings(texts, pad=True)


def test_a_sequence_10000_times_as_long_as_the_others_is_refused(write):
    texts = [*["ACGT"] * 600, "ACGT" * 50_000]
    path = write(table([("a", "1", letters) for letters in texts]))
    about = r"601 sequences of up to 200000 bases \(.*:602\): half have at most 4, and all would be"
    with pytest.raises(MemoryLimitError, match=about):
        read_windows(path, pad=True)


def test_one_far_longer_sequence_is_told(write, caplog):
    texts = [*["ACGT"] * 30, "ACGT" * 500, *["ACG"] * 30]
    path = write(table([("a", "1", letters) for letters in texts]))
    read_windows(path, pad=True)
    about = "61 sequences of up to 2000 bases \\(.*:32\\): half have at most 4 bases, and all"
    assert re.search(f"{about} are padded to 2000, which takes 55 times the memory", caplog.text)
    caplog.clear()
    read_windows(write(table([("a", "1", letters[:90]) for letters in texts])), pad=True)
    assert not caplog.text


def test_a_file_has_one_note(write, caplog):
    caplog.set_level("INFO")
    rows = [("1", "ACGTA"[: 2 + i % 4], "train" if i % 3 else "test") for i in range(10)]
    path = write(table(rows, ("label", "sequence", "split")))
    for n in (3, 100):
        caplog.clear()
        forget_logged()
        for _ in range(2):  # as training on disk does, to find the longest
            parts = [*read_windows_in_parts(path, n, pad=True, split="train")]
        assert sum(map(len, parts)) == 6
        assert [record.getMessage() for record in caplog.records] == [
            f"{path} has no column organism: all rows are of one",
            f"{path}: kept 6 of 10 rows, at most 5 bases each",
        ]


SPLIT = [
    ("worm", "1", "AAAAA", "train"),
    ("fly", "-1", "CCCCC", "test"),
    ("ant", "-1", "GGGGG", "train"),
    ("fly", "1", "TTTTT", "na"),
]
SPLIT_HEADER = ("organism", "label", "sequence", "split")


def test_tables_as_other_programs_write_them(write):
    expected = [("task", 1, "ACGT"), ("task", -1, "TTTT")]
    r = '"sequence"\t"label"\t"name"\n"ACGT"\t1\t"a"\n"TTTT"\t0\t"x ""y"""\n'
    windows = read_windows(write(r))
    assert rows_of(windows) == expected
    assert windows.names.tolist() == ["a", 'x "y"']
    for text in (
        "\ufeffsequence,label\nACGT,1\nTTTT,0\n",  # a mark of the byte order
        "# exported\n\n#more,text\nsequence,label\nACGT,1\nTTTT,0\n",
        ",sequence,label,,\n0,ACGT,1.0,,\n1,TTTT,0.0,,\n",  # an index, and empty columns
        "sequence\tlabel\rACGT\t1\rTTTT\t0\r",
    ):
        assert rows_of(read_windows(write(text))) == expected
    plain = "sequence\tlabel\tname\nACGT\t1\t\"5' end\nTTTT\t0\tb\n"
    assert read_windows(write(plain)).names.tolist() == ["\"5' end", "b"]


def test_blanks_around_names_do_not_count(write):
    path = write("organism,sequence,label,split\nfly ,AC,1,train \nfly,GT,0,train\nbee,TT,1,test\n")
    windows = read_windows(path, split="train")
    assert rows_of(windows) == [("fly", 1, "AC"), ("fly", -1, "GT")]
    assert windows.split_names == ("train", "test")


@pytest.mark.parametrize("name", ["weight", "Weights", "sample_weight"])
def test_a_column_of_weights_is_said_to_be_not_read(write, caplog, name):
    path = write(table([(*row, "2") for row in ROWS], ("organism", "label", "sequence", name)))
    for _ in range(2):
        assert rows_of(read_windows(path)) == EXPECTED
    assert caplog.text.count(f"the column '{name}' is not read, so all rows count alike") == 1
    caplog.clear()
    read_windows(path, require_labels=False)
    assert not caplog.text


def test_an_organism_may_have_the_name_of_a_missing_value(write):
    rows = [("NA", label, sequence) for _, label, sequence in ROWS]
    assert read_windows(write(table(rows))).task_names == ("NA",)


def test_a_split_by_another_name_is_not_ignored(write):
    for name in ("Split", "splits", "set", "fold", "Partition"):
        path = write(f"sequence,label,{name}\nACGT,1,train\nTTTT,0,test\n")
        with pytest.raises(
            InputFormatError, match=f"named 'split', got '{name}'; rename it, or us"
        ):
            read_windows(path, split="train")
        assert len(read_windows(path)) == 2  # all rows
    path = write("sequence,label,size\nACGT,1,3\nTTTT,0,4\n")
    assert len(read_windows(path, split="train")) == 2


def test_split_keeps_only_its_rows(write):
    path = write(table(SPLIT, SPLIT_HEADER))
    windows = read_windows(path, split="train")
    assert rows_of(windows) == [("worm", 1, "AAAAA"), ("ant", -1, "GGGGG")]
    assert windows.task_names == ("worm", "ant")
    assert windows.names.tolist() == ["0", "2"]
    assert windows.split.tolist() == ["train", "train"]
    assert windows.codes.size == 10
    assert len(read_windows(write(table(), "bare.tsv"), split="train")) == 3  # no such column
    everything = read_windows(path)
    assert everything.split.tolist() == ["train", "test", "train", "na"]
    assert everything.select_split("test").sequences() == ["CCCCC"]
    message = r"train \(2 rows\), test \(1 rows\), na \(1 rows\), got 'valid'"
    with pytest.raises(InputFormatError, match=message):
        read_windows(path, split="valid")
    path = write(table([*SPLIT, ("fly", "7", "ACGTA", "test")], SPLIT_HEADER))
    with pytest.raises(InputFormatError, match="label must be"):  # rows of other splits, too
        read_windows(path, split="train")


def naive(text: str, window: int | None, split: str | None):
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
    header = lines[0].split("\t")
    found = []
    for number, line in enumerate(lines[1:]):
        row = dict(zip(header, line.split("\t"), strict=True))
        if split is not None and row["split"] != split:
            continue
        sequence = row["sequence"].upper()
        width = window or len(sequence)
        left = (len(sequence) - width) // 2
        letters = "".join(c if c in "ACGT" else "N" for c in sequence[left : left + width])
        label = 1 if row["label"].endswith("1") and row["label"] != "-1" else -1
        found.append((row["organism"], label, letters, row["split"], str(number)))
    return found


names = st.text(alphabet="abcdé_. -", min_size=1, max_size=20).filter(lambda s: s.strip() == s)


def organism(name):
    """Return something that differs for names of two organisms: a genus counts as its initial."""
    words = name.translate(str.maketrans("_.-", "   ")).split()
    return (words[0][0], *words[1:]) if len(words) > 1 else tuple(words)


@settings(max_examples=50)
@given(st.data())
def test_random_tables_agree_with_a_naive_reader(tmp_path_factory, data):
    order = data.draw(st.permutations(["organism", "label", "sequence", "split", "extra"]))
    n = data.draw(st.integers(1, 25))
    negative = data.draw(st.sampled_from(["-1", "0"]))
    pool = data.draw(st.lists(names, min_size=1, max_size=6, unique_by=organism))
    length = data.draw(st.integers(3, 9))
    lines = ["\t".join(order)]
    for _ in range(n):
        bases = length + data.draw(st.integers(0, 6))
        row = {
            "organism": data.draw(st.sampled_from(pool)),
            "label": data.draw(st.sampled_from(["1", "+1", negative])),
            "sequence": data.draw(letters_of("ACGTNacgtnRYk", bases, bases)),
            "split": data.draw(st.sampled_from(["train", "test"])),
            "extra": data.draw(st.sampled_from(["", "7", "ACGT", "#x"])),
        }
        lines.append("\t".join(row[name] for name in order))
        if data.draw(st.integers(0, 9)) == 0:
            lines.append("")
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(lines) + data.draw(st.sampled_from(["", end]))
    path = tmp_path_factory.mktemp("tables") / "data.tsv"
    path.write_bytes(text.encode())
    split = data.draw(st.sampled_from([None, "train", "test"]))
    window = data.draw(st.integers(1, length))
    expected = naive(text, window, split)
    if not expected:
        with pytest.raises(InputFormatError, match="split must be one of"):
            read_windows(path, window=window, split=split)
        return
    n_rows = data.draw(st.integers(1, 30))
    parts = list(read_windows_in_parts(path, n_rows, window=window, split=split))
    windows = read_windows(path, window=window, split=split)
    assert [name for part in parts for name in part.names] == windows.names.tolist()
    assert [row for part in parts for row in rows_of(part)] == rows_of(windows)
    found = [
        (task, label, letters, part, name)
        for (task, label, letters), part, name in zip(
            rows_of(windows), windows.split, windows.names, strict=True
        )
    ]
    assert found == expected
    assert list(windows.task_names) == list(dict.fromkeys(row[0] for row in expected))


def test_reading_costs_little_more_than_what_is_kept(tmp_path):
    import tracemalloc

    rng = np.random.default_rng(0)
    path = tmp_path / "data.tsv.gz"
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (20_000, 400))]
    with gzip.open(path, "wt", compresslevel=1) as handle:
        handle.write("organism\tlabel\tsequence\n")
        handle.writelines(f"worm\t1\t{row.tobytes().decode()}\n" for row in letters)
    tracemalloc.start()
    windows = read_windows(path, window=40)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert windows.codes.nbytes == 800_000
    assert peak < 2 * windows.codes.nbytes + 16 * len(windows) + 10 * BLOCK_BYTES


BAD = [
    ("", "must hold records or rows, but it is empty", None),
    ("\n \n", "it is empty", None),
    (table([]), "it has only a header", None),
    (table(header=("organism", "Label", "sequence")), "rename 'Label' to 'label'", 1),
    (table(header=("organism", "label", "seq")), "rename 'seq' to 'sequence'", 1),
    ("ACGTAC,1\nTTGTAC,0\n", "looks like a row; write a header above it", 1),
    (table(header=("species", "label", "sequence")), "'organism', got 'species'; rename it", None),
    (table(header=("Organisms", "label", "sequence")), "got 'Organisms'; rename it", None),
    (table(header=("Site", "label", "sequence"), rows=[("1", "1", "AC")]), "got 'Site'", None),
    ("@r1\nACGT\n+\nIIII\n", "looks like FASTQ", 1),
    ("\n" + '[{"sequence": "ACGT", "label": 1}]', "looks like JSON", 2),
    ('"sequence" "label"\n"1" "ACGT" 1\n', "separate the columns by tabs", 1),
    ("c\tx\tgene\t1\t9\t.\t+\t.\tx\n", "this looks like GFF or GTF", 1),
    ("@HD\tVN:1.6\n", "looks like SAM", 1),
    ("##fileformat=VCFv4.2\n#CHROM\tPOS\n1\t5\n", "VCF, which is for seqmtl variants", 1),
    ("##gff-version 3\nc\tx\tgene\t1\t9\t.\t+\t.\t.\n", "looks like GFF3", 1),
    ("LOCUS       X 5 bp DNA\n", "looks like GenBank", 1),
    ("ID   X; SV 1\n", "looks like EMBL", 1),
    ("\n <!DOCTYPE html>\n", r"the file is HTML or XML \(was it downloaded from the right", None),
    ("version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS", None),
    ("# note\n# more\n", "it is empty", None),
    ("#sequence,label\nACGT,1\n", "rename '#sequence' to 'sequence'", 1),
    ('"sequence"\t"label"\n"1"\t"ACGT"\t1\n', "got 3; .*row.names = FALSE", 2),
    (table().replace("\t", ";"), "separate the columns by tabs", 1),
    ("sep=,\n" + table().replace("\t", ","), "add a column named", 1),
    (table([*ROWS, ("worm", "1", '"ACGTA')]).replace("\t", ","), "quotes must end on its line", 5),
    (table([*ROWS, ("worm", "1")]).replace("\t", ","), "3 comma-separated fields .* got 2", 5),
    (table([*ROWS, ("worm", "2", "ACGTA")]), "label must be 1, -1 or 0, got '2'", 5),
    (table([("a", "0", "AC"), ("a", "-1", "AC")]), "0 on line 2 and -1 on line 3", 3),
    (table([*ROWS, ("worm", "1", "ACG")]), "got 3 bases here and 5 on line 2.*at most 3", 5),
    (table([*ROWS, ("worm", "1", "")]), "sequence must not be empty", 5),
    (table([*ROWS, ("worm", "1", "ACEFT")]), "got 'E' at letter 3; correct the sequence", 5),
    (table([*ROWS, ("worm", "1", "MKLHE")]), "got 'L' at letter 3; this looks like a protein", 5),
    (table([*ROWS, ("worm", "1", "AC TA")]), "got ' ' at letter 3", 5),
    (table([*ROWS, ("", "1", "ACGTA")]), "organism must not be empty", 5),
    (table([*ROWS, ("NA", "1", "ACGTA")]), "organism must not be missing, got 'NA'; fill", 5),
    (table([*ROWS, ("worm", "1", "NaN")]), "sequence must not be missing, got 'NaN'; fill", 5),
    (table([*ROWS, ("worm", "1", "None")]), "sequence must not be missing, got 'None'; fill", 5),
    (table([*ROWS, ("w" * 300, "1", "ACGTA")]), "at most 255 bytes, got 300", 5),
    ("label\torganism\tlabel\tsequence\n", "column once, got 'label' again; rename one", 1),
]


@pytest.mark.parametrize(("content", "message", "line"), BAD)
def test_bad_tables_are_refused(write, content, message, line):
    path = write(content)
    place = f"{path}:{line}: " if line else f"{path}: "
    for read in (read_windows, lambda path: list(read_windows_in_parts(path, 1))):
        with pytest.raises(InputFormatError, match=message) as caught:
            read(path)
        assert str(caught.value).startswith(place)


def test_a_real_table(shared_data):
    path, length = shared_data / "celegans_acceptor" / "celegans_acceptor.tsv.gz", 398
    windows = read_windows(path)
    assert windows.shape == (99_909, length)
    assert int((windows.labels > 0).sum()) == 3_297
    with gzip.open(path, "rt") as handle:
        header = next(handle).rstrip("\n").split("\t")
        place = {column: i for i, column in enumerate(header)}
        for i, line in enumerate(handle):
            if i % 997 == 0:
                row = line.rstrip("\n").split("\t")
                one = windows[i]
                assert one.sequences() == [row[place["sequence"]]]
                assert one.tasks[0] == row[place["organism"]]
                assert one.labels[0] == int(row[place["label"]])
                assert one.split[0] == row[place["split"]]
    part = read_windows(path, window=41, split="test")
    whole = windows.select_split("test")
    assert np.array_equal(part.matrix(), whole.matrix()[:, (length - 41) // 2 :][:, :41])
    assert part.names.tolist() == whole.names.tolist()


def test_the_site_is_that_of_a_column_of_an_argument_or_unknown(write):
    head = "organism\tlabel\tsequence\tsite"
    rows = [("x", "1", "ACGTAC", "3"), ("x", "-1", "AACGTACC", "4")]
    path = write("\n".join([head, *("\t".join(row) for row in rows)]) + "\n")
    windows = read_windows(path, window=4)  # the central bases have it at one base
    assert (windows.sequences(), windows.site) == (["CGTA", "CGTA"], 2)
    (around,) = read_windows_in_parts(path, window=8, base=6)
    assert (around.sequences(), around.site) == (["NNNACGTA", "NNAACGTA"], 6)
    path = write(path.read_text().replace("\t4\n", "\t5\n"))
    with pytest.raises(InputFormatError, match=r":3: the site must be at base 2 as on line 2, got"):
        read_windows(path, window=4)
    (around,) = read_windows_in_parts(path, window=3, base=0)
    assert around.sequences() == ["TAC", "ACC"]
    for site, message in (
        ("x", r":3: site .* must be a whole"),
        ("8", r":3: site must be .* got 8"),
    ):
        path = write(path.read_text().replace("\t5\n", f"\t{site}\n"))
        with pytest.raises(InputFormatError, match=message):
            read_windows(path, window=4)
        path = write(path.read_text().replace(f"\t{site}\n", "\t5\n"))
    assert read_windows(write(table()), site=0).site == 0
    assert read_windows(write(table())).site is None
