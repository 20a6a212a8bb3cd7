// Assertions that fail, in plain C++ over the functions above.

namespace tv {

/// The first place of a thread's `count` bits that is 0; `count` if none is.
template <int count>
TV_FN u32 first_false(const u32* words) {
  u32 first = count;
  TV_UNROLL
  for (int word = (count + 31) / 32 - 1; word >= 0; --word) {
    const u32 rest = count - word * 32 < 32 ? ~0u << (count - word * 32) % 32 : 0u;
    const u32 zeros = ~(words[word] | rest);
    if (zeros != 0) first = word * 32 + 63 - leading_zeros(zeros & (0 - zeros));
  }
  return first;
}

/// Says which assertion failed and ends the launch. The record (isa/analysis/assertion.h) is memory
/// of the host, since nothing else can be read after a fault; it may be null. It is written by one
/// store, so that it is that of one thread.
TV_LONG_FN void assertion_failed(u8* record, u32 kernel, u32 statement, u32 place) {
  const u64 block = block_number();
  const u32 words[4] = {statement + 1, place | kernel << 16,
                        thread() | static_cast<u32>(block) << 10, static_cast<u32>(block >> 22)};
  if (record != nullptr) {
    store_words<16>(record, words);
    fence_for_host();
  }
  fault();
}

}  // namespace tv
