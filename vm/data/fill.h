// Tensors filled with a function of the index, in parts on several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "vm/data/tensor.h"

namespace tilevm::vm {

/// Calls f(begin, end) for parts of 0..size, large ones on threads of their own. A part begins at a
/// multiple of 8 elements, so that parts share no byte.
template <class F>
void in_parts(std::size_t size, F f) {
  constexpr std::size_t worth_a_thread = std::size_t{1} << 20;
  const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t part = (std::max(worth_a_thread, size / most) + 8) / 8 * 8;
  std::vector<std::jthread> threads;
  for (std::size_t begin = part; begin < size; begin += part) {
    threads.emplace_back([=] { f(begin, std::min(begin + part, size)); });
  }
  f(0, std::min(part, size));
}

namespace detail {

template <class Lane, class F>
void fill_whole(HostTensor& tensor, F code) {
  in_parts(tensor.size(), [&tensor, code](std::size_t begin, std::size_t end) {
    std::uint8_t* const data = tensor.data.data();
    for (std::size_t k = begin; k < end; ++k) {
      const auto lane = static_cast<Lane>(code(k));
      std::memcpy(data + k * sizeof lane, &lane, sizeof lane);
    }
  });
}

/// Codes of fewer than 8 bits, eight at a time: they fill as many bytes as a code has bits.
template <class F>
void fill_narrow(HostTensor& tensor, F code) {
  const unsigned bits = tensor.dtype.bits;
  in_parts(tensor.size(), [&tensor, code, bits](std::size_t begin, std::size_t end) {
    std::uint8_t* const data = tensor.data.data();
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    std::size_t k = begin;
    for (; k + 8 <= end; k += 8) {
      std::uint64_t codes = 0;
      for (unsigned j = 0; j < 8; ++j) codes |= (code(k + j) & mask) << (j * bits);
      std::memcpy(data + k / 8 * bits, &codes, bits);
    }
    for (; k < end; ++k) tensor.set_code(k, code(k));
  });
}

}  // namespace detail

/// Element k becomes the low bits of code(k), which is called from several threads.
template <class F>
void fill_with(HostTensor& tensor, F code) {
  switch (tensor.dtype.bits) {
    case 8:
      return detail::fill_whole<std::uint8_t>(tensor, code);
    case 16:
      return detail::fill_whole<std::uint16_t>(tensor, code);
    case 32:
      return detail::fill_whole<std::uint32_t>(tensor, code);
    case 64:
      return detail::fill_whole<std::uint64_t>(tensor, code);
    default:
      return detail::fill_narrow(tensor, code);
  }
}

}  // namespace tilevm::vm
