#include "backend/export/compile_report.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

/// The number directly before `word`.
std::optional<std::int64_t> number_before(std::string_view remarks, std::string_view word) {
  const std::size_t at = remarks.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && remarks[begin - 1] >= '0' && remarks[begin - 1] <= '9') --begin;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(remarks.data() + begin, remarks.data() + at, value);
  if (error != std::errc{} || end != remarks.data() + at) return std::nullopt;
  return value;
}

/// Bytes of a multiprocessor's shared memory that CUDA takes for each block. A block may have all
/// the rest (isa::max_shared_bytes).
constexpr std::int64_t reserved_shared_bytes = 1024;

constexpr std::int64_t registers_of_multiprocessor = 65536, registers_of_thread = 255;

/// Other resources that the blocks on one multiprocessor share (CUDA C++ Programming Guide, Compute
/// Capabilities).
struct MultiprocessorLimits {
  std::int64_t threads, blocks;
};

MultiprocessorLimits multiprocessor_limits(const isa::Target& target) {
  const int major = target.sm / 10;
  if (target.sm == 80 || major == 9 || major == 10) return {2048, 32};
  return {1536, target.sm == 86 || target.sm == 88 ? 16 : 24};
}

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::optional<RegisterUse> find_register_use(std::string_view log, const std::string& entry) {
  const std::size_t begin = log.find(fmt::format("entry function '{}'", entry));
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view rest = log.substr(begin + 1);
  const std::string_view remarks = rest.substr(0, rest.find("entry function '"));
  const auto registers = number_before(remarks, " registers");
  if (!registers) return std::nullopt;
  return RegisterUse{*registers, number_before(remarks, " bytes stack frame").value_or(0),
                     number_before(remarks, " bytes spill stores").value_or(0),
                     number_before(remarks, " bytes spill loads").value_or(0)};
}

std::int64_t max_registers(std::int64_t threads) {
  constexpr std::int64_t step = 8, warp = 32;
  const std::int64_t share = registers_of_multiprocessor / rounded_up(threads, warp);
  return std::min(share / step * step, registers_of_thread);
}

/// A multiprocessor has four parts with a quarter of the registers each. A warp runs in one of them
/// and takes its registers in steps of 256; shared memory is given in steps of 128 bytes.
Residency find_residency(const CudaKernel& kernel, std::int64_t registers,
                         const isa::Target& target) {
  constexpr std::int64_t warp = 32, parts = 4, register_step = 256, shared_step = 128;
  const MultiprocessorLimits limits = multiprocessor_limits(target);
  const std::int64_t warps = (kernel.threads + warp - 1) / warp;
  const std::int64_t of_warp =
      rounded_up(std::max<std::int64_t>(registers, 1) * warp, register_step);
  const std::int64_t of_block =
      rounded_up(kernel.barrier_bytes + kernel.shared_bytes + reserved_shared_bytes, shared_step);
  const std::int64_t shared = isa::max_shared_bytes(target) + reserved_shared_bytes;
  const std::array<Residency, 4> all{{
      {registers_of_multiprocessor / parts / of_warp * parts / warps, "registers"},
      {shared / of_block, "shared memory"},
      {limits.threads / warp / warps, "threads"},
      {limits.blocks, "blocks"},
  }};
  return *std::min_element(all.begin(), all.end(), [](const Residency& a, const Residency& b) {
    return a.blocks < b.blocks;
  });
}

}  // namespace tilevm::backend
