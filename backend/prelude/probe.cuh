// Probes: sums over what each statement of a block wrote (isa/program/probe.h says what is added).
//
// The buffer of a launch, in words of 64 bits:
//
//   0  records of a block
//   1  the first block that is recorded
//   2  how many blocks are
//   3  entries of the table of buffers
//   4  the block and the record of which all values are kept, the record in the high half
//   5  bytes of each thread for these values
//   6  where their memory begins
//   7  where the records begin
//
// The table has two words for each buffer: its address and its bytes. The records of a block are
// the number of records that it made, the sum of those without room, and two words for each record:
// the sum, and the statement. Each thread's memory of values begins with the number of words that it
// wanted to keep.

namespace tv {

/// Words of 32 bits of a kept write to memory.
static const u32 probe_write_words = 4;

TV_FN u64 probe_mix(u64 x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}
TV_FN u64 probe_weight(u64 number) { return probe_mix(~number) | 1; }

/// The probe of a thread. Control flow is the same for all threads of a block, so they agree on
/// `next`.
struct Probe {
  const u8* buffer;
  u8* records;       ///< records of this block; null if it is not recorded
  u8* kept;          ///< values that this thread keeps; null unless they are kept
  const u8* shared;  ///< shared memory of the block, and its bytes
  u64 shared_bytes;
  u32 room;     ///< records of a block
  u32 next;     ///< the number of the record that is being made
  u32 target;   ///< the record of which values are kept
  u32 has_kept;  ///< words
  u64 sum;      ///< sum of this thread, for this record

  /// Where a byte lies: its buffer, and its distance from the begin of it.
  TV_FN u64 address_of(const u8* at) const {
    const u64 in_shared = reinterpret_cast<u64>(at) - reinterpret_cast<u64>(shared);
    if (in_shared < shared_bytes) return in_shared;
    const u32 buffers = load_as<u32>(buffer + 24);
    for (u32 i = 0; i < buffers; ++i) {
      const u64 distance = reinterpret_cast<u64>(at) - load_as<u64>(buffer + 64 + i * 16);
      if (distance < load_as<u64>(buffer + 72 + i * 16)) return (i + 1ull) << 48 | distance;
    }
    return 0xffffull << 48 | (reinterpret_cast<u64>(at) & 0xffffffffffffull);
  }

  TV_FN void keep(u32 word) {
    const u32 words = load_as<u32>(buffer + 40) / 4;
    const u32 at = ++has_kept;
    if (at < words) store_as<u32>(kept + at * 4, word);
  }
  TV_FN bool keeps() const { return kept != nullptr && next == target; }

  /// Bits of an aligned word of memory take a value.
  TV_FN void word(const u8* at, u32 mask, u32 value) {
    if (records == nullptr) return;
    const u64 address = address_of(at);
    sum += probe_mix(address + 1) * mask + probe_weight(address) * (value & mask);
    if (!keeps()) return;
    keep(static_cast<u32>(address));
    keep(static_cast<u32>(address >> 32));
    keep(mask);
    keep(value & mask);
  }

  /// The elements of a tile, of n bits each; bits that are not in `significant` do not count.
  template <int n, int locals>
  TV_FN void tile(const u32* words, Code<n> significant = low_mask<n>()) {
    if (records == nullptr) return;
    const u64 first = (1ull << 60) + static_cast<u64>(thread()) * locals;
    TV_UNROLL for (int i = 0; i < locals; ++i) {
      sum += probe_weight(first + i) * (get<n>(words, i) & significant);
    }
    if (!keeps()) return;
    TV_UNROLL for (int i = 0; i < (n * locals + 31) / 32; ++i) keep(words[i]);
  }
  TV_FN void scalar(u64 bits) {
    if (records == nullptr) return;
    sum += probe_weight((2ull << 60) + thread()) * bits;
    if (!keeps()) return;
    keep(static_cast<u32>(bits));
    keep(static_cast<u32>(bits >> 32));
  }

  /// Ends the record of a statement. Records without room share one sum.
  TV_FN void record(u32 statement) {
    if (records != nullptr) {
      const bool fits = next < room;
      add_to(fits ? records + 16 + next * 16ull : records + 8, sum);
      if (keeps()) store_as<u32>(kept, has_kept);
      if (thread() == 0) {
        if (fits) store_as<u32>(records + 24 + next * 16ull, statement);
        store_as<u32>(records, next + 1);
      }
    }
    ++next;
    sum = 0;
  }

  // What writes to memory, as the functions of the same names do, with its share of the record.
  template <int n, class Index>
  TV_FN void store(u8* data, Index index, Code<n> code) {
    if constexpr (n == 32 || n == 64) {
      bytes_at<n / 8>(data + index * (n / 8), code);
    } else if constexpr (n == 8 || n == 16) {
      part(data + static_cast<u64>(index) * (n / 8), n / 8, code);
    } else {
      // Whole groups of 32 elements fill n words.
      bits_at(data + static_cast<u64>(index / 32) * n * 4, static_cast<u64>(index % 32) * n, n, code);
    }
    tv::store<n>(data, index, code);
  }
  template <Combination op, class T, class Word>
  TV_FN void combine(u8* address, Word code) {
    bytes_at<sizeof(Word)>(address, code);
    tv::combine<op, T>(address, code);
  }
  TV_FN void add_f16(u8* address, u32 code) {
    part(address, 2, code);
    tv::add_f16(address, code);
  }
  TV_FN void add_bf16(u8* address, u32 code) {
    part(address, 2, code);
    tv::add_bf16(address, code);
  }
  template <int n, class... Policy>
  TV_FN void store_bytes(u8* at, const u32* words, int byte, Policy... policy) {
    if constexpr (n >= 4) {
      TV_UNROLL for (int i = 0; i < n / 4; ++i) word(at + i * 4, ~0u, words[byte / 4 + i]);
    } else {
      part(at, n, get<n * 8>(words, byte / n));
    }
    tv::store_bytes<n>(at, words, byte, policy...);
  }
  /// The words of a matrix's row lie in four threads.
  template <int count, bool transposed>
  TV_FN void stmatrix(u8* row, const u32* words) {
    const u32 lane = thread() % 32;
    const u64 mine = reinterpret_cast<u64>(row);
    TV_UNROLL for (int m = 0; m < count; ++m) {
      if constexpr (transposed) {
        TV_UNROLL for (u32 half = 0; half < 2; ++half) {
          const u32 from = m * 8 + lane % 4 * 2 + half;
          const u8* const at = row_of(mine, from) + lane / 4 * 2;
          part(at, 2, words[m] >> half * 16 & 0xffff);
        }
      } else {
        const u8* const at = row_of(mine, m * 8 + lane / 4) + lane % 4 * 4;
        word(at, ~0u, words[m]);
      }
    }
    tv::stmatrix<count, transposed>(row, words);
  }
  /// The values are those of the source, which nothing changes while a copy is under way.
  template <int bytes, class... Policy>
  TV_FN void cp_async(u8* to, const u8* from, u32 valid, Policy... policy) {
    TV_UNROLL for (u32 i = 0; i < bytes; i += 4) {
      u32 value = 0;
      for (u32 b = i; b < i + 4 && b < valid; ++b) {
        value |= static_cast<u32>(load_as<u8>(from + b)) << (b - i) * 8;
      }
      word(to + i, ~0u, value);
    }
    tv::cp_async<bytes>(to, from, valid, policy...);
  }
  template <int n, class Bulk, class... Policy>
  TV_FN void cp_async_bulk(const Bulk& bulk, u8* to, const u8* from, Policy... policy) {
    for (u32 i = 0; i < n; i += 4) word(to + i, ~0u, load_as<u32>(from + i));
    tv::cp_async_bulk<n>(bulk, to, from, policy...);
  }
  TV_FN void release_semaphore(u8* address, u32 value) {
    if (thread() == 0) word(address, ~0u, value);
    tv::release_semaphore(address, value);
  }
  TV_FN u32 atomic_add(u8* address, u32 value) {
    if (thread() == 0) word(address, ~0u, value);
    return tv::atomic_add(address, value);
  }
  template <Combination op, class T>
  TV_FN u32 atomic_combine(u8* address, u32 value) {
    if (thread() == 0) word(address, ~0u, value);
    return tv::atomic_combine<op, T>(address, value);
  }
  TV_FN u32 atomic_exchange(u8* address, u32 value) {
    if (thread() == 0) word(address, ~0u, value);
    return tv::atomic_exchange(address, value);
  }
  TV_FN u32 atomic_compare_exchange(u8* address, u32 value, u32 compare) {
    if (thread() == 0) word(address, ~0u, value);
    return tv::atomic_compare_exchange(address, value, compare);
  }

 private:
  TV_FN static const u8* row_of(u64 mine, u32 lane) {
    const u64 high = shfl_idx_warp(static_cast<u32>(mine >> 32), lane);
    return reinterpret_cast<const u8*>(high << 32 | shfl_idx_warp(static_cast<u32>(mine), lane));
  }
  template <int n>
  TV_FN void bytes_at(const u8* at, u64 value) {
    TV_UNROLL for (int i = 0; i < n / 4; ++i) {
      word(at + i * 4, ~0u, static_cast<u32>(value >> i * 32));
    }
  }
  /// One or two bytes at a multiple of that.
  TV_FN void part(const u8* at, u32 n, u32 value) {
    const u32 in_word = static_cast<u32>(reinterpret_cast<u64>(at) % 4), shift = in_word * 8;
    word(at - in_word, ((1u << n * 8) - 1) << shift, value << shift);
  }
  /// Up to 31 bits at a distance in bits from an aligned word.
  TV_FN void bits_at(const u8* data, u64 bit, u32 n, u32 code) {
    const u8* const at = data + bit / 32 * 4;
    const u32 shift = static_cast<u32>(bit % 32), mask = (1u << n) - 1;
    word(at, mask << shift, code << shift);
    if (shift + n > 32) word(at + 4, mask >> (32 - shift), code >> (32 - shift));
  }
};

TV_FN Probe probe(u8* buffer, const u8* shared, u64 shared_bytes) {
  const u64 block = block_number(), first = load_as<u64>(buffer + 8);
  Probe made;
  made.buffer = buffer;
  made.records = nullptr;
  made.kept = nullptr;
  made.shared = shared;
  made.shared_bytes = shared_bytes;
  made.room = load_as<u32>(buffer);
  made.next = 0;
  made.target = load_as<u32>(buffer + 36);
  made.has_kept = 0;
  made.sum = 0;
  if (block - first >= load_as<u64>(buffer + 16)) return made;
  made.records = buffer + load_as<u64>(buffer + 56) + (block - first) * (made.room + 1ull) * 16;
  if (block - first == load_as<u32>(buffer + 32)) {
    made.kept = buffer + load_as<u64>(buffer + 48) + static_cast<u64>(thread()) * load_as<u32>(buffer + 40);
  }
  return made;
}

}  // namespace tv
