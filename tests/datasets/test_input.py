"""What can be wrong with the input of a dataset, and with a dataset as input."""

import json
import shutil

import numpy as np
import pytest

from seqmtl import read_dataset
from seqmtl.datasets import read_config
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.io import is_dataset, read_summary
from tests.datasets.test_build import build, config_text, make_genome, read_rows, write_inputs


@pytest.fixture
def folder(tmp_path):
    """Return a folder with genome and annotation of two organisms, x and y."""
    write_inputs(tmp_path, *make_genome(1))
    write_inputs(tmp_path, *make_genome(2), name="y")
    return tmp_path


@pytest.fixture
def dataset(folder):
    build(folder, config_text(organisms=("x", "y")))
    return folder / "out"


WORDS = "[sites]\nconsensus = "
OF_JUNCTIONS = config_text().replace("annotation", "junctions")
#: Changes of a configuration that are refused, by the message.
BAD_CONFIGS = {
    "windw is not a key of this table .* did you mean 'window'": config_text("windw = 9"),
    "decoys.ration is not a key .* did you mean 'ratio'": config_text(
        tables="[decoys]\nration = 2"
    ),
    "allow_missing_contigs is not a key .*; move it to its table$": config_text(
        "allow_missing_contigs = true"
    ),
    "organisms.x.seed is not a key .*; move it to its table": config_text() + "seed = 2",
    "signal must be one of .* mean 'donor'": config_text().replace("donor", "doner"),
    "signal must be given, got None": config_text().replace('signal = "donor"', ""),
    "signal must be one of .*, got {'a': 1}": config_text().replace('"donor"', "{ a = 1 }"),
    "window must be an integer from 2 to .*, got 1": config_text().replace("21", "1"),
    "seed must be an integer from 0 to .*, got 1.5": config_text("seed = 1.5"),
    "shift must be such .* the window of 21, .*; choose a sm": config_text("shift = 10"),
    "sites.consensus must be one of canon": config_text(tables=WORDS + "'GT'"),
    "words of 2 of A, C, G, T for donor": config_text(tables=WORDS + "['GTA']"),
    "sites.sources must be a list of 1": config_text(tables="[sites]\nsources = 'a'"),
    "decoys.ratio must be a number from 0.01": config_text(tables="[decoys]\nratio = 0"),
    "in_genes must be a number from 0": config_text(tables="[decoys]\nin_genes = true"),
    "split.by must be one of auto, cont": config_text(tables="[split]\nby = 'chromosome'"),
    "split.test must be below 1 .*; leave a share": config_text(tables="[split]\ntest = 0.95"),
    "split.block must be an integer from 21": config_text(tables="[split]\nblock = 20"),
    r"decoys must be a table, got 3; write \[decoys\]": config_text(tables="decoys = 3"),
    "organisms must be given": 'signal = "donor"',
    r"at least one entry, got {}; add \[organisms.NAME\]": 'signal = "donor"\n[organisms]',
    "organisms.x.genome must be a file; .*, got .*z.fa": config_text().replace("x.fa", "z.fa"),
    "x.genome must be a file; .*, got '.*~/x.fa'; write the home folder in full: ~ is not exp": (
        config_text().replace("x.fa", "~/x.fa")
    ),
    "x.genom is not a key .* mean .genome.": config_text().replace("genome =", "genom ="),
    "anotation is not a key .* mean": config_text().replace("annotation =", "anotation ="),
    "x.annotation .*, got 'none of them'; give one": config_text().replace("annotation", "#"),
    "x.annotation .*, got 'annotation and s": config_text() + 'sites = "x.gff3"',
    "x.split.train is not a key": config_text() + "split = { train = ['chr1'] }",
    "spilt is not a key .* did you mean 'split'": config_text() + "spilt = { test = ['chr1'] }",
    "signals is not a key .* you mean 'signal'": config_text().replace("signal", "signals"),
    "organism is not a key .* mean 'organisms'": config_text().replace("organisms", "organism"),
    "letters, at most 255 bytes, got 'xxx": config_text().replace("s.x", f"s.{'x' * 256}"),
    "must be true or false, got 1": config_text() + "allow_missing_contigs = 1",
    "organisms must be named by .*; choose another name": config_text().replace("s.x", 's." "'),
    "must be named by printable .*, got 'a.tb'": config_text().replace("s.x", 's."a\\tb"'),
    "x.sources must be left out with sites, .* got": (
        config_text().replace("annotation", "sites") + "sources = ['a']"
    ),
    "x.sources must be left out with junctions": OF_JUNCTIONS + "sources = ['a']",
    "junctions.min_share must be a number": OF_JUNCTIONS + "[junctions]\nmin_share = 2",
    "junctions.min_reads must be an integer": OF_JUNCTIONS + "[junctions]\nmin_reads = 0",
    "organisms.x.junctions must be left out for tss": OF_JUNCTIONS.replace("donor", "tss"),
    "got 'worm', '6239' for the same organism; write": (
        config_text(organisms=("x", "y")).replace("s.x", "s.worm").replace("s.y", "s.6239")
    ),
    "the file is not TOML: Invalid value": "signal = ",
    "the file is not TOML: maximum recursion": "signal = " + "[" * 9999,
}


def test_errors_of_the_config_name_file_and_key(folder):
    path = folder / "config.toml"
    for message, text in BAD_CONFIGS.items():
        path.write_text(text)
        with pytest.raises(InputFormatError, match=message) as caught:
            read_config(path)
        assert caught.value.path == str(path)


def test_a_byte_order_mark_is_no_key(folder):
    (folder / "config.toml").write_text(config_text())
    expected = read_config(folder / "config.toml")
    (folder / "config.toml").write_text(config_text(), encoding="utf-8-sig")
    assert read_config(folder / "config.toml") == expected


def test_the_signal_of_the_command_line_wins(folder, caplog):
    text = config_text(tables='[sites]\nconsensus = ["gt", "GC"]\n[decoys]\nratio = 3')
    (folder / "config.toml").write_text(text)
    caplog.set_level("INFO")
    assert read_config(folder / "config.toml").sites.words == ("GT", "GC")
    config = read_config(folder / "config.toml", signal="acceptor")
    assert (config.signal, config.sites.words) == ("acceptor", ("AG",))
    assert "config.toml: sites.consensus is that of donor; acceptor sites are taken with AG" in (
        caplog.text
    )
    assert str(config.decoys.ratio) == "3.0"  # as the summary tells it
    with pytest.raises(ValueError, match=r"signal must be one of .*, got 'intron'"):
        read_config(folder / "config.toml", signal="intron")


def test_contigs_that_the_fasta_lacks(folder):
    text = (folder / "x.gff3").read_text()
    (folder / "x.gff3").write_text(text.replace("chr", ""))
    message = "genome's .chr1, chr2., got '1' .asked for: 1, 2.; the names match when 'chr' is add"
    with pytest.raises(InputFormatError, match=message) as caught:
        build(folder, config_text())
    assert caught.value.line == 2
    (folder / "names.tsv").write_text("1\tchr1\n2\tchr2\n")
    assert build(folder, config_text() + 'contig_names = "names.tsv"')["organisms"]["x"]["sites"]
    (folder / "x.gff3").write_text(text.replace("chr2", "scaffold_9"))
    with pytest.raises(InputFormatError, match=r"1 of 2 contigs with sites are missing: allow_mis"):
        build(folder, config_text())
    summary = build(folder, config_text() + "allow_missing_contigs = true")
    assert summary["excluded"]["contig that the FASTA lacks"] == 15
    (folder / "x.gff3").write_text(text.replace("chr", "scaffold_"))
    with pytest.raises(InputFormatError, match=r"contig must be one of the genome's"):
        build(folder, config_text() + "allow_missing_contigs = true")


@pytest.mark.parametrize("name", ["chr1.1", "Chr1", "gi|12|ref|chr1|", '"chr1"', "chr1 length=9"])
def test_contigs_that_are_named_in_another_way_are_suggested(folder, name):
    """RefSeq's versions, accessions between bars, quotes, other case, and the whole header."""
    text = (folder / "x.gff3").read_text()
    (folder / "x.gff3").write_text(text.replace("chr1\t", name + "\t"))
    message = (
        f"got {name!r} .* {name!r} may be 'chr1': rename one side, or name both sides in contig"
    )
    with pytest.raises(InputFormatError, match=message.replace("|", "[|]")):
        build(folder, config_text())


def test_the_annotation_of_another_genome(folder):
    shutil.copy(folder / "y.gff3", folder / "x.gff3")
    text = (folder / "x.gff3").read_text()
    (folder / "x.gff3").write_text(
        "\n".join(
            "\t".join([*f[:3], str(int(f[3]) + 7), str(int(f[4]) + 7), *f[5:]])
            if len(f := line.split("\t")) == 9
            else line
            for line in text.splitlines()
        )
    )
    with pytest.raises(InputFormatError, match=r"most donor sites must be GT, got .* genome's"):
        build(folder, config_text())


def test_the_annotation_of_a_longer_assembly(folder, caplog):
    """The genes of chr1 and chr2, of which half of chr2 is missing in the FASTA file."""
    contigs, genes = make_genome(1)
    write_inputs(folder, contigs | {"chr2": contigs["chr2"][:4000]}, genes)
    starts = [exons[0][1] if strand == "+" else exons[1][0] - 2 for _, strand, exons in genes]
    n = sum(c == "chr2" and s + 2 > 4000 for (c, _, _), s in zip(genes, starts, strict=True))
    build(folder, config_text())
    text = f"{n} of {len(genes)} donor sites are beyond the end of their contig and left out; is it"
    assert n > 5
    assert text in caplog.text


def test_crlf_and_gzip_give_the_same(folder):
    build(folder, config_text())
    expected = read_rows(folder)
    (folder / "x.gff3").write_bytes((folder / "x.gff3").read_bytes().replace(b"\n", b"\r\n"))
    build(folder, config_text().replace("\n", "\r\n"))
    assert read_rows(folder) == expected


def test_missing_files_and_named_splits(folder, seqmtl):
    assert "no.toml" in seqmtl(f"dataset {folder}/no.toml -o {folder}/d", 1).err
    text = config_text() + "split = { test = ['chr2'], valid = ['chr7'] }"
    with pytest.raises(InputFormatError, match=r"organisms.x.split: contig must be .*'chr7'"):
        build(folder, text)
    with pytest.raises(InputFormatError, match=r"named in one split, got 'chr2' in two"):
        build(folder, text.replace("chr7", "chr2"))
    build(folder, config_text() + "split = { test = ['chr2'] }")
    assert {(r["contig"], r["split"]) for r in read_rows(folder)} == {
        ("chr1", "train"),
        ("chr2", "test"),
    }


def test_a_dataset_is_read_by_split_and_organism(dataset):
    windows, summary = read_dataset(dataset), read_summary(dataset)
    assert is_dataset(dataset)
    assert is_dataset(dataset / "windows.tsv")
    assert not is_dataset(dataset / "summary.json")
    assert not is_dataset(dataset.parent)
    assert summary["site"] == {"offset": 9, "length": 2, "letters": "GT", "signal": "donor"}
    rows = read_rows(dataset.parent)
    assert windows.tasks.tolist() == [row["organism"] for row in rows]
    assert windows.split.tolist() == [row["split"] for row in rows]
    assert windows.labels.tolist() == [int(row["label"]) for row in rows]
    assert windows.weights == pytest.approx([float(row["weight"]) for row in rows])
    assert windows.names.tolist() == [
        f"{r['contig']}:{r['start']}-{r['end']}({r['strand']})" for r in rows
    ]
    part = read_dataset(dataset / "windows.tsv", split="train", organism="y")
    assert part.task_names == ("y",)
    chosen = [r["split"] == "train" and r["organism"] == "y" for r in rows]
    assert part.sequences() == windows[chosen].sequences()


def test_windows_in_several_blocks(dataset):
    """The rows of a table of more than a megabyte, organisms one after the other and mixed."""
    few = read_dataset(dataset)
    header, *rows = (dataset / "windows.tsv").read_text().splitlines(keepends=True)
    n_times = (1 << 20) // len("".join(rows)) + 2
    order = np.random.default_rng(0).permutation(len(rows) * n_times) % len(rows)
    (dataset / "windows.tsv").write_text(header + "".join(rows[i] for i in order))
    many = read_dataset(dataset)
    for name in ("starts", "is_reverse", "labels", "task_ids", "split", "weights"):
        np.testing.assert_array_equal(getattr(many, name), getattr(few, name)[order])


def test_errors_of_a_dataset(dataset):
    with pytest.raises(SeqmtlError, match="'z' is not in the dataset; it has 'x', 'y'"):
        read_dataset(dataset, organism="z")
    with pytest.raises(
        InputFormatError, match=r"no windows of split 'dev'.*the splits test, train"
    ):
        read_dataset(dataset, split="dev")
    with pytest.raises(InputFormatError, match=r"absent: .* but there is no such file; check its"):
        read_dataset("absent")
    genome, whole = dataset.parent / "x.fa", read_dataset(dataset).sequences()
    moved = genome.rename(dataset.parent / "moved.fa")
    with pytest.raises(SeqmtlError, match=r"genome of x must be at .*x.fa, but there is no such"):
        read_dataset(dataset)
    genome.write_bytes(moved.read_bytes() + b"\n")
    with pytest.raises(SeqmtlError, match=r"that the dataset was made from, .* bytes, not"):
        read_dataset(dataset)
    text = moved.read_text()
    genome.write_text(text.replace("A", "C", 1))
    with pytest.raises(SeqmtlError, match=r"genome of x must be .* but the bases in .* differ"):
        read_dataset(dataset)
    moved.rename(genome)
    assert read_dataset(dataset).sequences() == whole
    table = dataset / "windows.tsv"
    text = table.read_text()
    for old, new, message in (
        ("\tstart", "\tbegin", "the first line must be"),
        ("\tdonor:GT\t1000\t+", "\tdonor:GT\t1000\t.", "strand must be"),
        ("\ttrain\t1\n", "\ttrain\t-1\n", "weight must be a number above 0, got '-1'"),
        ("\ttrain\t1\n", "\ttrain\tone\n", r"tsv:\d+: weight must .* got 'one'; build it again"),
        ("\nchr2\t", "\nchr9\t", "contig must be one of .* got 'chr9'"),
        ("\nchr1\t", "\nchr1\t9", "a window must start before it ends, got .*; build it again"),
    ):
        assert old in text
        table.write_text(text.replace(old, new))
        with pytest.raises(InputFormatError, match=message):
            read_dataset(dataset)
    table.write_text(text)
    summary = json.loads((dataset / "summary.json").read_text())
    for change, message in (
        ({"kind": "other"}, "summary of a seqmtl dataset"),
        ({"schema_version": 1}, "schema_version must be 3, got 1"),
    ):
        (dataset / "summary.json").write_text(json.dumps({**summary, **change}))
        with pytest.raises(InputFormatError, match=message):
            read_dataset(dataset)
    (dataset / "summary.json").write_text("{")
    with pytest.raises(InputFormatError, match=r"not JSON"):
        read_dataset(dataset)
    (dataset / "summary.json").unlink()
    with pytest.raises(InputFormatError, match=r"in one folder, but this is missing"):
        read_dataset(dataset)


def test_a_dataset_can_be_moved_with_its_genomes(folder, tmp_path_factory):
    build(folder, config_text())
    expected = read_dataset(folder / "out").sequences()
    moved = tmp_path_factory.mktemp("elsewhere") / "all"
    shutil.move(folder, moved)
    link = moved.parent / "link"
    link.symlink_to(moved / "out")
    assert read_dataset(link).sequences() == expected


def test_a_dataset_can_be_moved_alone_and_linked(folder, dataset):
    expected = read_dataset(dataset).matrix()
    (folder / "elsewhere").mkdir()
    moved = shutil.move(dataset, folder / "elsewhere" / "data")
    (folder / "link").symlink_to(moved)
    for place in (moved, folder / "link", folder / "link" / "windows.tsv"):
        assert (read_dataset(place).matrix() == expected).all()
    (folder / "y.fa").rename(folder / "z.fa")
    with pytest.raises(SeqmtlError, match=r"at \S+/elsewhere/y\.fa or \S+/y\.fa, but .* a link"):
        read_dataset(moved)
    (folder / "elsewhere" / "y.fa").symlink_to(folder / "z.fa")
    assert (read_dataset(moved).matrix() == expected).all()


def test_the_command_writes_where_it_may(folder, seqmtl):
    (folder / "config.toml").write_text(config_text(organisms=("x", "y")))
    out, command = folder / "d", f"dataset {folder}/config.toml -o"
    table = seqmtl(f"{command} {out}").out.splitlines()
    summary = json.loads((out / "summary.json").read_text())
    assert table[0].split("\t") == [
        "organism",
        "sites",
        "decoys",
        "train",
        "valid",
        "test",
        "excluded",
    ]
    facts = summary["organisms"]["y"]
    assert table[2].split("\t")[:3] == ["y", str(facts["sites"]), str(facts["decoys"])]
    seqmtl(f"{command} {out} --signal acceptor")  # over an earlier dataset
    assert json.loads((out / "summary.json").read_text())["signal"] == "acceptor"
    assert sorted(path.name for path in out.iterdir()) == [
        "excluded.tsv",
        "regions.tsv",
        "sites.tsv",
        "summary.json",
        "windows.tsv",
    ]
    other = folder / "full"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    told = seqmtl(f"{command} {other}", 1).err
    assert "must be empty or an earlier dataset" in told
    assert "no option --force; name a folder" in seqmtl(f"{command} {other} --force", 2).err
    (folder / "loop").symlink_to("loop")
    for name in ("x.fa", "loop"):
        assert "it is a file; choose a folder" in seqmtl(f"{command} {folder}/{name}", 1).err
