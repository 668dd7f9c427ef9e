"""Numbers of very many digits in every text format: a message with file and line, or a float."""

import pytest

from seqmtl.exceptions import InputFormatError
from seqmtl.io import read_annotation
from seqmtl.io.bed import read_regions, read_site_bed
from seqmtl.io.vcf import VcfReader

GFF = "##gff-version 3\nc\tx\tmRNA\t1\t9\t.\t+\t.\tID=t\nc\tx\texon\t{}\t{}\t.\t+\t.\tParent=t\n"
GTF = '#!x\n\nc\tx\texon\t{}\t{}\t.\t+\t.\tgene_id "g"; transcript_id "t";\n'


@pytest.fixture(params=[19, 30, 5000])
def digits(request):
    return "9" * request.param


@pytest.mark.parametrize("text", [GFF, GTF])
@pytest.mark.parametrize("places", ["end", "both"])
def test_annotation(write, digits, text, places):
    path = write(text.format(1 if places == "end" else digits, digits), "a.gff")
    with pytest.raises(InputFormatError) as info:
        read_annotation(path)
    message = "start and end must each be a whole number of up to 18 digits, got '9"
    assert str(info.value).startswith(f"{path}:3: {message}")
    assert len(str(info.value)) < len(str(path)) + 200


def test_regions_and_sites(write, digits):
    path = write(f"c\t0\t{digits}\n", "r.bed")
    with pytest.raises(InputFormatError, match=r"r.bed:1: "):
        read_regions(path, {"c": 50})
    path = write(f"c\t{digits}\t{digits}\tn\t0\t+\n", "s.bed")
    with pytest.raises(InputFormatError, match=r"s.bed:1: .*whole number of up to 18 digits"):
        read_site_bed(path, length=2)


def test_variants(write, digits):
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    path = write(f"{header}c\t{digits}\t.\tA\tC\t.\t.\t.\n", "v.vcf")
    with pytest.raises(InputFormatError, match=r"v.vcf:3: POS must be a whole number"):
        list(VcfReader(path).batches(10))
