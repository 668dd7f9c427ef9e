"""Compiled loops over k-mers in bins of positions: list k-mers, fold weights, score windows.

The code of a k-mer is its base-4 number, A, C, G, T = 0 to 3, first letter most significant. At
every position a window is read as the code of the next S letters, where S is the longest k, and
the number of letters before the first other than A, C, G or T (its "clean" length); the k-mer at
this position is the prefix. A *table* holds one number for every position and every prefix of 1 to
S letters; level d begins at levels[d - 1].
"""

import numpy as np

from seqmtl._jit import njit, prefetch

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_CHAINED = 6  # longest prefix by which equal k-mers are found


@njit
def load_codes(codes, start, is_reverse, length, span, code, clean):
    """Compute the code and the clean length of the next span letters at every position."""
    top = 2 * (span - 1)
    c = np.int64(0)
    run = 0
    for l in range(length - 1, -1, -1):
        letter = np.int64(codes[start + length - 1 - l] if is_reverse else codes[start + l])
        if letter > 3:
            c, run = c >> 2, 0
        else:
            c = (c >> 2) | ((3 - letter if is_reverse else letter) << top)
            run = min(run + 1, span)
        code[l] = c
        clean[l] = run


@njit
def hash_index(slot, code, n_bits):
    """Hash (bin of a view, k-mer) to n_bits bits with the splitmix64 finaliser."""
    s = np.uint64(slot)
    h = (np.uint64(code) + s * _GOLDEN) ^ (s << np.uint64(40))
    h ^= h >> np.uint64(30)
    h *= _MIX1
    h ^= h >> np.uint64(27)
    h *= _MIX2
    h ^= h >> np.uint64(31)
    return np.int64(h & ((np.uint64(1) << np.uint64(n_bits)) - np.uint64(1)))


@njit
def squared_norms(codes, starts, is_reverse, length, rows, span, levels, view, out):
    """Sum weight times count**2 over all k-mers, bins and levels of every window in rows.

    This is the sum over all ordered pairs of positions in a bin, including equal ones, of the
    weights of those k for which the k-mers agree. Pairs are found along chains of positions with
    the same first letters; ``head`` holds the end of each chain. Its numbers increase from window
    to window, so entries of earlier windows are recognised as outdated.
    """
    k, begin, end, _, _, weight, bins = levels
    code = np.empty(length, np.int64)
    clean = np.empty(length, np.int64)
    before = np.empty(length, np.int64)
    sums = np.zeros((k.size, span + 1))
    group = 0
    for v in range(k.size):
        group = v if view[v] != view[group] else group
        sums[group, k[v] :] += weight[v]
    head = np.full(np.int64(1) << (2 * min(span, _CHAINED)), -1, np.int64)
    base = np.int64(0)
    for i in rows:
        load_codes(codes, starts[i], is_reverse[i], length, span, code, clean)
        total = 0.0
        for v in range(k.size):
            if v > 0 and view[v] == view[v - 1]:
                continue
            shared = min(k[v], _CHAINED)
            first = begin[v]
            for l in range(begin[v], end[v]):
                if bins[v, l] != bins[v, first]:
                    first = l
                total += sums[v, clean[l]]
                if clean[l] < k[v]:
                    continue
                chain = code[l] >> (2 * (span - shared))
                before[l] = m = head[chain] - base
                head[chain] = base + l
                while m >= first:
                    difference, d = code[l] ^ code[m], shared
                    most = min(clean[l], clean[m])
                    while d < most and difference >> (2 * (span - d - 1)) == 0:
                        d += 1
                    total += 2.0 * sums[v, d]
                    m = before[m]
            base += length
        out[i] = total


@njit
def fill_rows(codes, starts, is_reverse, length, rows, span, levels, n_bits, block):
    """Write the features of the given windows to the block; n_bits = 0 means exact indices."""
    k, begin, end, offset, slot, weight, bins = levels
    indptr, indices, values = block
    code = np.empty(length, np.int64)
    clean = np.empty(length, np.int64)
    p = 0
    for r in range(rows.size):
        i = rows[r]
        load_codes(codes, starts[i], is_reverse[i], length, span, code, clean)
        indptr[r] = p
        for v in range(k.size):
            shift = 2 * (span - k[v])
            root = np.sqrt(weight[v])
            for l in range(begin[v], end[v]):
                if clean[l] < k[v]:
                    continue
                place = np.int64(bins[v, l])
                c = code[l] >> shift
                if n_bits == 0:
                    indices[p] = offset[v] + (place << (2 * k[v])) + c
                else:
                    indices[p] = hash_index(slot[v] + place, c, n_bits)
                values[p] = root
                p += 1
    indptr[rows.size] = p


@njit
def place_weights(W, column, first, last, levels, n_bits, starts, table):
    """Add sqrt(weight) W[., column] of every k-mer to table[l - first, .], first <= l < last."""
    k, begin, end, offset, slot, weight, bins = levels
    for v in range(k.size):
        root = np.sqrt(weight[v])
        for l in range(max(first, begin[v]), min(last, end[v])):
            row = table[l - first]
            place = np.int64(bins[v, l])
            base = offset[v] + (place << (2 * k[v]))
            here = starts[k[v] - 1]
            for c in range(np.int64(1) << (2 * k[v])):
                index = base + c if n_bits == 0 else hash_index(slot[v] + place, c, n_bits)
                row[here + c] += root * W[index, column]


@njit
def take_weights(table, coupling, first, last, levels, n_bits, starts, W):
    """Add to W the table entries of every prefix: the adjoint of place_weights."""
    k, begin, end, offset, slot, weight, bins = levels
    T = W.shape[1]
    flat = W.reshape(W.size)
    for v in range(k.size):
        root = np.sqrt(weight[v])
        for l in range(max(first, begin[v]), min(last, end[v])):
            row = table[l - first]
            place = np.int64(bins[v, l])
            base = offset[v] + (place << (2 * k[v]))
            here = starts[k[v] - 1]
            for c in range(np.int64(1) << (2 * k[v])):
                total = row[here + c]
                if total != 0.0:
                    index = base + c if n_bits == 0 else hash_index(slot[v] + place, c, n_bits)
                    for s in range(T):
                        flat[index * T + s] += coupling[s] * root * total


@njit
def add_prefixes(table, starts):
    """Add to every entry those of its prefixes."""
    for row in table:
        for d in range(1, starts.size):
            for c in range(np.int64(4) << (2 * d)):
                row[starts[d] + c] += row[starts[d - 1] + (c >> 2)]


@njit
def add_to_prefixes(table, starts):
    """Add every entry to those of its prefixes: the adjoint of add_prefixes."""
    for row in table:
        for d in range(starts.size - 1, 0, -1):
            for c in range(np.int64(4) << (2 * d)):
                row[starts[d - 1] + (c >> 2)] += row[starts[d] + c]


@njit
def score_folded(codes, window_starts, is_reverse, length, rows, first, last, starts, table, out):
    """Add to out[i] the entries of the longest clean prefixes at first..last-1, for i in rows."""
    span = starts.size
    top = np.uint64(2 * (span - 1))
    deepest = starts[span - 1]
    flat, width = table.reshape(table.size), table.shape[1]
    begin = min(last + span - 1, length) - 1
    for r in range(rows.size):
        i = rows[r]
        if is_reverse[i]:
            at, step, flip = window_starts[i] + length - 1 - begin, 1, np.uint64(3)
        else:
            at, step, flip = window_starts[i] + begin, -1, np.uint64(0)
        c = np.uint64(0)  # unsigned indices need no check for negative values
        run = 0
        total = 0.0
        for l in range(begin, first - 1, -1):
            letter = np.uint64(codes[np.uint64(at)])
            at += step
            if letter > np.uint64(3):
                c, run = np.uint64(0), 0
                continue
            c = (c >> np.uint64(2)) | ((letter ^ flip) << top)
            run += 1
            if l >= last:
                continue
            row = (l - first) * width
            if run >= span:
                total += flat[np.uint64(row + deepest) + c]
            else:
                rest = c >> np.uint64(2 * (span - run))
                total += flat[np.uint64(row + starts[run - 1]) + rest]
        out[i] += total


@njit
def scatter(codes, window_starts, is_reverse, length, rows, amount, first, last, starts, table):
    """Add amount[i] to the entries of the longest clean prefixes: the adjoint of score_folded."""
    span = starts.size
    top = np.uint64(2 * (span - 1))
    deepest = starts[span - 1]
    flat, width = table.reshape(table.size), table.shape[1]
    begin = min(last + span - 1, length) - 1
    for r in range(rows.size):
        i = rows[r]
        if is_reverse[i]:
            at, step, flip = window_starts[i] + length - 1 - begin, 1, np.uint64(3)
        else:
            at, step, flip = window_starts[i] + begin, -1, np.uint64(0)
        c = np.uint64(0)  # unsigned indices need no check for negative values
        run = 0
        for l in range(begin, first - 1, -1):
            letter = np.uint64(codes[np.uint64(at)])
            at += step
            if letter > np.uint64(3):
                c, run = np.uint64(0), 0
                continue
            c = (c >> np.uint64(2)) | ((letter ^ flip) << top)
            run += 1
            if l >= last:
                continue
            row = (l - first) * width
            if run >= span:
                flat[np.uint64(row + deepest) + c] += amount[i]
            else:
                rest = c >> np.uint64(2 * (span - run))
                flat[np.uint64(row + starts[run - 1]) + rest] += amount[i]


@njit
def fill_tree(codes, starts, is_reverse, length, rows, span, slots, indices):
    """Write the index of every slot of the given windows, reading N as A."""
    position, depth, base = slots[0], slots[1], slots[2]
    code = np.empty(length, np.int64)
    clean = np.empty(length, np.int64)
    shift = 2 * (span - depth)
    for r in range(rows.size):
        i = rows[r]
        load_codes(codes, starts[i], is_reverse[i], length, span, code, clean)
        row = indices[r]
        for p in range(row.size):
            row[p] = base[p] + (code[position[p]] >> shift[p])


@njit
def fill_tree_with_n(
    codes, starts, is_reverse, length, rows, chosen, span, slots, shares, n_weights, block
):
    """Write the entries of rows[chosen], whose windows contain N; other rows get none."""
    position, depth, base = slots[0], slots[1], slots[2]
    indptr, others, reads, writes = block
    code = np.empty(length, np.int64)
    clean = np.empty(length, np.int64)
    p = 0
    done = 0
    for r in chosen:
        indptr[done : r + 1] = p
        done = r + 1
        i = rows[r]
        load_codes(codes, starts[i], is_reverse[i], length, span, code, clean)
        for s in range(position.size):
            l = position[s]
            own = base[s] + (code[l] >> (2 * (span - depth[s])))
            first = own & ~np.int64(3)
            if clean[l] >= depth[s]:
                for q in range(4):
                    is_own = first + q == own
                    others[p] = first + q
                    reads[p] = 1.0 if is_own else 0.0
                    writes[p] = shares[s, 1] + (shares[s, 0] if is_own else 0.0)
                    p += 1
            elif clean[l] == depth[s] - 1 and shares[s, 1] > 0.0:
                part = shares[s, 1] / (shares[s, 0] + 4.0 * shares[s, 1])
                for q in range(4):
                    others[p], reads[p], writes[p] = first + q, part, shares[s, 1]
                    p += 1
                others[p], reads[p], writes[p] = n_weights + (own >> 2), part * shares[s, 0], 1.0
                p += 1
        if p == indptr[r]:  # the row has no entries
            others[p], reads[p], writes[p] = 0, 0.0, 0.0
            p += 1
    indptr[done:] = p


@njit
def score_tree(block, rows, columns, F, out):
    """Set out[rows[r]] to the score of row r of a tree block."""
    indices, _, indptr, others, reads, _ = block
    stride = F.shape[1]
    flat = F.reshape(F.size)
    for r in range(rows.size):
        t = np.int64(columns[rows[r]])
        following = indices[min(r + 1, rows.size - 1)]
        total = 0.0
        for p in range(following.size):
            total += flat[np.int64(indices[r, p]) * stride + t]
            prefetch(flat, np.int64(following[p]) * stride)
        if indptr[r] < indptr[r + 1]:
            total = 0.0
            for q in range(indptr[r], indptr[r + 1]):
                total += reads[q] * F[others[q], t]
        out[rows[r]] = total


@njit
def add_tree(block, rows, amount, tasks, K, F):
    """Add amount[i] K[tasks[i], :] times row i to F, for i in rows."""
    indices, shares, indptr, others, _, writes = block
    for r in range(rows.size):
        i = rows[r]
        coupling = K[np.int64(tasks[i])]
        for q in range(indptr[r], indptr[r + 1]):
            for s in range(coupling.size):
                F[others[q], s] += writes[q] * coupling[s] * amount[i]
        if indptr[r] < indptr[r + 1]:
            continue
        for p in range(indices.shape[1]):
            own = np.int64(indices[r, p])
            for s in range(coupling.size):
                step = coupling[s] * amount[i]
                F[own, s] += shares[p, 0] * step
                if shares[p, 1] != 0.0:
                    for q in range(4):
                        F[(own & ~np.int64(3)) + q, s] += shares[p, 1] * step


@njit
def place_tree(F, column, first, last, slots, starts, table):
    """Add F[., column] of every slot to table[l - first, .], first <= l < last."""
    position, depth, base = slots[0], slots[1], slots[2]
    for p in range(position.size):
        if first <= position[p] < last:
            row = table[position[p] - first]
            here = starts[depth[p] - 1]
            for c in range(np.int64(1) << (2 * depth[p])):
                row[here + c] += F[base[p] + c, column]


@njit
def take_tree(table, coupling, first, last, slots, shares, starts, F):
    """Add to F the table entries of every prefix: the adjoint of place_tree."""
    position, depth, base = slots[0], slots[1], slots[2]
    for p in range(position.size):
        if not first <= position[p] < last:
            continue
        row = table[position[p] - first]
        k = depth[p] - 1
        for quad in range(np.int64(1) << (2 * k)):
            common = shares[p, 1] * row[starts[k - 1] + quad] if k > 0 else 0.0
            for q in range(4):
                c = 4 * quad + q
                total = common + shares[p, 0] * row[starts[k] + c]
                if total != 0.0:
                    for s in range(coupling.size):
                        F[base[p] + c, s] += coupling[s] * total
