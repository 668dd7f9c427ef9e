#!/usr/bin/env bash
# Makes the test data anew, in this folder.
set -euo pipefail
cd "$(dirname "$0")"
rm -rf donors acceptors ./*.seqmtl ./*.json ./*.tsv ./*.vcf simulated
seqmtl simulate --tree "(velia_alba:0.1,velia_nigra:0.1);" --signal donor --chromosomes 2 \
    --windows 300 --window 61 --chromosome-length 30000 -q -o simulated
cat > simulated/small.toml <<'END'
signal = "donor"
window = 61
[decoys]
ratio = 1
clearance = 61
[split]
by = "blocks"
block = 5000
test = 0.25
valid = 0.25
[organisms.velia_alba]
genome = "../donors/velia_alba.fa.gz"
annotation = "annotation/velia_alba.gff3"
END
for signal in donor acceptor; do
    mkdir "${signal}s"
    gzip -9nc simulated/genomes/velia_alba.fa > "${signal}s/velia_alba.fa.gz"
    sed -i "s|\.\./[a-z]*/velia_alba.fa|../${signal}s/velia_alba.fa|" simulated/small.toml
    seqmtl dataset simulated/small.toml --signal "$signal" --force -q -o "${signal}s" > /dev/null
    sed -i 's|^ "folder": .*| "folder": ""|' "${signal}s/summary.json" # where it was made
    seqmtl train "${signal}s" --selection none -C 1 --features wd:2 -q -o raw.seqmtl
    seqmtl calibrate raw.seqmtl "${signal}s" -q -o "$signal.seqmtl" > /dev/null
    rm raw.seqmtl
done
seqmtl pair donor.seqmtl acceptor.seqmtl donors acceptors -q -o splice.seqmtl > /dev/null
seqmtl evaluate donor.seqmtl donors --bootstrap 0 -q --json metrics.json > /dev/null
cp simulated/annotation/velia_alba.gff3 simulated/tree.nwk .
zcat simulated/windows.tsv.gz | awk 'NR == 1 || /^velia_nigra/ && n++ < 100' > windows.tsv
printf '##fileformat=VCFv4.2\n##contig=<ID=chr1,length=30000>\n#%s\n' \
    $'CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO' > variants.vcf
awk '$1 == "chr1" && $6 == "+" && n++ < 5 { print $1, $2 + 1, ".", "G", "A", ".", ".", "." }' \
    OFS='\t' donors/sites.tsv >> variants.vcf
rm -r simulated
