"""Effects of alleles with a paired model, against the chain on whole contigs."""

import csv
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.io.genome import load_genome
from seqmtl.loading import load
from seqmtl.sequences import encode
from seqmtl.variant_effects import EffectScorer, PairedEffectScorer
from seqmtl.variant_effects.alleles import Alleles
from seqmtl.variant_effects.exon_effects import compare_exons, delta
from tests.invocation import run, sites_in, write_vcf
from tests.oracles.pairs import exons_of, open_contigs, whole_contig

SIGNALS = ("donor", "acceptor")
KINDS = (*SIGNALS, "exon")


@pytest.fixture(scope="module")
def contig(case):
    """The name and letters of a chromosome, its sites and its introns."""
    name, codes = open_contigs(case / "sim/genomes/a.fa")[0]
    letters = "".join("ACGTN"[code] for code in codes)
    return name, letters, *whole_contig(load(case / "splice"), "a", codes)


@pytest.fixture(scope="module")
def variants(contig):
    """Variants at probable introns of both strands: (start, ref, alt), 0-based."""
    _, letters, _, introns = contig
    chosen = []
    for strand in "+-":
        own = sorted(key for key, p in introns.items() if p > 0.9 and key[2] == strand)
        chosen += own[:: len(own) // 2][:2]
    chosen.append(min(introns, key=lambda key: key[0]))  # near the end of the contig
    found, first = [], chosen[0][0]
    for start, end, _ in chosen:
        for at in (start, end - 1, start - 3):  # two of them break a site
            found.append((at, letters[at], "CACG"["ACGT".index(letters[at])]))
        found.append((start - 1, letters[start - 1 : start + 9], letters[start - 1]))
        found.append((end + 3, letters[end + 3], letters[end + 3] + "GTAAGTCCAG"))
    found.append((first - 1, letters[first - 1 : first + 1_700], letters[first - 1]))
    return found


def _moved(place, start, ref, alt):
    """The place in the alternative of a base of the reference, None if it is deleted."""
    if place < start + 1:
        return place
    if place >= start + len(ref):
        return place + len(alt) - len(ref)
    return place if place - start < len(alt) else None


def _by_hand(case, contig, variant, reach):
    """The largest gain and loss of both signals, and the introns of the alternative."""
    _, letters, before, _ = contig
    changed = encode(_change(letters, variant).encode())
    after, introns = whole_contig(load(case / "splice"), "a", changed)
    return _largest(before, after, variant, len(letters), reach), introns


def _change(letters, variant):
    start, ref, alt = variant
    return letters[:start] + alt + letters[start + len(ref) :]


def _largest(before, after, variant, n, reach):
    """The largest gain and loss of both signals, over sites whose first base is within reach."""
    start, ref, alt = variant
    found = {}
    for signal in SIGNALS:
        gain = loss = 0.0
        seen = set()
        for place in range(max(0, start - reach), min(n, start + len(ref) + reach)):
            there = _moved(place, *variant)
            for strand in "+-":
                back = strand == "-"
                p = before.get((signal, place - back, strand), 0.0)
                q = 0.0 if there is None else after.get((signal, there - back, strand), 0.0)
                seen.add((there, strand))
                gain, loss = max(gain, q - p), max(loss, p - q)
        for place in range(start, start + len(alt)):
            for strand in "+-":
                if (place, strand) not in seen:
                    gain = max(gain, after.get((signal, place - (strand == "-"), strand), 0.0))
        found[signal] = gain, loss
    return found


def _alleles(case, contig, variants):
    """The genome, and the zones and the alleles of the variants."""
    genome = load_genome(case / "sim/genomes/a.fa", padding=1)
    alleles, faults = Alleles.of(
        genome, [(contig[0], start, ref.encode(), alt.encode()) for start, ref, alt in variants]
    )
    assert not any(faults)
    return genome, alleles.zones(genome.codes), alleles


def _score(case, contig, variants, **options):
    genome, _, alleles = _alleles(case, contig, variants)
    scorer = PairedEffectScorer(load(case / "splice"), "a", **options)
    return scorer, scorer.by_signal(genome, alleles)


def test_effects_are_those_of_whole_contigs(case, contig, variants):
    scorer, effects = _score(case, contig, variants)
    zones = _alleles(case, contig, variants)[1]
    reach = scorer._flank
    assert reach == max(3_000, load(case / "splice").layer_of("a").span) + 41
    n_large = 0
    for i, variant in enumerate(variants):
        expected, after = _by_hand(case, contig, variant, reach)
        is_placed = len(variant[1]) == len(variant[2])
        for k, signal in enumerate(SIGNALS):
            gain, loss = effects[k].changes[i]
            if is_placed or zones[i, 1:].min() == 0:  # an indel in a repeat has several places
                assert_allclose([gain, loss], expected[signal], atol=2e-4)
            else:
                assert max(gain, loss) <= max(expected[signal]) + 2e-4
            n_large += loss > 0.5
            for c, (place, strand) in enumerate(
                zip(effects[k].positions[i], effects[k].strands[i], strict=True)
            ):
                if strand < 0:
                    continue
                p, q = effects[k].probabilities[i, c]
                assert abs(q - p) == pytest.approx(effects[k].changes[i, c], abs=1e-9)
                key = (signal, int(place) - int(strand), "+-"[strand])
                if p > 0:
                    assert contig[2][key] == pytest.approx(p, abs=2e-4)
                _check_introns(effects[k].introns[i, c], key, contig[3], after, is_placed)
    assert n_large >= 12


def _check_introns(found, site, before, after, is_placed):
    """The intron named is the most probable of those at the site."""
    signal, start, strand = site
    is_end = (signal == "donor") == (strand == "-")
    place = start + 2 if is_end else start
    for h, introns in enumerate((before, after)):
        here = {key: p for key, p in introns.items() if key[is_end] == place and key[2] == strand}
        if np.isnan(found[h, 2]):
            assert max(here.values(), default=0.0) < 0.06 or (h and not is_placed)
        elif here and (is_placed or not h):
            best = max(here, key=here.get)
            assert tuple(found[h, :2]) == best[:2]
            assert found[h, 2] == pytest.approx(here[best], abs=2e-4)


def test_exons_are_those_of_whole_contigs(case, contig, variants):
    scorer, effects = _score(case, contig, variants)
    model, (_, letters, *_) = load(case / "splice"), contig
    before, n_large = exons_of(model, "a", encode(letters.encode())), 0
    for i, (start, ref, alt) in enumerate(variants):
        if len(ref) != len(alt):
            continue
        changed = letters[:start] + alt + letters[start + 1 :]
        after = exons_of(model, "a", encode(changed.encode()))
        near = start - scorer._flank, start + 1 + scorer._flank
        deltas = {
            key: after.get(key, 0.0) - before.get(key, 0.0)
            for key in before | after
            if key[0] < near[1] and key[1] > near[0]
        }
        for c, sign in enumerate((1, -1)):
            most = max([0.0, *(sign * delta for delta in deltas.values())])
            assert effects[2].changes[i, c] == pytest.approx(most, abs=2e-3)
            n_large += most > 0.3
            if most > 0.01:
                first, last, _ = found = effects[2].introns[i, c, int(c == 0)]
                key = (int(first), int(last), "+-"[effects[2].strands[i, c]])
                assert sign * deltas[key] == pytest.approx(most, abs=2e-3)
                assert effects[2].positions[i, c] == (first if key[2] == "+" else last - 1)
                assert found[2] == pytest.approx(
                    effects[2].probabilities[i, c, int(c == 0)], abs=1e-6
                )
    assert n_large >= 5


def test_exons_correspond_around_an_indel():
    """An insertion of 3 bases before base 10, which may as well be before 11 or 12."""
    before = {(0, 10, 0): np.log(0.9), (20, 30, 1): np.log(0.8)}
    after = {(0, 13, 0): np.log(0.5), (23, 33, 1): np.log(0.8)}
    found = compare_exons(before, after, 10, 0, 3)
    assert [(own[0], delta(own)) for own in found] == [
        ((0, 10, 0), pytest.approx(-0.4)),
        ((20, 30, 1), 0.0),
    ]
    found = compare_exons(before, after | {(0, 10, 0): np.log(0.3)}, 10, 0, 3)
    assert [delta(own) for own in found] == pytest.approx([0.3, -0.4, 0.0])
    assert found[0][0] == (0, 9, 0)  # its end is on an inserted base
    found = compare_exons(before, {(0, 10, 0): np.log(0.85)}, 10, 2, 5)
    assert [delta(own) for own in found] == pytest.approx([-0.05, -0.8])  # inserted behind it
    deleted = compare_exons(after, before, 10, 3, 0)
    assert sorted(delta(own) for own in deleted) == pytest.approx([0.0, 0.4])
    in_repeat = compare_exons({(0, 11, 0): 0.0}, {(0, 11, 0): 0.0}, 10, 4, 2)
    assert [delta(own) for own in in_repeat] == [0.0]  # the deleted bases are behind it


def test_many_alleles_at_once_are_those_one_by_one(case, contig, variants):
    every = _score(case, contig, variants)[1]
    for i in range(0, len(variants), 3):
        for one, own in zip(_score(case, contig, variants[i : i + 1])[1], every, strict=True):
            for a, b in zip(one, own, strict=True):
                assert_array_equal(a, b[i : i + 1])


def test_an_allele_equal_to_the_reference_changes_nothing(case, contig, variants):
    same = [(start, ref, ref) for start, ref, _ in variants[:2]]
    for own in _score(case, contig, same)[1]:
        assert not own.changes.any()
        assert (own.positions == -1).all()
        assert np.isnan(own.introns).all()


def _scanned(case, folder, name, letters):
    """The probabilities of sites by (signal, start, strand), as `seqmtl scan` writes them."""
    (folder / "one.fa").write_text(f">{name}\n{letters}\n")
    run(f"scan {case}/splice {folder}/one.fa --organism a -o {folder}/one.bed")
    found = {}
    for signal in SIGNALS:
        own = sites_in(folder / f"one.{signal}.bed")
        found |= {(signal, *place): p for (_, *place), p in own.items()}
    return found


def test_short_contigs_lower_case_and_n_are_as_scans_of_what_alleles_make(case, contig, tmp_path):
    """An intron of each strand near either end of its contig, with runs of N, and no intron."""
    _, letters, _, introns = contig
    texts, records, n_large = {"none": letters[:50] * 6}, [("none", 70, letters[20], "T,c")], 0
    for strand, n_before in itertools.product("+-", (0, 100)):
        start, end, _ = max((k for k in introns if k[2] == strand), key=introns.get)
        text = letters[start - 30 : start + 40] + 10 * "N" + letters[start + 40 : end + 30]
        text = n_before * "N" + text + (100 - n_before) * "N"
        name, n = f"{strand}{n_before}", n_before + end - start + 70
        texts[name] = text[:50] + text[50:].lower()
        for place, size, alts in (
            (n_before + 30, 1, "a,gtt"),
            (n - 31, 1, "C"),
            (n_before, 1, "acg"),
            (n - 2, 2, "a"),
            (n_before + 69, 12, "N"),
            (n_before + 28, 9, "A"),
        ):
            records.append((name, place, text[place : place + size], alts))
    (tmp_path / "x.fa").write_text("".join(f">{name}\n{own}\n" for name, own in texts.items()))
    write_vcf(tmp_path / "in.vcf", records)
    _annotate(case, tmp_path / "in.vcf", f"--tsv {tmp_path}/x.tsv", tmp_path / "x.fa")
    with open(tmp_path / "x.tsv") as stream:
        table = list(csv.DictReader(stream, delimiter="\t"))
    before = {name: _scanned(case, tmp_path, name, text) for name, text in texts.items()}
    alleles = [(*record[:3], alt) for record in records for alt in record[3].split(",")]
    assert len(table) == 3 * len(alleles)
    for k, (name, place, ref, alt) in enumerate(alleles):
        variant, text = (place, ref, alt.replace("N", "")), texts[name]  # N alone is empty
        after = _scanned(case, tmp_path, name, _change(text, variant))
        expected = _largest(before[name], after, variant, len(text), len(text))
        for row, signal in zip(table[3 * k :], SIGNALS, strict=False):
            assert (row["kind"], row["contig"], row["alt"]) == (signal, name, alt)
            changes = [float(row["gain"]), float(row["loss"])]
            if len(ref) == len(alt):
                assert_allclose(changes, expected[signal], atol=2e-5)
            else:
                assert max(changes) <= max(expected[signal]) + 2e-5
            n_large += max(changes) > 0.2
    assert n_large >= 20


def _annotate(case, vcf, options="", fasta=None, code=0):
    """Write out.vcf beside a VCF file."""
    fasta = fasta or case / "sim/genomes/a.fa"
    files = f"--vcf {vcf} --fasta {fasta} -o {vcf.parent}/out.vcf"
    run(f"variants {case}/splice {files} --organism a {options}", code)


def _vcf(contig, variants, folder):
    path = write_vcf(folder / "in.vcf", [(contig[0], *own) for own in sorted(variants)])
    with open(path, "a") as stream:
        stream.write(f"{contig[0]}\t1\t.\tN\t<DEL>\t.\t.\tEND=3\n")
    return path


def test_vcf_and_table_have_both_signals_and_introns(case, contig, variants, tmp_path):
    options = f"--tsv {tmp_path}/x.tsv --threads 2"
    _annotate(case, _vcf(contig, variants, tmp_path), options)
    ordered = sorted(variants)
    _, effects = _score(case, contig, ordered)
    table = (tmp_path / "x.tsv").read_text().splitlines()
    rows = list(csv.DictReader(table, delimiter="\t"))
    assert [row["kind"] for row in rows] == [*KINDS] * len(ordered)
    lines = (tmp_path / "out.vcf").read_text().splitlines()
    header = [line for line in lines if line.startswith("##INFO")]
    assert len(header) == 6
    assert "IR_DG|IR_DL|IA_DG|IA_DL" in header[0]
    assert "DS_EG|DS_EL" in header[4]
    assert "ER_EG|ER_EL|EA_EG|EA_EL" in header[4]
    records = [line.split("\t") for line in lines if not line.startswith("#")]
    skipped = ";".join(f"SeqMTL_{kind}_skipped=symbolic" for kind in KINDS)
    assert records[-1][7] == f"END=3;{skipped}"
    for i, record in enumerate(records[:-1]):
        entries = dict(entry.split("=") for entry in record[7].split(";"))
        for k, signal in enumerate(KINDS):
            row, items = rows[3 * i + k], entries[f"SeqMTL_{signal}"].split("|")
            assert len(items) == 14
            assert items[0] == row["alt"] == ordered[i][2]
            assert float(row["loss"]) == pytest.approx(effects[k].changes[i, 1], abs=1e-6)
            assert float(items[3]) == pytest.approx(effects[k].changes[i, 1], abs=1e-4)
            columns = ("gain_ref", "loss_ref", "gain_alt", "loss_alt")
            assert items[10:] == [row[f"{column}_intron"] for column in columns]
            start, end, p = effects[k].introns[i, 1, 0]
            shown = "." if np.isnan(p) else f"{start + 1:.0f}-{end:.0f}:{p:.4f}"
            assert row["loss_ref_intron"] == shown


def test_a_contig_of_one_exon_has_the_effects_of_its_sites_alone(case, contig, tmp_path, seqmtl):
    """As each model by itself has them; and a contig that holds two introns has a chain."""
    _, letters, _, introns = contig
    ends = sorted(key for key in introns if key[2] == "+" and introns[key] > 0.9)
    (_, start, _), (end, *_) = next(
        pair for pair in itertools.pairwise(ends) if 20 < pair[1][0] - pair[0][1] < 160
    )
    text = letters[start - 30 : end + 30]
    (tmp_path / "x.fa").write_text(f">one\n{text}\n>long\n{letters[:300]}\n")
    variants = [(p, text[p : p + 1], "ACGT"["CGTA".index(text[p])]) for p in range(len(text))]
    variants += [(28, text[28:31], text[28]), (len(text) - 31, "", "ACC")]
    write_vcf(tmp_path / "x.vcf", [("one", *own) for own in variants[:-1]])
    command = f"variants {case}/splice --vcf {tmp_path}/x.vcf --fasta {tmp_path}/x.fa"
    shown = seqmtl(f"{command} --organism a -o {tmp_path}/out.vcf").err
    shorter = "1 of 1 contigs, such as one, are shorter than two introns (230 bases): their sites "
    assert f"{shorter}are scored alone, without partners; --annotation has the effects" in shown
    genome = load_genome(tmp_path / "x.fa", padding=1)
    encoded = [("one", start, ref.encode(), alt.encode()) for start, ref, alt in variants]
    alleles, _ = Alleles.of(genome, encoded)
    paired = PairedEffectScorer(load(case / "splice"), "a").by_signal(genome, alleles)
    for model, own in zip(("donor", "acceptor"), paired, strict=False):
        alone = EffectScorer(load(case / model), "a").by_signal(genome, alleles)[0]
        assert_allclose(own.changes, alone.changes, atol=1.1e-6)
        is_clear = alone.changes > 1e-4
        assert is_clear.sum() > 20
        assert_array_equal(own.positions[is_clear], alone.positions[is_clear])
        assert np.isnan(own.introns).all()
    assert not paired[2].changes.any()
