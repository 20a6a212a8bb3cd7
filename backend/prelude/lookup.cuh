// The machine, part 10, in plain C++: tables in registers.

namespace tv {

/// The eight codes of w bits at the begin of a word as nibbles: halves, quarters and eighths move
/// apart, and drag bits along that the last step leaves out.
template <int w>
TV_FN u32 as_nibbles(u32 codes) {
  constexpr u32 mask = low_mask<w>() * 0x11111111u;
  if constexpr (w == 4) return codes;
  u32 spread = choose_bits(codes, codes << (16 - 4 * w), 0xffffu);
  spread = choose_bits(spread, spread << (8 - 2 * w), 0x00ff00ffu);
  return choose_bits(spread, spread << (4 - w), 0x0f0f0f0fu) & mask;
}

/// Eight indices from element i on, a multiple of 8, as nibbles.
template <int w, int count>
TV_FN u32 eight_indices(const u32* index, int i) {
  if constexpr (w <= 4) {
    const int bit = i * w, word = bit / 32, shift = bit % 32;
    u32 codes = index[word] >> shift;
    if (shift + 8 * w > 32 && (word + 1) * 32 < count * w) codes |= index[word + 1] << (32 - shift);
    return as_nibbles<w>(codes);
  } else {
    u32 nibbles = 0;
    TV_UNROLL
    for (int k = 0; k < 8; ++k) {
      if (i + k < count) nibbles |= (static_cast<u32>(get<w>(index, i + k)) & 0xfu) << 4 * k;
    }
    return nibbles;
  }
}

/// Byte `plane` of the four entries from `first` on.
template <int n, int entries>
TV_FN u32 four_bytes(const u32* table, int first, int plane) {
  if (first >= entries) return 0;
  u32 bytes = 0;
  TV_UNROLL
  for (int e = 0; e < 4; ++e) {
    if (first + e >= entries) break;
    bytes |= (static_cast<u32>(get<n>(table, first + e)) >> 8 * plane & 0xffu) << 8 * e;
  }
  return bytes | unseen_zero();
}

/// Which entries four codes name, in the low half of words: nibbles of their places among eight
/// entries, and which eight. `swapped`: in the order 0, 2, 1, 3.
template <bool swapped>
struct FourEntries {
  u32 place, half;
};

/// Looks up eight nibbles, of which the first four count.
template <int entries>
TV_FN FourEntries<false> entries_of(u32 nibbles) {
  if constexpr (entries <= 8) return {nibbles & 0x77777777u, 0};
  return {nibbles & 0x77777777u, choose_bits(nibbles >> 1, 0x32103210u, 0x44444444u)};
}

/// Byte `plane` of each of the four.
template <int n, int entries, bool swapped>
TV_FN u32 plane_of(const u32* table, const FourEntries<swapped>& four, int plane) {
  const u32 low = pick_bytes(four_bytes<n, entries>(table, 0, plane),
                             four_bytes<n, entries>(table, 4, plane), four.place);
  if constexpr (entries <= 8) {
    return low;
  } else {
    const u32 high = pick_bytes(four_bytes<n, entries>(table, 8, plane),
                                four_bytes<n, entries>(table, 12, plane), four.place);
    return pick_bytes(low, high, four.half);
  }
}

/// The four entries, one after the other.
template <int n, int entries, bool swapped>
TV_FN void take_four(u32* d, const u32* table, const FourEntries<swapped>& four) {
  const u32 first = plane_of<n, entries>(table, four, 0);
  if constexpr (n == 8) {
    d[0] = swapped ? permute_bytes(first, 0, 0x3120) : first;
  } else {
    constexpr u32 front = swapped ? 0x6240 : 0x5140, back = swapped ? 0x7351 : 0x7362;
    const u32 second = plane_of<n, entries>(table, four, 1);
    const u32 low = permute_bytes(first, second, front), high = permute_bytes(first, second, back);
    if constexpr (n == 16) {
      d[0] = low;
      d[1] = high;
    } else {
      const u32 third = plane_of<n, entries>(table, four, 2);
      const u32 fourth = plane_of<n, entries>(table, four, 3);
      const u32 low_top = permute_bytes(third, fourth, front);
      const u32 high_top = permute_bytes(third, fourth, back);
      d[0] = permute_bytes(low, low_top, 0x5410);
      d[1] = permute_bytes(low, low_top, 0x7632);
      d[2] = permute_bytes(high, high_top, 0x5410);
      d[3] = permute_bytes(high, high_top, 0x7632);
    }
  }
}

/// The first `whole` entries, a multiple of four, for codes of two bits. Even codes of a word are its
/// nibbles but for a mask, and odd ones after a shift; a byte of both names four entries in the
/// order 0, 2, 1, 3.
template <int n, int entries, int whole>
TV_FN void take_pairs(u32* d, const u32* table, const u32* index) {
  TV_UNROLL
  for (int i = 0; i < whole; i += 4) {
    const u32 even = index[i / 16] & 0x33333333u, odd = index[i / 16] >> 2 & 0x33333333u;
    const u32 byte = i % 16 / 4;
    const FourEntries<true> four{permute_bytes(even, odd, (4 + byte) << 4 | byte), 0};
    take_four<n, entries>(d + i * n / 32, table, four);
  }
}

/// Four codes of three bits in each half of a word, from bit `first` (0 or 4) of it on, as nibbles.
template <int first>
TV_FN u32 halves_as_nibbles(u32 codes) {
  const u32 raised = first == 0 ? codes << 2 : codes >> (first - 2);
  const u32 pairs = choose_bits(codes >> first, raised, 0x003f003fu);
  return choose_bits(pairs, pairs << 1, 0x0f0f0f0fu) & 0x77777777u;
}

/// The first `whole` entries, a multiple of 16, for codes of three bits. One permute takes codes 0
/// to 3 and 8 to 11 of six bytes with 16 codes apart, and one the others; no code crosses a half.
template <int n, int entries, int whole>
TV_FN void take_sixteens(u32* d, const u32* table, const u32* index) {
  TV_UNROLL
  for (int i = 0; i < whole; i += 16) {
    const int byte = i * 3 / 8, word = byte / 4;
    const u32 skipped = static_cast<u32>(byte) % 4 * 0x1111u;
    const u32 begin = permute_bytes(index[word], index[word + 1], 0x4310u + skipped);
    const u32 end = permute_bytes(index[word], index[word + 1], 0x5421u + skipped);
    const u32 nibbles[] = {halves_as_nibbles<0>(begin), halves_as_nibbles<4>(end)};
    TV_UNROLL
    for (int four = 0; four < 4; ++four) {
      const FourEntries<false> places{nibbles[four % 2] >> four / 2 * 16, 0};
      take_four<n, entries>(d + (i + 4 * four) * n / 32, table, places);
    }
  }
}

/// Entries from `begin` to `end`, multiples of eight and of four, for any codes.
template <int n, int entries, int w, int count, int begin, int end>
TV_FN void take_eights(u32* d, const u32* table, const u32* index) {
  TV_UNROLL
  for (int i = begin; i < end; i += 8) {
    const FourEntries<false> eight = entries_of<entries>(eight_indices<w, count>(index, i));
    take_four<n, entries>(d + i * n / 32, table, eight);
    if (i + 4 < end) {
      const FourEntries<false> others{eight.place >> 16, eight.half >> 16};
      take_four<n, entries>(d + (i + 4) * n / 32, table, others);
    }
  }
}

/// d[i] = table[index[i]] of `entries` entries of n bits and `count` indices of w bits. An index that
/// the table does not have is a fault of the program, and gives any entry.
template <int n, int entries, int w, int count>
TV_FN void look_up(u32* d, const u32* table, const u32* index) {
  constexpr bool by_bytes = entries <= 16 && (n == 8 || n == 16 || n == 32) && count >= 4;
  constexpr int whole = by_bytes ? count / 4 * 4 : 0;
  if constexpr (by_bytes && w == 2 && entries <= 8) {
    take_pairs<n, entries, whole>(d, table, index);
  } else if constexpr (by_bytes) {
    constexpr int sixteens = w == 3 && entries <= 8 ? whole / 16 * 16 : 0;
    take_sixteens<n, entries, sixteens>(d, table, index);
    take_eights<n, entries, w, count, sixteens, whole>(d, table, index);
  }
  TV_UNROLL
  for (int i = whole; i < count; ++i) {
    Code<n> chosen = get<n>(table, 0);
    TV_UNROLL
    for (int e = 1; e < entries; ++e) {
      if (get<w>(index, i) == static_cast<Code<w>>(e)) chosen = get<n>(table, e);
    }
    put<n>(d, i, chosen);
  }
}

}  // namespace tv
