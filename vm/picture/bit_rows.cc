#include "vm/picture/bit_rows.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilevm::vm {

namespace {

constexpr int columns_of_bit = 2;

/// A run as text: a bar, and a name as wide as the bits.
std::string draw_run(const isa::RegisterLayout& layout, std::int64_t thread, const BitRun& run) {
  const auto width = static_cast<std::size_t>((run.end - run.begin) * columns_of_bit - 1);
  std::string name = isa::to_string(layout.element(thread, run.local));
  std::erase(name, ' ');
  if (run.continues) name = ".." + name;
  if (name.size() > width) name = fmt::format("{}", run.local);
  if (name.size() > width) name = width > 0 ? std::string(width, '.') : "";
  return fmt::format("|{:<{}}", name, width);
}

}  // namespace

std::int64_t register_count(std::int64_t locals, int bits) {
  return (locals * bits + register_bits - 1) / register_bits;
}

std::vector<BitRun> runs_of_register(std::int64_t locals, int bits, std::int64_t number) {
  std::vector<BitRun> runs;
  const std::int64_t first = number * register_bits;
  const std::int64_t end = std::min(first + register_bits, locals * bits);
  for (std::int64_t bit = first; bit < end;) {
    const std::int64_t local = bit / bits;
    const std::int64_t stop = std::min((local + 1) * bits, end);
    runs.push_back(
        {local, static_cast<int>(bit - first), static_cast<int>(stop - first), bit > local * bits});
    bit = stop;
  }
  return runs;
}

std::string draw_bits(const std::vector<TypedLayout>& layouts, std::int64_t thread,
                      std::int64_t most_registers) {
  std::int64_t registers = 0;
  std::size_t name_width = 0;
  for (const TypedLayout& one : layouts) {
    registers = std::max(registers, register_count(one.registers()->num_locals(), one.bits()));
    name_width = std::max(name_width, isa::to_string(*one.dtype).size());
  }
  std::string text = fmt::format("bits of thread {}, the lowest first:\n", thread);
  for (std::int64_t r = 0; r < std::min(registers, most_registers); ++r) {
    for (const TypedLayout& one : layouts) {
      text += fmt::format("  register {:<2} {:<{}} ", r, isa::to_string(*one.dtype), name_width);
      for (const BitRun& run : runs_of_register(one.registers()->num_locals(), one.bits(), r)) {
        text += draw_run(*one.registers(), thread, run);
      }
      text += "|\n";
    }
  }
  if (registers > most_registers) {
    text += fmt::format("  ... {} more registers\n", registers - most_registers);
  }
  return text;
}

}  // namespace tilevm::vm
