"""Kernels of the spectrum feature map: count the k-mers of a region."""

import numpy as np

from seqmtl._jit import njit


@njit
def count_kmers(codes, starts, is_reverse, rows, region, k, counts, normalize, block):
    """Write the k-mer counts of the given windows into the block; counts is scratch, all zero."""
    length, begin, stop = region
    indptr, indices, values = block
    mask = (np.int64(1) << (2 * k)) - 1
    p = 0
    for r in range(rows.size):
        i = rows[r]
        indptr[r] = p
        first = p
        code = np.int64(0)
        clean = 0
        for l in range(begin, stop):
            if is_reverse[i]:
                letter = codes[starts[i] + length - 1 - l]
                letter = 3 - letter if letter < 4 else letter
            else:
                letter = codes[starts[i] + l]
            clean = clean + 1 if letter < 4 else 0
            code = ((code << 2) | np.int64(letter & 3)) & mask
            if clean >= k:
                if counts[code] == 0:
                    indices[p] = code
                    p += 1
                counts[code] += 1
        square = 0.0
        for q in range(first, p):
            count = counts[indices[q]]
            counts[indices[q]] = 0
            values[q] = count
            square += np.float64(count) * count
        if normalize and square > 0.0:
            for q in range(first, p):
                values[q] /= np.sqrt(square)
    indptr[rows.size] = p
