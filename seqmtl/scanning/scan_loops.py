"""Compiled loops of the scan: index the d-mers of a contig, add table rows, finish the scores.

A *row* holds what one d-mer adds to the L windows that contain its first letter, in integer units.
All sums are sums of integers, so results do not depend on the order in which rows are added.
"""

import numpy as np

from seqmtl._jit import add_rows_16, njit, prefetch

GROUP = 4  # rows summed in registers before the accumulators are touched
AHEAD = 8  # positions between the prefetch of a row and its use
LINE = 16  # entries of a cache line, and sums in a vector
STEP = 8  # positions of a window summed in registers
_BATCH = 4096  # windows whose sums at one position use the same part of the table


@njit
def index_rows(codes, is_reverse, degree, first_row, rows):
    """Find the row of the longest clean d-mer (d <= degree) at every position.

    With `is_reverse`, positions are those of the reverse complement. The d-mer with base-4 number
    c has the row first_row[d] + c; d = 0 if the letter at the position is not A, C, G or T.
    """
    top = 2 * (degree - 1)
    full = first_row[degree]
    depth = 0
    c = np.int64(0)  # the last letters read, the first of them most significant
    for p in range(codes.size - 1, -1, -1):
        code = np.int64(codes[codes.size - 1 - p if is_reverse else p])
        if is_reverse and code < 4:
            code = 3 - code
        c = (c >> 2) | ((code & 3) << top)
        if code > 3:
            depth = 0
            rows[p] = 0
        elif depth >= degree - 1:
            depth = degree
            rows[p] = full + c
        else:
            depth += 1
            rows[p] = first_row[depth] + (c >> (2 * (degree - depth)))


@njit
def add_rows(table, stride, rows, n_positions, total):
    """Add the row of position p to the `length` sums from total[p] on, for all p < n_positions.

    Every row has `stride` entries, a multiple of LINE: GROUP - 1 zeros, `length` numbers, zeros.
    GROUP - 1 zeros follow the last row. n_positions is a multiple of GROUP, and AHEAD + GROUP more
    entries follow in `rows`, stride + GROUP in `total`. Four adjacent rows are summed, each one
    entry further left than the last, before `total` is read and written once.
    """
    for p in range(0, n_positions, GROUP):
        for k in range(p + AHEAD, p + AHEAD + GROUP):
            begin = np.int64(rows[k]) * stride
            for j in range(0, stride, LINE):
                prefetch(table, begin + j)
        begin0 = np.int64(rows[p]) * stride + 3
        begin1 = np.int64(rows[p + 1]) * stride + 2
        begin2 = np.int64(rows[p + 2]) * stride + 1
        begin3 = np.int64(rows[p + 3]) * stride
        if begin0 + begin1 + begin2 + begin3 == 6:
            continue
        for m in range(0, stride, LINE):
            add_rows_16(total, p + m, table, begin0 + m, begin1 + m, begin2 + m, begin3 + m)


@njit
def add_windows(columns, n_rows, rows, starts, total):
    """Add to ``total[i]`` the numbers of the window that starts at position ``starts[i]``.

    `columns` holds a number per position of the window and row, `n_rows` for each position; the
    number of positions is a multiple of STEP, and as many entries follow each start in `rows`.
    Windows take turns at each STEP positions, whose part of the table stays in the cache. Unsigned
    indices spare numba the check for negative ones, which would take most of the time.
    """
    u = np.uint64
    n = u(n_rows)
    for first in range(0, starts.size, _BATCH):
        last = u(min(first + _BATCH, starts.size))
        for column in range(0, columns.size // n_rows, STEP):
            m, t = u(column), u(column) * n
            for i in range(u(first), last):
                p = u(starts[i]) + m
                total[i] += (
                    (columns[t + u(rows[p])] + columns[t + n + u(rows[p + u(1)])])
                    + (
                        columns[t + u(2) * n + u(rows[p + u(2)])]
                        + columns[t + u(3) * n + u(rows[p + u(3)])]
                    )
                    + (
                        columns[t + u(4) * n + u(rows[p + u(4)])]
                        + columns[t + u(5) * n + u(rows[p + u(5)])]
                    )
                    + (
                        columns[t + u(6) * n + u(rows[p + u(6)])]
                        + columns[t + u(7) * n + u(rows[p + u(7)])]
                    )
                )


@njit
def slide(code, clean, length, starts, table, tails, sums):
    """Set sums[i] to the sum of a table over the window that begins at base i.

    `code` and `clean` have the next S letters of every base, and how many of them are A, C, G, T
    before another one. ``table`` has an entry for each stretch of 1 to S letters, which includes
    its prefixes, those of d letters from starts[d - 1] on. ``tails`` has, for each stretch of S - 1
    letters, the sum of the entries from each of its bases to its end. Windows with other letters
    are scaled, as if they had letters in their place.
    """
    span = starts.size
    n_tail = min(span - 1, length)
    n_whole = length - n_tail  # bases whose stretches of S letters are in the window
    entries = np.zeros(code.size, np.int64)
    for l in range(code.size):
        if clean[l] > 0:
            u = np.uint64(starts[clean[l] - 1] + (code[l] >> (2 * (span - clean[l]))))
            entries[l] = table[u]
    total, n_letters = entries[: max(n_whole - 1, 0)].sum(), (clean[: length - 1] > 0).sum()
    for i in range(sums.size):
        begin, end = i + n_whole, i + length
        if n_whole > 0:
            total += entries[begin - 1]
        n_letters += clean[end - 1] > 0
        tail = np.int64(0)
        if 0 < n_tail == span - 1 and clean[begin] >= n_tail:
            tail = tails[np.uint64(code[begin] >> 2)]
        else:
            for l in range(begin, end):
                d = min(clean[l], end - l)
                if d > 0:
                    tail += table[starts[d - 1] + (code[l] >> (2 * (span - d)))]
        sums[i] = total + tail
        if 0 < n_letters < length:
            sums[i] *= np.sqrt(length / n_letters)
        n_letters -= clean[i] > 0
        if n_whole > 0:
            total -= entries[i]


@njit
def finish_scores(total, bias, unit, scores):
    """Convert sums to scores."""
    for s in range(scores.size):
        scores[s] = bias + unit * total[s]


@njit
def find_maxima(scores, reach, is_maximum):
    """Tell which scores no other one within `reach` exceeds, and none before it equals.

    NaN counts as no score.
    """
    for i in range(scores.size):
        score = scores[i]
        is_best = score == score
        for j in range(1, reach + 1):
            if not is_best:
                break
            is_best = not (i >= j and scores[i - j] >= score) and not (
                i + j < scores.size and scores[i + j] > score
            )
        is_maximum[i] = is_best


@njit
def count_mixed(codes, length):
    """Count the windows of `length` letters that contain a letter other than A, C, G and T."""
    n_mixed = 0
    n_since = length  # letters since the last other letter
    for p in range(codes.size):
        n_since = 0 if codes[p] > 3 else n_since + 1
        n_mixed += p >= length - 1 and n_since < length
    return n_mixed
