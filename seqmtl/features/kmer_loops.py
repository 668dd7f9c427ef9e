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

    If `is_adjoint`, do the adjoint: add out[i] to these entries.
    """
    span = starts.size
    top = np.uint64(2 * (span - 1))
    longest_level = starts[span - 1]
    flat, width = table.reshape(table.size), table.shape[1]
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
            if (
                n_clean >= span
            ):  # else the window ends, or an N follows, before the longest k-mer does
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
def _complements(code, span, other):
    """Set other[l] to the code of the reverse complement of the span letters from base l on."""
    top = 2 * (span - 1)
    c = np.int64(0)  # its last letter is the complement of the first
    for l in range(code.size - 1, -1, -1):
        c = ((c << 2) | (3 - (code[l] >> top))) & ((np.int64(4) << top) - 1)
        other[l] = c


@njit
def _space(length):
    """Return space for codes, clean lengths, codes of the other strand, and k-mers of both."""
    numbers = np.empty((5, length), np.int64)
    return numbers[0], numbers[1], numbers[2], numbers[3:]


@njit
def _read_window(codes, start, is_reverse, length, span, code, clean, other):
    """Compute the codes of the next span letters on both strands, and the clean lengths."""
    load_codes(codes, start, is_reverse, length, span, code, clean)
    _complements(code, span, other)


@njit
def _list_kmers(code, clean, other, n, span, p, patterns, n_bits, kmers):
    """List the k-mers of a pattern at the first n bases, -1 for none; return one row a strand.

    On both strands, a pattern that is its own mirror image lists the smaller of a k-mer and its
    reverse complement; another lists its k-mers on either strand, which are those of its mirror
    image on the other.
    """
    size, strands = patterns[0][p], patterns[3][p]
    shifts, masks = patterns[4][p], patterns[5][p]
    _read_letters(code, n, 2 * (span - size), shifts, masks, kmers[0])
    if strands > 0:
        _read_letters(other, n, 0, shifts, masks, kmers[1])
    if strands == 1:
        for l in range(n):
            kmers[0, l] = min(kmers[0, l], kmers[1, l])
    listed = kmers[: 2 if strands == 2 else 1]
    for strand in range(listed.shape[0]):
        for l in range(n):
            kmer = listed[strand, l]
            if n_bits > 0:
                kmer = hash_index(p, kmer, n_bits)
            listed[strand, l] = kmer if clean[l] >= size else -1
    return listed


@njit
def _change_count(kmer, step, w, value, square, counts):
    """Count a k-mer in (step 1) or out (-1), unless it is -1; return how sums change.

    They are the sums over all k-mers u of w_u s(n_u), in whole units, and of s(n_u)**2.
    """
    if kmer < 0:
        return np.int64(0), np.int64(0)
    u = np.uint64(kmer)  # unsigned indices need no check of their sign
    n, m = np.uint64(counts[u]), np.uint64(counts[u] + step)
    counts[u] += step
    return np.int64(w[u] * value[m]) - np.int64(w[u] * value[n]), square[m] - square[n]


@njit
def _change_counts(kmers, first, last, step, w, value, square, counts):
    """Count the k-mers of the bases from first to last; return how sums change."""
    total = norm = np.int64(0)
    for strand in range(kmers.shape[0]):
        for l in range(first, last):
            change = _change_count(kmers[strand, l], step, w, value, square, counts)
            total, norm = total + change[0], norm + change[1]
    return total, norm


@njit
def _shift_counts(kmers, first, last, step, counts):
    """Count k-mers as :func:`_change_counts` does, without the sums."""
    for strand in range(kmers.shape[0]):
        for l in range(first, last):
            if kmers[strand, l] >= 0:
                counts[np.uint64(kmers[strand, l])] += step


@njit
def _ends_view(p, view):
    """Return whether a pattern is the last one of its view."""
    return p + 1 == view.size or view[p + 1] != view[p]


@njit
def _scale(total, weight, norm):
    """Return a sum over the k-mers of a view, divided by their norm, times the root weight."""
    return total * np.sqrt(weight / norm) if norm > 0 else 0.0


@njit
def count_rows(
    codes, starts, is_reverse, length, rows, span, patterns, views, n_bits, counts, block
):
    """Write the k-mers of the given windows, wherever they are, to the block.

    A pattern says which letters are read, in runs without a gap. The values of a view are divided
    by their norm. ``counts`` is 0 before and after.
    """
    extent, offset, view, _, _, _ = patterns
    weight, transform = views
    indptr, indices, values, _, _, _ = block
    code, clean, other, kmers = _space(length)
    q = 0
    for r in range(rows.size):
        i = rows[r]
        _read_window(codes, starts[i], is_reverse[i], length, span, code, clean, other)
        indptr[r] = q
        first, n_kmers = q, 0
        for p in range(extent.size):
            v, n, first_index = view[p], max(0, length - extent[p] + 1), np.uint64(offset[p])
            listed = _list_kmers(code, clean, other, n, span, p, patterns, n_bits, kmers)
            _shift_counts(listed, 0, n, 1, counts)
            for strand in range(listed.shape[0]):
                for l in range(n):
                    if listed[strand, l] < 0:
                        continue
                    u = np.uint64(listed[strand, l])
                    n_kmers += 1
                    if counts[u] > 0:  # else it is written already
                        indices[np.uint64(q)], values[np.uint64(q)] = u + first_index, counts[u]
                        counts[u] = 0
                        q += 1
            if not _ends_view(p, view):
                continue
            square = 0.0
            if transform[v] == 0:
                square += n_kmers
            elif transform[v] == 1:
                square += q - first
            else:
                for m in range(first, q):
                    square += values[m] * values[m]
            factor = _scale(1.0, weight[v], square)
            for m in range(first, q):
                if transform[v] == 0:
                    values[m] = factor * np.sqrt(values[m])
                elif transform[v] == 1:
                    values[m] = factor
                else:
                    values[m] *= factor
            first, n_kmers = q, 0
    indptr[rows.size] = q


@njit
def clean_lengths(codes, starts, length, rows, span, longest):
    """Set longest[i] to the number of letters without another, span at most, of each window."""
    for i in rows:
        n_clean = best = 0
        for l in range(starts[i], starts[i] + length):
            n_clean = n_clean + 1 if codes[l] < 4 else 0
            best = max(best, n_clean)
        longest[i] = min(best, span)


# The following loops take ``scaled``, the weights w in units of their sums, which are whole numbers
# of units: exact, and the same in any order. ``counts`` is 0 before and after.


@njit
def score_counts(
    codes, starts, is_reverse, length, rows, span, patterns, n_bits, views, scaled, counts, out
):
    """Set out[i] to the score of each window in units, without an intercept."""
    extent, offset, view, _, _, _ = patterns
    weight, values, squares = views
    code, clean, other, kmers = _space(length)
    for i in rows:
        _read_window(codes, starts[i], is_reverse[i], length, span, code, clean, other)
        out[i] = 0.0
        total = norm = np.int64(0)
        for p in range(extent.size):
            v, n = view[p], max(0, length - extent[p] + 1)
            w, value, square = scaled[offset[p] :], values[v], squares[v]
            listed = _list_kmers(code, clean, other, n, span, p, patterns, n_bits, kmers)
            change = _change_counts(listed, 0, n, 1, w, value, square, counts)
            total, norm = total + change[0], norm + change[1]
            _shift_counts(listed, 0, n, -1, counts)
            if _ends_view(p, view):
                out[i] += _scale(total, weight[v], norm)
                total = norm = np.int64(0)


@njit
def slide_windows(codes, is_reverse, length, span, patterns, n_bits, views, scaled, counts, out):
    """Add to out[i] the score of the window at base i of a sequence in units.

    From one window to the next, a k-mer of each pattern leaves and another one enters. Either
    changes two terms w_u s(n_u).
    """
    extent, offset, view, _, _, _ = patterns
    weight, values, squares = views
    n_windows = codes.size - length + 1
    code, clean, other, kmers = _space(codes.size)
    _read_window(codes, 0, is_reverse, codes.size, span, code, clean, other)
    totals = np.zeros(n_windows, np.int64)
    norms = np.zeros(n_windows, np.int64)
    for p in range(extent.size):
        v = view[p]
        w, value, square = scaled[offset[p] :], values[v], squares[v]
        n_here = length - extent[p]  # bases from the first k-mer of a window to the last
        n = n_windows + n_here if n_here >= 0 else 0
        listed = _list_kmers(code, clean, other, n, span, p, patterns, n_bits, kmers)
        total = norm = np.int64(0)
        for l in range(n):
            first = l - n_here  # base of the window with this last k-mer
            for strand in range(listed.shape[0]):
                change = _change_count(listed[strand, l], 1, w, value, square, counts)
                total, norm = total + change[0], norm + change[1]
                if first > 0:
                    change = _change_count(listed[strand, first - 1], -1, w, value, square, counts)
                    total, norm = total + change[0], norm + change[1]
            if first >= 0:
                totals[first] += total
                norms[first] += norm
        _shift_counts(listed, n_windows - 1 if n > 0 else 0, n, -1, counts)  # of the last window
        if _ends_view(p, view):
            for i in range(n_windows):
                out[i] += _scale(totals[i], weight[v], norms[i])
                totals[i] = norms[i] = 0


@njit
def share_weights(
    codes,
    starts,
    is_reverse,
    length,
    rows,
    span,
    patterns,
    n_bits,
    views,
    scaled,
    counts,
    reads,
    out,
):
    """Add to out[r, l] the part of base l in the score of each window, in units.

    Bases are in reading direction. The term of a k-mer is shared by its occurrences, and by their
    letters: ``reads[p, j]`` tells whether pattern p has a letter at base j.
    """
    extent, offset, view, _, _, _ = patterns
    weight, values, squares = views
    code, clean, other, kmers = _space(length)
    parts = np.zeros(length)
    for r in range(rows.size):
        i = rows[r]
        _read_window(codes, starts[i], is_reverse[i], length, span, code, clean, other)
        norm = np.int64(0)
        for p in range(extent.size):
            v, size = view[p], extent[p]
            w, value, square = scaled[offset[p] :], values[v], squares[v]
            n = max(0, length - size + 1)
            listed = _list_kmers(code, clean, other, n, span, p, patterns, n_bits, kmers)
            norm += _change_counts(listed, 0, n, 1, w, value, square, counts)[1]
            n_letters = reads[p].sum()
            for strand in range(listed.shape[0]):
                for l in range(n):
                    u = listed[strand, l]
                    if u < 0:
                        continue
                    part = w[u] * value[counts[u]] / (counts[u] * n_letters)
                    for j in range(size):
                        if reads[p, j]:
                            parts[l + (size - 1 - j if strand == 1 else j)] += part
            _shift_counts(listed, 0, n, -1, counts)
            if _ends_view(p, view):
                factor = _scale(1.0, weight[v], norm)
                for l in range(length):
                    out[r, l] += factor * parts[l]
                    parts[l] = 0.0
                norm = np.int64(0)


@njit
def substitute_letters(
    codes, starts, is_reverse, length, rows, span, patterns, n_bits, views, scaled, counts, out
):
    """Add to out[r, l, a] the change of the score with letter a at base l, in units.

    Bases are in reading direction. Only the k-mers that cover the base change.
    """
    extent, offset, view, _, _, _ = patterns
    weight, values, squares = views
    code, clean, other, kmers = _space(length)
    # the bases around a substitution
    letters = np.empty(length, codes.dtype)
    near = np.empty(2 * span, codes.dtype)
    near_code, near_clean, near_other, near_kmers = _space(2 * span)
    totals = np.zeros((length, 4), np.int64)
    norms = np.zeros((length, 4), np.int64)
    for r in range(rows.size):
        i = rows[r]
        for l in range(length):
            letter = codes[starts[i] + (length - 1 - l if is_reverse[i] else l)]
            letters[l] = 3 - letter if is_reverse[i] and letter < 4 else letter
        _read_window(letters, 0, False, length, span, code, clean, other)
        total = norm = np.int64(0)
        for p in range(extent.size):
            v, size = view[p], extent[p]
            w, value, square = scaled[offset[p] :], values[v], squares[v]
            n = max(0, length - size + 1)
            listed = _list_kmers(code, clean, other, n, span, p, patterns, n_bits, kmers)
            change = _change_counts(listed, 0, n, 1, w, value, square, counts)
            total, norm = total + change[0], norm + change[1]
            for l in range(length):
                begin, end = max(0, l - size + 1), min(length, l + size)
                n_bases, n_near = end - begin, end - begin - size + 1  # k-mers that cover base l
                if n_near <= 0:
                    continue
                last = begin + n_near
                for a in range(4):
                    if a == letters[l]:
                        continue
                    near[:n_bases] = letters[begin:end]
                    near[l - begin] = a
                    _read_window(
                        near, 0, False, n_bases, span, near_code[:n_bases], near_clean, near_other
                    )
                    others = _list_kmers(
                        near_code, near_clean, near_other, n_near, span, p, patterns, n_bits,
                        near_kmers,
                    )  # fmt: skip
                    change = _change_counts(listed, begin, last, -1, w, value, square, counts)
                    totals[l, a] += change[0]
                    norms[l, a] += change[1]
                    change = _change_counts(others, 0, n_near, 1, w, value, square, counts)
                    totals[l, a] += change[0]
                    norms[l, a] += change[1]
                    _shift_counts(others, 0, n_near, -1, counts)
                    _shift_counts(listed, begin, last, 1, counts)
            _shift_counts(listed, 0, n, -1, counts)
            if _ends_view(p, view):
                before = _scale(total, weight[v], norm)
                for l in range(length):
                    for a in range(4):
                        if a != letters[l]:
                            after = _scale(total + totals[l, a], weight[v], norm + norms[l, a])
                            out[r, l, a] += after - before
                        totals[l, a] = norms[l, a] = 0
                total = norm = np.int64(0)


@njit
def index_kmers(p, n_bits, indices):
    """Hash all k-mers of a pattern."""
    for kmer in range(indices.size):
        indices[kmer] = hash_index(p, kmer, n_bits)
