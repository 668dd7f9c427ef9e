"""Kernels of the weighted-degree feature map: generate indices, fold weights, score windows.

A d-mer starting at position l has the exact index ``offsets[d-1] + l * 4**d + code`` with the
first letter most significant, or a hashed one (see ``hash_index``). A d-mer that covers a letter
other than A, C, G, T contributes nothing.
"""

import numpy as np

from seqmtl._jit import njit, popcount

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


@njit
def load_window(codes, start, is_reverse, length, x):
    """Copy one window into x in reading direction, complemented on the minus strand."""
    if is_reverse:
        last = start + length - 1
        for l in range(length):
            code = codes[last - l]
            x[l] = 3 - code if code < 4 else 4
    else:
        for l in range(length):
            x[l] = codes[start + l]


@njit
def hash_index(position, degree, code, n_bits):
    """Hash (position, degree, d-mer code) to n_bits bits with the finaliser of splitmix64."""
    slot = np.uint64(position) * np.uint64(32) + np.uint64(degree)
    h = (np.uint64(code) + slot * _GOLDEN) ^ (slot << np.uint64(40))
    h ^= h >> np.uint64(30)
    h *= _MIX1
    h ^= h >> np.uint64(27)
    h *= _MIX2
    h ^= h >> np.uint64(31)
    return np.int64(h & ((np.uint64(1) << n_bits) - np.uint64(1)))


@njit
def hashed_weights(column, position, degree, n_bits, out):
    """Look up the weight of every d-mer at one position among hashed features."""
    for code in range(out.size):
        out[code] = column[hash_index(position, degree, code, np.uint64(n_bits))]


@njit
def squared_norms(codes, starts, is_reverse, length, beta, out):
    """Sum beta_d over the d-mers of every window that hold only A, C, G, T."""
    degree = beta.size
    cumulative = np.empty(degree)
    for d in range(degree):
        cumulative[d] = beta[d] + (cumulative[d - 1] if d > 0 else 0.0)
    x = np.empty(length, np.uint8)
    for i in range(starts.size):
        load_window(codes, starts[i], is_reverse[i], length, x)
        clean = 0
        total = 0.0
        for l in range(length - 1, -1, -1):
            clean = clean + 1 if x[l] < 4 else 0
            if clean > 0:
                total += cumulative[min(clean, degree) - 1]
        out[i] = total


@njit
def fill_rows(codes, starts, is_reverse, length, rows, scale, root_beta, offsets, n_bits, block):
    """Write the features of the given windows into the block; n_bits = 0 asks for exact indices."""
    indptr, indices, values = block
    degree = root_beta.size
    x = np.empty(length, np.uint8)
    p = 0
    for r in range(rows.size):
        i = rows[r]
        load_window(codes, starts[i], is_reverse[i], length, x)
        factor = scale[i]
        indptr[r] = p
        for l in range(length):
            code = np.int64(0)
            for k in range(min(degree, length - l)):
                if x[l + k] > 3:
                    break
                code = (code << 2) | np.int64(x[l + k])
                if n_bits == 0:
                    indices[p] = offsets[k] + (np.int64(l) << (2 * (k + 1))) + code
                else:
                    indices[p] = hash_index(l, k + 1, code, np.uint64(n_bits))
                values[p] = root_beta[k] * factor
                p += 1
    indptr[rows.size] = p


@njit
def fold_weights(W, column, first, last, length, root_beta, offsets, levels, table):
    """Sum the weights of all prefixes: table[l - first, levels[k] + code] for every (k+1)-mer."""
    degree = root_beta.size
    for l in range(first, last):
        row = table[l - first]
        for k in range(min(degree, length - l)):
            size = np.int64(4) << (2 * k)
            source = offsets[k] + np.int64(l) * size
            here = levels[k]
            below = levels[k - 1] if k > 0 else 0
            b = root_beta[k]
            for code in range(size):
                prefix = row[below + (code >> 2)] if k > 0 else 0.0
                row[here + code] = prefix + b * W[source + code, column]


@njit
def add_folded(codes, starts, is_reverse, length, rows, first, last, levels, table, scores):
    """Add to scores[i] the folded weights of positions first..last-1 of every window in rows."""
    degree = levels.size
    mask = (np.int64(1) << (2 * degree)) - 1
    x = np.empty(length, np.uint8)
    end = min(last + degree - 1, length)
    for r in range(rows.size):
        i = rows[r]
        start = starts[i]
        reverse = is_reverse[i]
        clean = True
        for l in range(first, end):
            code = codes[start + length - 1 - l] if reverse else codes[start + l]
            if code > 3:
                clean = False
            x[l] = 3 - code if reverse and code < 4 else code
        total = 0.0
        if clean:
            code = np.int64(0)
            for l in range(first, min(first + degree - 1, length)):
                code = (code << 2) | np.int64(x[l])
            for l in range(first, last):
                if l + degree <= length:
                    code = ((code << 2) | np.int64(x[l + degree - 1])) & mask
                    total += table[l - first, levels[degree - 1] + code]
                else:
                    depth = length - l
                    total += table[
                        l - first, levels[depth - 1] + (code & ((np.int64(1) << (2 * depth)) - 1))
                    ]
        else:
            for l in range(first, last):
                code = np.int64(0)
                depth = 0
                for k in range(min(degree, length - l)):
                    if x[l + k] > 3:
                        break
                    code = (code << 2) | np.int64(x[l + k])
                    depth += 1
                if depth > 0:
                    total += table[l - first, levels[depth - 1] + code]
        scores[i] += total


@njit
def scatter_codes(codes, starts, is_reverse, length, rows, amount, first, last, levels, table):
    """Add amount[i] to table[l - first, .] at the longest clean d-mer that starts at l."""
    degree = levels.size
    x = np.empty(length, np.uint8)
    end = min(last + degree - 1, length)
    for r in range(rows.size):
        i = rows[r]
        start = starts[i]
        for l in range(first, end):
            code = codes[start + length - 1 - l] if is_reverse[i] else codes[start + l]
            x[l] = 3 - code if is_reverse[i] and code < 4 else code
        for l in range(first, last):
            code = np.int64(0)
            depth = 0
            for k in range(min(degree, length - l)):
                if x[l + k] > 3:
                    break
                code = (code << 2) | np.int64(x[l + k])
                depth += 1
            if depth > 0:
                table[l - first, levels[depth - 1] + code] += amount[i]


@njit
def unfold_weights(table, coupling, first, last, length, root_beta, offsets, levels, W):
    """Add to W what scatter_codes gathered, prefixes included: the adjoint of fold_weights."""
    degree = root_beta.size
    T = W.shape[1]
    flat = W.reshape(W.size)
    for l in range(first, last):
        row = table[l - first]
        for k in range(min(degree, length - l) - 1, -1, -1):
            size = np.int64(4) << (2 * k)
            target = offsets[k] + np.int64(l) * size
            for code in range(size):
                total = row[levels[k] + code]
                if total != 0.0:
                    row[levels[k] + code] = 0.0
                    if k > 0:
                        row[levels[k - 1] + (code >> 2)] += total
                    for s in range(T):
                        flat[(target + code) * T + s] += coupling[s] * root_beta[k] * total


@njit
def fill_tree(codes, starts, is_reverse, length, rows, degree, slots, indices):
    """Write the index of every slot; slots holds (position, bits to drop, first index)."""
    position, shift, base = slots
    x = np.empty(length, np.uint8)
    code = np.empty(length, np.int64)
    top = 2 * (degree - 1)
    for r in range(rows.size):
        i = rows[r]
        load_window(codes, starts[i], is_reverse[i], length, x)
        c = np.int64(0)
        for l in range(length - 1, -1, -1):
            c = (c >> 2) | (np.int64(x[l]) << top)
            code[l] = c
        row = indices[r]
        for p in range(row.size):
            row[p] = base[p] + (code[position[p]] >> shift[p])


@njit
def fold_tree(F, column, first, last, slots, levels, table):
    """Sum the groups of degrees: the deepest level of table[l - first] at every position l."""
    position, depth, base = slots
    for l in range(first, last):
        row = table[l - first]
        below = 0
        for p in range(position.size):
            if position[p] != l:
                continue
            here = levels[depth[p] - 1]
            shift = 2 * (depth[p] - below)
            for code in range(np.int64(1) << (2 * depth[p])):
                value = F[base[p] + code, column]
                if below > 0:
                    value += row[levels[below - 1] + (code >> shift)]
                row[here + code] = value
            below = depth[p]


@njit
def add_folded_clean(
    codes, starts, is_reverse, length, rows, first, last, running, levels, table, scores
):
    """As add_folded for windows without N, walked from first = 0 on in steps.

    running[i] holds the code of the letters before first + degree - 1 from step to step, so each
    letter is read once and the table of a step can be small enough for the cache.
    """
    degree = levels.size
    mask = (np.int64(1) << (2 * degree)) - 1
    for r in range(rows.size):
        i = rows[r]
        if is_reverse[i]:
            origin, sign, flip = starts[i] + length - 1, -1, 3
        else:
            origin, sign, flip = starts[i], 1, 0
        code = np.int64(running[i])
        if first == 0:
            code = 0
            for l in range(degree - 1):
                code = (code << 2) | np.int64(codes[origin + sign * l] ^ flip)
        total = 0.0
        for l in range(first, min(last, length - degree + 1)):
            letter = np.int64(codes[origin + sign * (l + degree - 1)] ^ flip)
            code = ((code << 2) | letter) & mask
            total += table[l - first, levels[degree - 1] + code]
        for l in range(max(first, length - degree + 1), last):
            depth = length - l
            short = code & ((np.int64(1) << (2 * depth)) - 1)
            total += table[l - first, levels[depth - 1] + short]
        running[i] = code
        scores[i] += total


@njit
def unfold_tree(table, coupling, first, last, slots, shares, levels, F):
    """Add to F what scatter_codes gathered at the deepest level; empties the table."""
    position, depth, base = slots
    for l in range(first, last):
        row = table[l - first]
        deepest = 0
        for p in range(position.size):
            if position[p] == l:
                deepest = max(deepest, depth[p])
        for k in range(deepest - 1, 0, -1):
            for code in range(np.int64(4) << (2 * k)):
                row[levels[k - 1] + (code >> 2)] += row[levels[k] + code]
        for p in range(position.size):
            if position[p] != l:
                continue
            k = depth[p] - 1
            for quad in range(np.int64(1) << (2 * k)):
                common = shares[p, 1] * (row[levels[k - 1] + quad] if k > 0 else 0.0)
                for q in range(4):
                    code = 4 * quad + q
                    total = common + shares[p, 0] * row[levels[k] + code]
                    if total != 0.0:
                        for s in range(coupling.size):
                            F[base[p] + code, s] += coupling[s] * total
        row[:] = 0.0


@njit
def pack_bits(codes, starts, is_reverse, length, rows, high, low, valid):
    """Pack windows into bit planes, word by word: [w, r] holds positions 64 w .. 64 w + 63."""
    x = np.empty(length, np.uint8)
    one = np.uint64(1)
    for r in range(rows.size):
        load_window(codes, starts[rows[r]], is_reverse[rows[r]], length, x)
        for l in range(length):
            w = l >> 6
            bit = one << np.uint64(l & 63)
            if x[l] < 4:
                valid[w, r] |= bit
                if x[l] & 2:
                    high[w, r] |= bit
                if x[l] & 1:
                    low[w, r] |= bit


@njit
def gram_tile(planes, beta, scale, first, last, tile_last, scratch, out):
    """Set out[i, j] to the kernel for i in first..last-1 and j in first..tile_last-1, j <= i."""
    high, low, valid = planes
    n_words = high.shape[0]
    tile_first = first
    match, run, total = scratch
    for i in range(first, last):
        stop = min(tile_last, i + 1)
        size = stop - tile_first
        for w in range(n_words):
            h, o, v = high[w, i], low[w, i], valid[w, i]
            _match_word(
                h, o, v, high[w, tile_first:stop], low[w, tile_first:stop],
                valid[w, tile_first:stop], match[w, :size], run[w, :size],
            )  # fmt: skip
        total[:size] = 0.0
        for d in range(beta.size):
            for w in range(n_words):
                if d > 0:
                    after = match[w + 1, :size] if w + 1 < n_words else total[:0].view(np.uint64)
                    _shorten_runs(run[w, :size], match[w, :size], after, d)
                _add_counts(run[w, :size], beta[d], total[:size])
        for j in range(size):
            out[i, tile_first + j] = total[j] * scale[tile_first + j] * scale[i]


@njit
def _match_word(h, o, v, high, low, valid, match, run):
    """Mark where 64 positions of one window equal those of many."""
    for j in range(match.size):
        same = ~(h ^ high[j]) & ~(o ^ low[j]) & v & valid[j]
        match[j] = same
        run[j] = same


@njit
def _shorten_runs(run, match, after, d):
    """Keep the starts of runs that also match d positions later; `after` is the next word."""
    shift = np.uint64(d)
    if after.size == 0:
        for j in range(run.size):
            run[j] &= match[j] >> shift
        return
    carry = np.uint64(64 - d)
    for j in range(run.size):
        run[j] &= (match[j] >> shift) | (after[j] << carry)


@njit
def _add_counts(run, weight, total):
    """Add weight times the number of runs."""
    for j in range(run.size):
        total[j] += weight * np.float64(np.int64(popcount(run[j])))
