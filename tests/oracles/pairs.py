"""The chain on a whole contig: every candidate of the letters, scored by its window."""

import numpy as np

from seqmtl.io.genome import load_genome
from seqmtl.pairs import join_ends, run_chain
from seqmtl.scan.finder import scanner_of
from seqmtl.sequences import reverse_complement
from seqmtl.sequences.sites import Sites


def ends(starts, is_reverse, log_odds):
    """Return candidates of one signal."""
    columns = {"log_odds": np.asarray(log_odds)}
    return Sites(np.asarray(starts), np.asarray(is_reverse, bool), columns)


def open_contigs(path):
    """Return the name and the letters of each contig."""
    genome = load_genome(path, padding=1)
    return [(name, genome.contig(name)) for name in genome.names]


def posteriors_of(given, codes, layer):
    """Return the log posteriors of donors, then of acceptors, in the order given."""
    bounds = [0, len(given[0]), len(given[0]) + len(given[1])]
    numbered = [own.adding(number=np.arange(*bounds[k : k + 2])) for k, own in enumerate(given)]
    joined = join_ends(numbered, (2, 2), codes, layer.coding)
    found = np.empty(len(joined))
    found[joined["number"]] = run_chain(joined, layer).sites
    return found


def whole_contig(model, organism, codes, least=0.05):
    """Return sites by (signal, start, strand), and those of introns by (start, end, strand)."""
    return _whole_contig(model, organism, codes, least)[:2]


def exons_of(model, organism, codes, least=1e-3):
    """Return the probabilities of exons of a contig by (start, end, strand)."""
    return _whole_contig(model, organism, codes, least)[2]


def _whole_contig(model, organism, codes, least):
    """Return the probabilities of sites, of introns and of exons."""
    found, layer = [], model.layer_of(organism)
    for own, word in ((model.donor, (2, 3)), (model.acceptor, (0, 2))):
        columns = []
        for strand in "+-":
            letters = codes if strand == "+" else reverse_complement(codes)
            scores = scanner_of(own, organism).scan_contig(letters)
            starts = np.arange(scores.size) + own.site.offset
            is_word = (letters[starts] == word[0]) & (letters[starts + 1] == word[1])
            starts = starts[is_word] if strand == "+" else codes.size - 2 - starts[is_word]
            log_odds = own.log_odds_of(organism)(scores[is_word].astype(float))
            columns.append((starts, np.full(starts.size, strand == "-"), log_odds))
        found.append(ends(*map(np.concatenate, zip(*columns, strict=True))))
    joined = join_ends(found, (2, 2), codes, layer.coding)
    posteriors = run_chain(joined, layer, least, least)
    columns = joined["is_donor"], joined.starts, joined.is_reverse, np.exp(posteriors.sites)
    sites = {
        ("donor" if is_donor else "acceptor", start, "+-"[is_reverse]): p
        for is_donor, start, is_reverse, p in zip(*(c.tolist() for c in columns), strict=True)
    }
    listed = []
    for rows, values in (
        (posteriors.introns, posteriors.intron_values), (posteriors.exons, posteriors.exon_values)
    ):  # fmt: skip
        places, strands = joined["places"][rows].tolist(), joined.is_reverse[rows[:, 0]].tolist()
        keys = ((*pair, "+-"[strand]) for pair, strand in zip(places, strands, strict=True))
        listed.append(dict(zip(keys, np.exp(values), strict=True)))
    return sites, *listed
