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
  u32 bytes = 0;
  TV_UNROLL
  for (int e = 0; e < 4; ++e) {
    if (first + e >= entries) break;
    bytes |= (static_cast<u32>(get<n>(table, first + e)) >> 8 * plane & 0xffu) << 8 * e;
  }
  return bytes;
}

/// Which entries four nibbles name: their places among eight entries, and which eight.
struct FourEntries {
  u32 place, half;
};
/// The same of eight nibbles, of which the first four count.
template <int entries>
TV_FN FourEntries entries_of(u32 nibbles) {
  if constexpr (entries <= 8) return {nibbles & 0x77777777u, 0};
  return {nibbles & 0x77777777u, choose_bits(nibbles >> 1, 0x32103210u, 0x44444444u)};
}

/// Byte `plane` of each of the four.
template <int n, int entries>
TV_FN u32 plane_of(const u32* table, const FourEntries& four, int plane) {
  const u32 low = permute_bytes(four_bytes<n, entries>(table, 0, plane),
                                four_bytes<n, entries>(table, 4, plane), four.place);
  if constexpr (entries <= 8) {
    return low;
  } else {
    const u32 high = permute_bytes(four_bytes<n, entries>(table, 8, plane),
                                   four_bytes<n, entries>(table, 12, plane), four.place);
    return permute_bytes(low, high, four.half);
  }
}

/// The four entries, one after the other.
template <int n, int entries>
TV_FN void take_four(u32* d, const u32* table, const FourEntries& four) {
  const u32 first = plane_of<n, entries>(table, four, 0);
  if constexpr (n == 8) {
    d[0] = first;
  } else {
    const u32 second = plane_of<n, entries>(table, four, 1);
    const u32 low = permute_bytes(first, second, 0x5140), high = permute_bytes(first, second, 0x7362);
    if constexpr (n == 16) {
      d[0] = low;
      d[1] = high;
    } else {
      const u32 third = plane_of<n, entries>(table, four, 2);
      const u32 fourth = plane_of<n, entries>(table, four, 3);
      const u32 low_top = permute_bytes(third, fourth, 0x5140);
      const u32 high_top = permute_bytes(third, fourth, 0x7362);
      d[0] = permute_bytes(low, low_top, 0x5410);
      d[1] = permute_bytes(low, low_top, 0x7632);
      d[2] = permute_bytes(high, high_top, 0x5410);
      d[3] = permute_bytes(high, high_top, 0x7632);
    }
  }
}

/// d[i] = table[index[i]] of `entries` entries of n bits and `count` indices of w bits. An index that
/// the table does not have is a fault of the program, and gives any entry.
template <int n, int entries, int w, int count>
TV_FN void look_up(u32* d, const u32* table, const u32* index) {
  constexpr bool by_bytes = entries <= 16 && (n == 8 || n == 16 || n == 32) && count >= 4;
  constexpr int whole = by_bytes ? count / 4 * 4 : 0;
  if constexpr (by_bytes) {
    TV_UNROLL
    for (int i = 0; i < whole; i += 8) {
      const FourEntries eight = entries_of<entries>(eight_indices<w, count>(index, i));
      take_four<n, entries>(d + i * n / 32, table, eight);
      if (i + 4 < whole) {
        take_four<n, entries>(d + (i + 4) * n / 32, table, {eight.place >> 16, eight.half >> 16});
      }
    }
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
