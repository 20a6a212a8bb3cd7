// The range of a tensor: codes become keys, unsigned numbers in the order of the values.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>

#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "vm/data/compare.h"

namespace tilevm::vm {
namespace {

/// What makes a key of a code, and tells NaN and Inf.
template <class Key>
struct KeyRule {
  explicit KeyRule(const isa::DType& type)
      : unused(type.unused_bits()),
        sign(static_cast<Key>(std::uint64_t{1} << (type.bits - 1U - unused))),
        is_signed_float(type.is_float() && type.has_sign()),
        flips_sign(type.is_signed_int()),
        greatest(static_cast<Key>(isa::low_mask(type.bits - unused))),
        infinity(greatest) {
    if (!type.is_float()) return;
    greatest = static_cast<Key>(isa::max_code(type) >> unused);
    infinity = greatest;
    if (type.specials() == isa::Specials::ieee) ++infinity;
  }

  unsigned unused;
  Key sign;
  bool is_signed_float, flips_sign;
  Key greatest;  ///< magnitude (without a sign: code) of the greatest finite value
  Key infinity;  ///< key of Inf; without one the greatest again. Above is NaN
};

template <class Key>
struct Extremes {
  Key lowest = std::numeric_limits<Key>::max();
  Key highest = 0;
  bool any = false;  ///< a number
  std::size_t nan = 0, inf = 0;
};

template <bool is_signed_float, class Key>
Key key_of(const KeyRule<Key>& rule, Key code) {
  code = static_cast<Key>(code >> rule.unused);
  if constexpr (is_signed_float) {
    const auto magnitude = static_cast<Key>(code & (rule.sign - 1U));
    const auto negative = static_cast<Key>(rule.sign - 1U - magnitude);
    return (code & rule.sign) != 0 ? negative : code | rule.sign;
  } else {
    return rule.flips_sign ? static_cast<Key>(code ^ rule.sign) : code;
  }
}

template <bool is_signed_float, class Key>
bool is_nan(const KeyRule<Key>& rule, Key code) {
  code = static_cast<Key>(code >> rule.unused);
  if constexpr (is_signed_float) code = static_cast<Key>(code & (rule.sign - 1U));
  return code > rule.infinity;
}

template <bool is_signed_float, class Key>
Extremes<Key> extremes_of(const KeyRule<Key>& rule, std::span<const Key> codes) {
  Extremes<Key> result;
  Key lowest = result.lowest, highest = 0;
  std::uint32_t nan = 0, beyond = 0;
  for (const Key code : codes) {
    const Key key = key_of<is_signed_float>(rule, code);
    auto magnitude = static_cast<Key>(code >> rule.unused);
    if constexpr (is_signed_float) magnitude = static_cast<Key>(magnitude & (rule.sign - 1U));
    const bool missing = magnitude > rule.infinity;
    nan += missing ? 1U : 0U;
    beyond += magnitude > rule.greatest ? 1U : 0U;
    const Key low = missing ? std::numeric_limits<Key>::max() : key;
    const Key high = missing ? Key{0} : key;
    lowest = low < lowest ? low : lowest;
    highest = high > highest ? high : highest;
  }
  return {lowest, highest, nan < codes.size(), nan, beyond - nan};
}

/// Takes codes block by block. The place of an extreme is looked for at the end, in the first block
/// that has it.
template <bool is_signed_float, class Key, class ReadBlock>
Summary summarize_keys(const isa::DType& type, std::size_t size, ReadBlock read_block) {
  constexpr std::size_t block = 4096;
  std::array<Key, block> buffer;
  const KeyRule<Key> rule(type);
  Extremes<Key> all;
  std::size_t lowest_block = 0, highest_block = 0;
  const auto codes_at = [&](std::size_t begin) -> std::span<const Key> {
    return read_block(begin, std::min(block, size - begin), buffer.data());
  };
  for (std::size_t begin = 0; begin < size; begin += block) {
    const Extremes<Key> here = extremes_of<is_signed_float>(rule, codes_at(begin));
    all.nan += here.nan;
    all.inf += here.inf;
    if (!here.any) continue;
    if (!all.any || here.lowest < all.lowest) lowest_block = begin;
    if (!all.any || here.highest > all.highest) highest_block = begin;
    all.lowest = std::min(all.lowest, here.lowest);
    all.highest = std::max(all.highest, here.highest);
    all.any = true;
  }
  const auto find = [&](std::size_t begin, Key key) {
    const std::span<const Key> codes = codes_at(begin);
    std::size_t i = 0;
    while (key_of<is_signed_float>(rule, codes[i]) != key ||
           is_nan<is_signed_float>(rule, codes[i])) {
      ++i;
    }
    return begin + i;
  };
  Summary summary{{}, all.nan, all.inf};
  if (all.any)
    summary.range = Range{find(lowest_block, all.lowest), find(highest_block, all.highest)};
  return summary;
}

template <class Key, class ReadBlock>
Summary summarize_as(const HostTensor& tensor, ReadBlock read_block) {
  const isa::DType& type = tensor.dtype;
  return type.is_float() && type.has_sign()
             ? summarize_keys<true, Key>(type, tensor.size(), read_block)
             : summarize_keys<false, Key>(type, tensor.size(), read_block);
}

template <class Key>
Summary summarize_whole(const HostTensor& tensor) {
  return summarize_as<Key>(tensor, [&](std::size_t begin, std::size_t count, Key* buffer) {
    std::memcpy(buffer, tensor.data.data() + begin * sizeof(Key), count * sizeof(Key));
    return std::span<const Key>(buffer, count);
  });
}

/// Elements narrower than a byte; a block begins at a whole byte.
Summary summarize_narrow(const HostTensor& tensor) {
  using Key = std::uint8_t;
  const unsigned bits = tensor.dtype.bits;
  return summarize_as<Key>(tensor, [&, bits](std::size_t begin, std::size_t count, Key* buffer) {
    const std::uint64_t mask = isa::low_mask(bits);
    const std::uint8_t* const data = tensor.data.data();
    std::size_t k = 0;
    for (; k + 8 <= count; k += 8) {
      std::uint64_t codes = 0;
      std::memcpy(&codes, data + (begin + k) / 8 * bits, bits);
      for (unsigned j = 0; j < 8; ++j) buffer[k + j] = static_cast<Key>(codes >> (j * bits) & mask);
    }
    for (; k < count; ++k) buffer[k] = static_cast<Key>(tensor.code(begin + k));
    return std::span<const Key>(buffer, count);
  });
}

}  // namespace

Summary summarize(const HostTensor& tensor) {
  switch (tensor.dtype.bits) {
    case 8:
      return summarize_whole<std::uint8_t>(tensor);
    case 16:
      return summarize_whole<std::uint16_t>(tensor);
    case 32:
      return summarize_whole<std::uint32_t>(tensor);
    case 64:
      return summarize_whole<std::uint64_t>(tensor);
    default:
      return summarize_narrow(tensor);
  }
}

}  // namespace tilevm::vm
