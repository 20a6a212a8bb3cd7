// The machine, part 2, in plain C++: packed registers and views of global memory.

namespace tv {

// ---- Packed registers -------------------------------------------------------------------------
// A thread's share of a tile is a little-endian stream of its elements in words of 32 bits: element
// k of n bits occupies bits [k*n, (k+1)*n).

template <bool wide>
struct CodeOf {
  typedef u32 type;
};
template <>
struct CodeOf<true> {
  typedef u64 type;
};
/// An integer that holds a code of n bits.
template <int n>
using Code = typename CodeOf<(n > 32)>::type;

/// The low n bits set; none of the mantissa of f8e8m0.
template <int n>
TV_FN constexpr Code<n> low_mask() {
  if constexpr (n == 0) {
    return 0;
  } else {
    return static_cast<Code<n>>(~Code<n>{0}) >> (sizeof(Code<n>) * 8 - n);
  }
}

template <int n>
TV_FN Code<n> get(const u32* words, int place) {
  if constexpr (n == 64) {
    return words[2 * place] | static_cast<u64>(words[2 * place + 1]) << 32;
  } else if constexpr (n == 32) {
    return words[place];
  } else {
    const int bit = place * n, word = bit / 32, shift = bit % 32;
    u32 code = words[word] >> shift;
    if (32 % n != 0 && shift + n > 32) code |= words[word + 1] << (32 - shift);
    return code & low_mask<n>();
  }
}

template <int n>
TV_FN void put(u32* words, int place, Code<n> code) {
  if constexpr (n == 64) {
    words[2 * place] = static_cast<u32>(code);
    words[2 * place + 1] = static_cast<u32>(code >> 32);
  } else if constexpr (n == 32) {
    words[place] = code;
  } else {
    const int bit = place * n, word = bit / 32, shift = bit % 32;
    words[word] = (words[word] & ~(low_mask<n>() << shift)) | code << shift;
    if (32 % n != 0 && shift + n > 32) {
      words[word + 1] = (words[word + 1] & ~(low_mask<n>() >> (32 - shift))) | code >> (32 - shift);
    }
  }
}

// ---- Global memory ----------------------------------------------------------------------------

/// A view of global memory. Strides are in elements; views with a memory layout do not use them.
template <int rank>
struct View {
  u8* data;
  u64 extent[rank == 0 ? 1 : rank];
  u64 stride[rank == 0 ? 1 : rank];
};

/// An index or a stride; negative ones wrap, so that they lie outside of every extent.
template <class T>
TV_FN u64 index(T value) {
  return static_cast<u64>(value);
}

/// An index whose low 32 bits tell where it lies.
template <class T>
TV_FN u32 short_index(T value) {
  return static_cast<u32>(value);
}

/// Bytes of the first `left` of `count` elements of n bits, at most of all; whole bytes.
template <int count, int n>
TV_FN u32 valid_bytes(u64 left) {
  return left < count ? static_cast<u32>(left) * n / 8 : count * n / 8;
}

/// An extent; negative ones are faults.
template <class T>
TV_FN u64 extent(T value) {
  if (value < T{0}) fault();
  return static_cast<u64>(value);
}

/// XORs `bits` bits of an offset, `shift` above `base`, into those at `base`.
template <int base, int bits, int shift, class Index>
TV_FN Index swizzle(Index offset) {
  const u64 from = static_cast<u64>(offset);
  return static_cast<Index>(from ^ (from >> shift & static_cast<u64>(low_mask<bits>()) << base));
}

/// Element `index` (of 64 bits; of 32 in shared memory) of a dense stream of elements of n bits.
template <int n, class Index>
TV_FN Code<n> load(const u8* data, Index index) {
  if constexpr (n == 8) {
    return load_as<u8>(data + index);
  } else if constexpr (n == 16) {
    return load_as<u16>(data + index * 2);
  } else if constexpr (n == 32) {
    return load_as<u32>(data + index * 4);
  } else if constexpr (n == 64) {
    return load_as<u64>(data + index * 8);
  } else {
    // index * n may need more than 64 bits; whole groups of 8 elements fill n bytes.
    const u32 bit = static_cast<u32>(index % 8) * n;
    const u8* const at = data + index / 8 * n + bit / 8;
    const u32 shift = bit % 8;
    u32 code = load_as<u8>(at);
    if (shift + n > 8) code |= static_cast<u32>(load_as<u8>(at + 1)) << 8;
    return code >> shift & low_mask<n>();
  }
}

/// Only the element's own bits change, whoever writes the neighbours. `data` is aligned to words,
/// and whole words around an element are there.
template <int n, class Index>
TV_FN void store(u8* data, Index index, Code<n> code) {
  if constexpr (n == 8) {
    store_as<u8>(data + index, static_cast<u8>(code));
  } else if constexpr (n == 16) {
    store_as<u16>(data + index * 2, static_cast<u16>(code));
  } else if constexpr (n == 32) {
    store_as<u32>(data + index * 4, code);
  } else if constexpr (n == 64) {
    store_as<u64>(data + index * 8, code);
  } else {
    // Whole groups of 32 elements fill n words.
    const u32 bit = static_cast<u32>(index % 32) * n, shift = bit % 32;
    u8* const at = data + index / 32 * n * 4 + bit / 32 * 4;
    store_bits(at, low_mask<n>() << shift, code << shift);
    if (shift + n > 32) {
      store_bits(at + 4, low_mask<n>() >> (32 - shift), code >> (32 - shift));
    }
  }
}


/// Offsets of memory that is reached in whole bytes: those of `offset` elements of n bits. They may
/// be negative (a tile may begin before its view).
template <int n>
TV_FN i64 bytes(u64 offset) {
  return n % 8 == 0 ? static_cast<i64>(offset * (n / 8)) : static_cast<i64>(offset * n) >> 3;
}
template <int n>
TV_FN i32 bytes(u32 offset) {
  return n % 8 == 0 ? static_cast<i32>(offset * (n / 8)) : static_cast<i32>(offset * n) >> 3;
}

/// Loads n bytes to those of `words` from `byte` on; zeros if the element is not there.
template <int n>
TV_FN void load_bytes(u32* words, int byte, const u8* at, bool inside) {
  if constexpr (n >= 4) {
    u32 value[n / 4] = {};
    if (inside) load_words<n>(value, at);
    TV_UNROLL for (int i = 0; i < n / 4; ++i) words[byte / 4 + i] = value[i];
  } else {
    put<n * 8>(words, byte / n, inside ? load<n * 8>(at, 0u) : 0);
  }
}

/// With a policy for the L2 cache; accesses of less than a word have none.
template <int n>
TV_FN void load_bytes(u32* words, int byte, const u8* at, bool inside, u64 policy) {
  if constexpr (n >= 4) {
    u32 value[n / 4] = {};
    if (inside) load_words<n>(value, at, policy);
    TV_UNROLL for (int i = 0; i < n / 4; ++i) words[byte / 4 + i] = value[i];
  } else {
    load_bytes<n>(words, byte, at, inside);
  }
}

template <int n>
TV_FN void store_bytes(u8* at, const u32* words, int byte) {
  if constexpr (n >= 4) {
    store_words<n>(at, words + byte / 4);
  } else {
    store<n * 8>(at, 0u, get<n * 8>(words, byte / n));
  }
}

template <int n>
TV_FN void store_bytes(u8* at, const u32* words, int byte, u64 policy) {
  if constexpr (n >= 4) {
    store_words<n>(at, words + byte / 4, policy);
  } else {
    store_bytes<n>(at, words, byte);
  }
}

}  // namespace tv
