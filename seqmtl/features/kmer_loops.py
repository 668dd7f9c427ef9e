"""Compiled loops over k-mers: list them, fold weights, score windows.

Those of :mod:`seqmtl.features.positional_rows` are in bins of positions, and come first; those of
:mod:`seqmtl.features.kmer_counts` are counted wherever they are.

The code of a k-mer is its base-4 number, A, C, G, T = 0 to 3, first letter most significant: CGT is
27. A shift by 2 bits removes the last letter, 27 >> 2 = 6 for CG. So the code of the next S letters
at a position, S being the longest k, gives the codes of all shorter k-mers there. The *clean*
length at a position is the number of letters before the next one other than A, C, G, T; longer
k-mers are not counted.

A *table* has a row for every position, with one number for each prefix of 1 to S letters; those of
d letters begin at starts[d - 1].
"""

import numpy as np

from seqmtl._jit import njit, prefetch

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
# 4**6 chains fit into the first-level cache; 32 loads hide the latency of memory. Both untuned.
_CHAINED = 6  # longest prefix by which equal k-mers are found
_AHEAD = 32  # k-mers between the request of a hashed weight and its use
_STRETCHES = 1024  # that are listed at a time: lists stay in the first-level cache
# pairs of bits swap places to reverse the 32 letters of a code: neighbours, then twos, ...
_SWAPS = tuple(
    (np.uint64(shift), np.uint64(mask))
    for shift, mask in (
        (2, 0x3333333333333333),
        (4, 0x0F0F0F0F0F0F0F0F),
        (8, 0x00FF00FF00FF00FF),
        (16, 0x0000FFFF0000FFFF),
        (32, 0x00000000FFFFFFFF),
    )
)


@njit
def load_codes(codes, start, is_reverse, length, span, code, clean):
    """Compute the code and the clean length of the next span letters at every position."""
    # from the end, as the code at l is that at l + 1 shifted by a letter, with letter l in front
    top = 2 * (span - 1)
    c = np.int64(0)
    n_clean = 0
    for l in range(length - 1, -1, -1):
        # read from the other strand, the window begins at its last base, complemented (3 - code)
        letter = np.int64(codes[start + length - 1 - l] if is_reverse else codes[start + l])
        if letter > 3:
            c, n_clean = c >> 2, 0
        else:
            c = (c >> 2) | ((3 - letter if is_reverse else letter) << top)
            n_clean = min(n_clean + 1, span)
        code[l] = c
        clean[l] = n_clean


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
def squared_norms(codes, starts, is_reverse, length, rows, span, layout, out):
    """Sum weight times count**2 over all k-mers, bins and levels of every window in rows.

    This is the sum over all ordered pairs of positions in a bin, including equal ones, of the
    weights of those k for which the k-mers agree. Pairs are found along chains of positions with
    the same first letters; ``head`` holds the end of each chain. Its numbers increase from window
    to window, so entries of earlier windows are recognised as outdated.
    """
    k, begin, end, _, view, weight, bins = layout
    code = np.empty(length, np.int64)
    clean = np.empty(length, np.int64)
    previous = np.empty(length, np.int64)
    # sums[g, d]: weights of all k of a view that d equal letters contain
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
                continue  # the shortest k of a view stands for all of them
            n_chained = min(k[v], _CHAINED)
            first = begin[v]
            for l in range(begin[v], end[v]):
                if bins[v, l] != bins[v, first]:
                    first = l
                total += sums[v, clean[l]]
                if clean[l] < k[v]:
                    continue
                chain = code[l] >> (2 * (span - n_chained))
                previous[l] = m = head[chain] - base
                head[chain] = base + l
                while m >= first:  # first: start of the bin
                    difference, d = code[l] ^ code[m], n_chained
                    limit = min(clean[l], clean[m])
                    while d < limit and difference >> (2 * (span - d - 1)) == 0:
                        d += 1
                    total += 2.0 * sums[v, d]
                    m = previous[m]
            base += length
        out[i] = total


@njit
def fill_rows(codes, starts, is_reverse, length, rows, span, slots, n_bits, block):
    """Write the features of the given windows to the block; n_bits = 0 means exact indices."""
    position, depth, base, reads, _ = slots
    indptr, indices, values, _, _, _ = block
    code = np.empty(length, np.int64)
    clean = np.empty(length, np.int64)
    shift = 2 * (span - depth)
    q = 0
    for r in range(rows.size):
        i = rows[r]
        load_codes(codes, starts[i], is_reverse[i], length, span, code, clean)
        indptr[r] = q
        for p in range(position.size):
            l = position[p]
            if clean[l] < depth[p]:
                continue  # the k-mer contains an N
            c = code[l] >> shift[p]
            indices[q] = base[p] + c if n_bits == 0 else hash_index(base[p], c, n_bits)
            values[q] = reads[p]
            q += 1
    indptr[rows.size] = q


@njit
def fold_weights(W, column, first, last, slots, n_bits, starts, table):
    """Add reads[p] W[j, column] to table[l - first, d-mer] for every slot and d-mer with feature j.

    The slots are those at first <= l < last. Afterwards a window scores, at each position, the sum
    of the entries of its prefixes there; :func:`add_prefixes` makes that a single entry.
    """
    position, depth, base, reads, _ = slots
    flat, n_columns = W.reshape(W.size), W.shape[1]
    for p in range(position.size):
        if not first <= position[p] < last:
            continue
        row, level = table[position[p] - first], starts[depth[p] - 1]
        n_kmers = np.int64(1) << (2 * depth[p])
        if n_bits == 0 and reads[p] == 1.0:  # pair sums include the factors
            for c in range(n_kmers):
                row[level + c] += W[base[p] + c, column]
            continue
        for c in range(n_kmers):
            index = base[p] + c
            if n_bits > 0:
                index = hash_index(base[p], c, n_bits)
                prefetch(flat, hash_index(base[p], c + _AHEAD, n_bits) * n_columns)
            row[level + c] += reads[p] * W[index, column]


@njit
def unfold_sums(table, coupling, first, last, slots, n_bits, starts, W):
    """Add sums of windows by k-mer, in a table, to W: the adjoint of :func:`fold_weights`.

    A step on the table entry of each k-mer is thus a step on all features of its windows.
    """
    position, depth, base, _, shares = slots
    for p in range(position.size):
        if not first <= position[p] < last:
            continue
        row, level, kmer_factor = table[position[p] - first], starts[depth[p] - 1], shares[p, 0]
        # pair sums: F of a k-mer includes its prefix, with the factor of the prefix
        prefix_level = starts[depth[p] - 2] if shares[p, 1] > 0.0 else 0
        for c in range(np.int64(1) << (2 * depth[p])):
            total = row[level + c]
            if shares[p, 1] > 0.0:
                total += shares[p, 1] / kmer_factor * row[prefix_level + (c >> 2)]
            if total != 0.0:
                index = base[p] + c if n_bits == 0 else hash_index(base[p], c, n_bits)
                for s in range(coupling.size):
                    W[index, s] += coupling[s] * kmer_factor * total


@njit
def add_prefixes(table, starts):
    """Add to every entry those of its prefixes, so that a window reads one entry per position."""
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
def score_folded(
    codes, window_starts, is_reverse, length, rows, first, last, starts, table, out, is_adjoint
):
    """Add to out[i] the entries of the longest clean prefixes at first..last-1, for i in rows.

    A table of a single row is that of every position. If `is_adjoint`, do the adjoint: add out[i]
    to these entries.
    """
    span = starts.size
    top = np.uint64(2 * (span - 1))
    longest_level = starts[span - 1]
    flat = table.reshape(table.size)
    width = table.shape[1] if table.shape[0] > 1 else 0
    # letters up to span - 1 behind the last position belong to k-mers that begin there
    begin = min(last + span - 1, length) - 1
    for r in range(rows.size):
        i = rows[r]
        if is_reverse[i]:
            base, step, flip = window_starts[i] + length - 1 - begin, 1, np.uint64(3)
        else:
            base, step, flip = window_starts[i] + begin, -1, np.uint64(0)
        c = np.uint64(0)  # unsigned indices need no check for negative values
        n_clean = 0
        total = 0.0
        for l in range(begin, first - 1, -1):
            letter = np.uint64(codes[np.uint64(base)])
            base += step
            if letter > np.uint64(3):
                c, n_clean = np.uint64(0), 0
                continue
            c = (c >> np.uint64(2)) | ((letter ^ flip) << top)
            n_clean += 1
            if l >= last:
                continue
            row = (l - first) * width
            if n_clean >= span:  # else the window ends, or an N follows, before the longest k-mer
                entry = np.uint64(row + longest_level) + c
            else:
                entry = np.uint64(row + starts[n_clean - 1]) + (
                    c >> np.uint64(2 * (span - n_clean))
                )
            if is_adjoint:
                flat[entry] += out[i]
            else:
                total += flat[entry]
        out[i] += total


@njit
def fill_slots(codes, starts, is_reverse, length, rows, span, slots, indices):
    """Write the index of every slot of the given windows, reading N as A.

    Windows with N are then listed by :func:`fill_slots_with_n` instead.
    """
    position, depth, base, _, _ = slots
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
def fill_slots_with_n(
    codes, starts, is_reverse, length, rows, chosen, span, slots, n_weights, block
):
    """Write the entries of rows[chosen], whose windows contain N; other rows get none.

    F and E are those of :mod:`seqmtl.features.positional_rows`. There are three cases for a slot.
    Without N, its pair sum is read. If only the last letter is N, the prefix alone is read from
    the four siblings and E. With an earlier N, nothing is read.
    """
    position, depth, base, _, shares = slots
    indptr, indices, reads, writes, _, _ = block
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
            index = base[s] + (code[l] >> (2 * (span - depth[s])))
            first = index & ~np.int64(3)  # of the four siblings
            if clean[l] >= depth[s]:
                for q in range(4):
                    is_read = first + q == index
                    indices[p] = first + q
                    reads[p] = 1.0 if is_read else 0.0
                    writes[p] = shares[s, 1] + (shares[s, 0] if is_read else 0.0)
                    p += 1
            elif clean[l] == depth[s] - 1 and shares[s, 1] > 0.0:
                # A[prefix] = (sum of F + c E) / (c + 4 c'), times c' for the score
                part = shares[s, 1] / (shares[s, 0] + 4.0 * shares[s, 1])
                for q in range(4):
                    indices[p], reads[p], writes[p] = first + q, part, shares[s, 1]
                    p += 1
                indices[p], reads[p], writes[p] = n_weights + (index >> 2), part * shares[s, 0], 1.0
                p += 1
        if p == indptr[r]:  # without entries, the row would be read as slots
            indices[p], reads[p], writes[p] = 0, 0.0, 0.0
            p += 1
    indptr[done:] = p


@njit
def _read_letters(code, n, down, shifts, masks, letters):
    """Set letters[l] to the code of the letters that a pattern reads of code[l], for n bases."""
    for run in range(shifts.size):  # a loop over bases inside is one over vectors
        shift, mask = shifts[run] + down, masks[run]
        if run == 0:
            for l in range(n):
                letters[l] = (code[l] >> shift) & mask
        elif mask > 0:  # else the pattern has fewer runs than others
            for l in range(n):
                letters[l] |= (code[l] >> shift) & mask


@njit
def _complement(code, size):
    """Return the code of the reverse complement of a stretch of `size` letters."""
    c = ~np.uint64(code)
    for shift, mask in _SWAPS:
        c = ((c >> shift) & mask) | ((c & mask) << shift)
    return np.int64(c >> np.uint64(64 - 2 * size))


@njit
def _list_kmers(code, other, n, down, p, patterns, n_bits, kmers):
    """List the features of a pattern in n stretches; return one row a strand.

    `code` and `other` have the letters of a stretch and of its reverse complement; those of the
    first end with `down` bits of other letters. On both strands, a pattern that is its own mirror
    image lists the smaller of a k-mer and its reverse complement; another lists its k-mers on
    either strand, which are those of its mirror image on the other.
    """
    _, offset, strands, _, shifts, masks = patterns
    _read_letters(code, n, down, shifts[p], masks[p], kmers[0])
    if strands[p] > 0:
        _read_letters(other, n, 0, shifts[p], masks[p], kmers[1])
    if strands[p] == 1:
        for l in range(n):
            kmers[0, l] = min(kmers[0, l], kmers[1, l])
    listed = kmers[: 2 if strands[p] == 2 else 1]
    for strand in range(listed.shape[0]):
        for l in range(n):
            kmer = listed[strand, l]
            listed[strand, l] = offset[p] + kmer if n_bits == 0 else hash_index(p, kmer, n_bits)
    return listed


@njit
def list_patterns(codes, starts, is_reverse, length, rows, span, patterns, n_bits, scale, block):
    """Write the k-mers of the given windows, wherever they are, to the block."""
    extent, _, _, value, _, _ = patterns
    indptr, indices, values, _, _, _ = block
    code, clean, other = np.empty((3, length), np.int64)
    kmers = np.empty((2, length), np.int64)
    q = np.uint64(0)  # unsigned indices need no check of their sign
    for r in range(rows.size):
        i = rows[r]
        load_codes(codes, starts[i], is_reverse[i], length, span, code, clean)
        for l in range(length):
            other[l] = _complement(code[l], span)
        indptr[r] = q
        # most windows have no other letter, and their k-mers are copied as vectors
        is_clean = codes[starts[i] : starts[i] + length].max() < 4
        for p in range(extent.size):
            n, step = max(0, length - extent[p] + 1), value[p] * scale[i]
            listed = _list_kmers(code, other, n, 2 * (span - extent[p]), p, patterns, n_bits, kmers)
            for strand in range(listed.shape[0]):
                if is_clean:
                    for l in range(n):
                        at = q + np.uint64(l)
                        indices[at], values[at] = listed[strand, l], step
                    q += np.uint64(n)
                    continue
                for l in range(n):
                    if clean[l] >= extent[p]:
                        indices[q], values[q] = listed[strand, l], step
                        q += np.uint64(1)
    indptr[rows.size] = q


@njit
def fold_patterns(w, patterns, n_bits, starts, table, is_adjoint):
    """Add to table[stretch] the value times w[feature] of each k-mer in a stretch of its extent.

    If `is_adjoint`, do the adjoint: add value times table[stretch] to w[feature].
    """
    extent, _, _, value, _, _ = patterns
    code, other = np.empty((2, _STRETCHES), np.int64)
    kmers = np.empty((2, _STRETCHES), np.int64)
    for p in range(extent.size):
        n_stretches = np.int64(1) << (2 * extent[p])
        n = min(n_stretches, _STRETCHES)
        for first in range(0, n_stretches, n):
            for i in range(n):
                code[i] = first + i
                other[i] = _complement(first + i, extent[p])
            row = table[starts[extent[p] - 1] + first :]
            for strand in _list_kmers(code, other, n, 0, p, patterns, n_bits, kmers):
                for i in range(n):
                    feature = np.uint64(strand[i])
                    if is_adjoint:
                        w[feature] += value[p] * row[i]
                    else:
                        row[i] += value[p] * w[feature]
