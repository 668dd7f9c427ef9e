"""The chain on a whole contig: every candidate of the letters, scored by its window."""

import numpy as np

from seqmtl.pairs import Ends, join_ends, run_chain
from seqmtl.scan.organism import scanner_of
from seqmtl.sequences import reverse_complement


def whole_contig(model, organism, codes, least=0.05):
    """Return sites by (signal, start, strand), and those of introns by (start, end, strand)."""
    ends, layer = [], model.layer_of(organism)
    for own, word in ((model.donor, (2, 3)), (model.acceptor, (0, 2))):
        columns = []
        for strand in "+-":
            letters = codes if strand == "+" else reverse_complement(codes)
            scores = scanner_of(own, organism).scan_contig(letters)
            starts = np.arange(scores.size) + own.site.offset
            found = (letters[starts] == word[0]) & (letters[starts + 1] == word[1])
            starts = starts[found] if strand == "+" else codes.size - 2 - starts[found]
            log_odds = own.log_odds(scores[found].astype(float), organism)
            columns.append((starts, np.full(starts.size, strand == "-"), log_odds))
        ends.append(Ends(*map(np.concatenate, zip(*columns, strict=True))))
    joined = join_ends(ends, (2, 2), codes, layer.coding)
    posteriors = run_chain(joined, layer, least)
    by_signal = np.split(np.exp(posteriors.sites), [ends[0].starts.size])
    sites = {
        (signal, int(start), "+-"[int(is_reverse)]): p
        for signal, end, values in zip(("donor", "acceptor"), ends, by_signal, strict=True)
        for start, is_reverse, p in zip(end.starts, end.is_reverse, values, strict=True)
    }
    introns = {}
    for pair, log_p in zip(posteriors.introns, posteriors.intron_values, strict=True):
        bounds = (int(joined.places[k]) for k in pair)
        introns[(*bounds, "+-"[int(joined.is_reverse[pair[0]])])] = np.exp(log_p)
    return sites, introns
