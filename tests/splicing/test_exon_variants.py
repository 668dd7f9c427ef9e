"""Ends of annotated exons in both haplotypes of alleles, against windows cut by hand."""

import csv
import dataclasses
from urllib.parse import quote

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl import Windows, load
from seqmtl.exceptions import SeqmtlError
from seqmtl.io import load_genome, read_annotation
from seqmtl.io.transcripts import Transcript
from seqmtl.splicing import PairedFinder
from seqmtl.splicing.new_organism import with_relatives
from seqmtl.variant_effects import ExonScorer
from seqmtl.variant_effects.alleles import Alleles
from tests.invocation import write_vcf
from tests.oracles.variants import mirror, zone

CHR = "chr3"


def other(letter):
    return "ACGT"["CGTA".index(letter)]


@pytest.fixture(scope="module")
def parts(case):
    """The model, the letters of a chromosome, and its transcripts."""
    genome = load_genome(case / "sim/genomes/a.fa", padding=1)
    letters = "".join("ACGTN"[code] for code in genome.contig(CHR))
    annotation = read_annotation(case / "sim/annotation/a.gff3")
    own = [transcript for transcript in annotation.transcripts if transcript.contig == CHR]
    return load(case / "splice"), letters, own


def _score(parts, transcripts, variants, folder):
    """Score variants, (start, ref, alt), on the chromosome; return the scorer and the effects."""
    (folder / "x.fa").write_text(f">first\nACGT\n>{CHR}\n{parts[1]}\n>last\nACGTAGGT\n")
    genome = load_genome(folder / "x.fa", padding=1)
    variants = [(CHR, start, ref.encode(), alt.encode()) for start, ref, alt in variants]
    alleles, reasons = Alleles.of(genome, variants)
    assert not any(reasons)
    scorer = ExonScorer(PairedFinder(parts[0], "a"), genome, transcripts)
    return scorer, scorer.score(alleles)


def log_odds(model, organism, signal, letters, boundary):
    """Return the log-odds of an end of an exon on the plus strand, from a window cut by hand."""
    own = model.site_models[signal]
    start = boundary - 2 * (signal == "acceptor")
    if start < 0 or letters[start : start + 2] != {"donor": "GT", "acceptor": "AG"}[signal]:
        return np.nan
    pad = "N" * own.length
    first = start - own.site.offset + own.length
    window = (pad + letters + pad)[first : first + own.length]
    score = own.decision_function(Windows.from_strings([window]), organism)
    return own.log_odds_of(organism)(score)[0]


def by_hand(model, signal, boundary, is_reverse, before, after):
    """Return the log-odds of an end in both haplotypes; the nearest of all places of the gap."""

    def score(letters, place):
        if is_reverse:
            letters, place = mirror(letters), len(letters) - place
        return log_odds(model, "a", signal, letters, place)

    reference, shift = score(before, boundary), len(after) - len(before)
    start, m, n = zone(before, after)
    found = []
    for gap in range(min(m, n) + 1 if shift else 1):
        cut = start + gap
        if not shift or boundary <= cut:
            found.append(score(after, boundary))
        if shift and boundary >= cut + max(0, -shift):
            found.append(score(after, boundary + shift))
    lost = min(model.layer_of("a").least[signal == "acceptor"], reference - 5)
    found = [lost if value != value else value for value in found or [lost]]
    return reference, min(found, key=lambda value: abs(value - reference))


def _variants(letters, exons, rng):
    """Return random changes of all kinds at and around the ends of exons."""
    found = []
    for exon in exons:
        for end in exon:
            for shift in (-30, -3, -2, -1, 0, 1, 2, 25, int(rng.integers(-60, 60))):
                at, size = end + shift, int(rng.integers(1, 5))
                ref, new = letters[at : at + 1 + size], "".join(rng.choice(list("ACGT"), size))
                found += [
                    (at, ref[0], other(ref[0])),
                    (at, ref, ref[0]),
                    (at, ref[0], ref[0] + new),
                    (at, ref[0], ref[0] + ref),
                    (at, ref, new[0]),
                    (at, ref, new + new),
                ]
    return found


@pytest.mark.parametrize("is_reverse", [False, True])
def test_ends_are_scored_as_windows_cut_by_hand(parts, is_reverse, tmp_path):
    model, letters, transcripts = parts
    own = [each for each in transcripts if each.is_reverse == is_reverse and len(each.exons) > 2]
    variants = _variants(letters, own[0].exons[1:3] + own[1].exons[-1:], np.random.default_rng(1))
    scorer, effects = _score(parts, own, variants, tmp_path)
    exons, origin, n_lost = scorer.exons, int(scorer.exons.origins[0]), 0
    for allele, exon, values in zip(*effects, strict=True):
        at, ref, alt = variants[allele]
        start, end = (exons.bounds[exon] - origin).tolist()
        after = letters[:at] + alt + letters[at + len(ref) :]
        for k, signal in enumerate(("donor", "acceptor")):
            boundary = end if (k == 0) != is_reverse else start
            if not exons.has_ends[exon, k]:
                assert np.isnan(values[k]).all()
                continue
            expected = by_hand(model, signal, boundary, is_reverse, letters, after)
            assert_allclose(values[k], expected, atol=2e-5, err_msg=f"{variants[allele]}, {signal}")
            n_lost += expected[1] <= model.layer_of("a").least[k]
    assert len(effects.alleles) > 200
    assert n_lost > 20
    changes = np.nansum(effects.log_odds[:, :, 1] - effects.log_odds[:, :, 0], axis=1)
    assert_allclose(effects.changes, changes)


def test_alleles_reach_exons_by_their_bases_and_the_windows_of_their_ends(parts, tmp_path):
    model, letters, _ = parts
    size, window = len(letters), model.donor.length
    before, after = model.donor.site.offset, window - model.donor.site.offset
    at = model.acceptor.site.offset + 2  # bases of a window before an exon
    exons = ((1000, 1100), (2000, 3000), (4000, 4100))
    own = Transcript("t", "g", CHR, False, exons)
    places = {
        2000 - at - 1: [],
        2000 - at: [1],
        2500: [1],
        2999 + after: [1],
        3000 + after: [],
        1000: [0],
        999: [],  # no acceptor
        4100: [],
        4099: [2],
        0: [],
        size - 1: [],
    }
    assert before > 0
    variants = [(p, letters[p], other(letters[p])) for p in places]
    _, effects = _score(parts, [own], variants, tmp_path)
    found = {p: effects.exons[effects.alleles == k].tolist() for k, p in enumerate(places)}
    assert found == places
    insertions = [(2000 - at, "", "A"), (2000 - at + 1, "", "A"), (3000 + after, "", "A")]
    _, effects = _score(parts, [own], insertions, tmp_path)
    assert 1 in effects.alleles
    nothing = ExonScorer(PairedFinder(model, "a"), load_genome(tmp_path / "x.fa", padding=1), [])
    assert nothing.exons.names == []


def test_exons_are_those_of_transcripts_with_introns(parts, tmp_path):
    exons = ((1000, 1100), (2000, 2100), (4000, 4100))
    transcripts = [
        Transcript("one", "g", CHR, False, exons),
        Transcript("two", "g", CHR, False, exons),
        Transcript("two", "g", CHR, False, exons),  # with another coding sequence
        Transcript("later", "g", CHR, False, exons[1:]),
        Transcript("minus", "g", CHR, True, exons),
        Transcript("single", "g", CHR, False, exons[:1]),
        Transcript("elsewhere", "g", "chr9", False, exons),
    ]
    scorer, _ = _score(parts, transcripts, [], tmp_path)
    own = scorer.exons
    bounds = (own.bounds - own.origins[:, np.newaxis]).tolist()
    ends = zip(own.is_reverse.tolist(), own.has_ends.tolist(), strict=True)
    found = [
        (*pair, is_reverse, *has_ends, names)
        for pair, (is_reverse, has_ends), names in zip(bounds, ends, own.names, strict=True)
    ]
    assert found == [
        (1000, 1100, False, True, False, ["one", "two"]),
        (1000, 1100, True, False, True, ["minus"]),
        (2000, 2100, False, True, False, ["later"]),
        (2000, 2100, False, True, True, ["one", "two"]),
        (2000, 2100, True, True, True, ["minus"]),
        (4000, 4100, False, False, True, ["one", "two", "later"]),
        (4000, 4100, True, True, False, ["minus"]),
    ]
    beyond = dataclasses.replace(transcripts[0], exons=(exons[0], (1200, 10_000_000)))
    with pytest.raises(SeqmtlError, match=r"must lie on chr3, .* ends at 10,000,000; give the"):
        _score(parts, [beyond], [], tmp_path)


def test_windows_beyond_the_ends_of_a_contig_have_n(parts, tmp_path):
    """Exons of a base at both ends, whose windows would reach into other contigs."""
    model, letters, _ = parts
    letters = "AGGT" + letters[4:-4] + "AGGT"
    n = len(letters)
    own = Transcript("t", "g", CHR, False, ((0, 2), (2, 2 + 500), (n - 2, n)))
    variants = [(10, letters[10], other(letters[10])), (n - 9, letters[n - 9], "")]
    variants.append((0, "", "ACC"))
    scorer, effects = _score((model, letters, None), [own], variants, tmp_path)
    assert scorer.exons.has_ends.tolist() == [[True, False], [True, True], [False, True]]
    rows = {pair: k for k, pair in enumerate(zip(effects.alleles, effects.exons, strict=True))}
    for k, signal in enumerate(("donor", "acceptor")):
        expected = log_odds(model, "a", signal, letters, 2)
        assert effects.log_odds[rows[0, k], k, 0] == pytest.approx(expected, abs=2e-5)
    for allele, exon, boundary, signal in ((1, 2, n - 2, "acceptor"), (2, 0, 2, "donor")):
        at, ref, alt = variants[allele]
        after = letters[:at] + alt + letters[at + len(ref) :]
        expected = by_hand(model, signal, boundary, False, letters, after)
        values = effects.log_odds[rows[allele, exon], int(signal == "acceptor")]
        assert_allclose(values, expected, atol=2e-5)


def _write(folder, letters, transcripts, variants):
    (folder / "x.fa").write_text(f">{CHR}\n{letters}\n")
    lines = [
        f"{CHR}\tsim\texon\t{start + 1}\t{end}\t.\t{strand}\t.\tParent={quote(own.name)}\n"
        for own in transcripts
        for start, end in own.exons
        for strand in "+-"[own.is_reverse]
    ]
    (folder / "x.gff3").write_text("##gff-version 3\n" + "".join(lines))
    write_vcf(folder / "x.vcf", [(CHR, *variant) for variant in variants])


def _annotate(case, seqmtl, folder, options="", model=None, code=0):
    files = f"--vcf {folder}/x.vcf --fasta {folder}/x.fa --annotation {folder}/x.gff3"
    command = f"variants {model or case / 'splice'} {files} -o {folder}/out.vcf {options}"
    return seqmtl(f"{command} --organism a --tsv {folder}/out.tsv", code).err


def _table(folder):
    with open(folder / "out.tsv") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_the_vcf_and_the_table_have_the_exons_of_every_allele(case, parts, seqmtl, tmp_path):
    model, letters, transcripts = parts
    letters = letters[:12_000]
    own = [each for each in transcripts if each.end < 11_000 and len(each.exons) > 2][:1]
    own.append(dataclasses.replace(own[0], name="x|y,z"))
    (start, end), name = own[0].exons[1], own[0].name
    far = next(p for p in range(12_000) if p > own[0].end + 200)
    variants = [(p, letters[p], other(letters[p])) for p in (start, end, far)]
    variants[1] = (end, letters[end], f"{variants[1][2]},<DEL>")
    _write(tmp_path, letters, own, variants)
    told = _annotate(case, seqmtl, tmp_path)
    assert "2 of 3 alleles reach annotated exons" in told
    scorer, effects = _score(
        (model, letters, None), own, [(p, r, a[0]) for p, r, a in variants], tmp_path
    )
    table, lines = _table(tmp_path), (tmp_path / "out.vcf").read_text().splitlines()
    assert any("|TRANSCRIPTS|FIRST-LAST|STRAND|" in line for line in lines)
    records = [line.split("\t") for line in lines if not line.startswith("#")]
    assert "SeqMTL_annotated_exon" not in records[2][7]
    assert "SeqMTL_annotated_exon_skipped=symbolic" in records[1][7]
    items = [
        item.split("|")
        for record in records[:2]
        for item in record[7].split("SeqMTL_annotated_exon=")[1].split(";")[0].split(",")
    ]
    assert len(items) == len(table) == len(effects.alleles) >= 2
    assert {(row["id"], int(row["pos"])) for row in table} == {("rs0", start + 1), ("rs1", end + 1)}
    for item, row, exon, values in zip(items, table, *effects[1:], strict=True):
        first, last = (scorer.exons.bounds[exon] - scorer.exons.origins[0]).tolist()
        numbers = [*values[1], *values[0], np.nansum(values[:, 1] - values[:, 0])]
        assert item[:2] == [row["alt"], "a"]
        assert row["transcripts"] == f"{name}&x|y,z"
        assert item[2] == f"{name}&x%7Cy%2Cz"
        assert item[3] == f"{first + 1}-{last}" == f"{row['first']}-{row['last']}"
        assert item[4] == row["strand"] == "+-"[own[0].is_reverse]
        shown = ["." if np.isnan(value) else f"{value:.4f}" for value in numbers]
        assert item[5:] == shown == list(row.values())[-5:]


def test_what_cannot_be_done(case, parts, seqmtl, tmp_path):
    _, letters, transcripts = parts
    _write(tmp_path, letters[:3000], [], [(5, letters[5], "N")])
    donor = case / "donor"
    told = _annotate(case, seqmtl, tmp_path, model=donor, code=2)
    assert "--annotation needs a model of seqmtl pair" in told
    own = dataclasses.replace(transcripts[0], exons=((10, 20), (100, 110)))
    _write(tmp_path, letters[:3000], [own], [(2_900, letters[2_900], "N")])
    assert "0 of 1 alleles reach annotated exons" in _annotate(case, seqmtl, tmp_path)
    text = (tmp_path / "x.gff3").read_text()
    (tmp_path / "x.gff3").write_text(text.replace("chr3\t", "3\t"))
    told = _annotate(case, seqmtl, tmp_path, code=1)
    assert f"error: {tmp_path}/x.gff3, {tmp_path}/x.fa: " in told
    assert "'chr' is added to those asked for" in told
    # contigs without variants are no error
    with open(tmp_path / "x.fa", "a") as stream:
        stream.write(f">3\n{letters[:3000]}\n")
    assert "0 exons on 0 contigs of variants" in _annotate(case, seqmtl, tmp_path)


def test_an_organism_that_the_model_lacks_has_the_ends_of_its_relatives(parts, seqmtl, tmp_path):
    """A donor of an exon in a genome like that of a dog, which becomes GC, and is lost."""
    rng = np.random.default_rng(0)
    letters = "".join(rng.choice(list("ACGT"), 3000))
    exon = "TTTCTTTTCTTGTTTTCAGGTGAAGCTGCTGGAGATGAAGCTGGAAGAGCTGCAGAAGGAGCAGGTAAGTATGG"
    letters = letters[:1400] + exon + letters[1400 + len(exon) :]
    start, end = 1400 + exon.index("GTGAAG"), 1400 + exon.index("GTAAGT")
    own = Transcript("t", "g", CHR, False, ((100, 200), (start, end), (2000, 2100)))
    changes = [(end + 1, "T", "C"), (end, "G", "A"), (start - 1, "G", "C")]
    _write(tmp_path, letters, [own], changes)
    files = f"--vcf {tmp_path}/x.vcf --fasta {tmp_path}/x.fa --annotation {tmp_path}/x.gff3"
    command = f"variants starter:splice {files} -o {tmp_path}/out.vcf --tsv {tmp_path}/out.tsv"
    model = load("starter:splice")
    cat, new = model.layer_of("f_catus"), with_relatives(model, "new", "dog").layer["new"]
    for options, layer, least in (
        ("--like dog", new, (-10.0, -10.0)),
        ("--organism f_catus", cat, cat.least),
    ):
        told = seqmtl(f"{command} {options}").err
        assert ("from f_catus, the nearest" in told) == ("dog" in options)
        found = [row for row in _table(tmp_path) if int(row["first"]) == start + 1]
        (organism,) = {row["organism"] for row in found}
        assert organism in options
        rare, lost, acceptor = found
        shift = layer.donors[0].shift / layer.scale
        change = float(rare["donor_alt"]) - float(rare["donor_ref"])
        assert change == pytest.approx(shift, abs=1e-3)
        assert float(lost["donor_alt"]) == pytest.approx(least[0], abs=1e-3)
        assert float(acceptor["acceptor_alt"]) == pytest.approx(least[1], abs=1e-3)
        assert float(lost["donor_ref"]) > 0
    told = seqmtl(f"{command} --like dog --organism f_catus", 2).err
    assert "organism 'f_catus' is in the model already; leave --like out" in told


@pytest.mark.parametrize("is_reverse", [False, True])
def test_the_exon_of_a_minigene_has_both_ends(parts, is_reverse, tmp_path):
    _, letters, transcripts = parts
    whole = next(own for own in transcripts if own.is_reverse == is_reverse and len(own.exons) > 2)
    start, end = whole.exons[1]
    alone = dataclasses.replace(whole, exons=((start, end),), cds=())
    shifted = dataclasses.replace(alone, exons=((start + 1, end),))
    variants = [(at, letters[at], other(letters[at])) for at in (start, end - 1)]
    _, expected = _score(parts, [whole], variants, tmp_path)
    scorer, effects = _score(parts, [alone], variants, tmp_path)
    assert scorer.exons.has_ends.tolist() == [[True, True]]
    rows = np.flatnonzero(expected.exons == 1)
    assert_allclose(effects.log_odds, expected.log_odds[rows])
    scorer, effects = _score(parts, [shifted], variants, tmp_path)
    assert not scorer.exons.names
    assert not effects.alleles.size
