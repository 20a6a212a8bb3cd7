// Compares the simulator's loops over approximate instructions with what a GPU gave
// (tests/data/approximations_sm_90.txt has the form of the file, and how blocks are summed).
//
//   approximation_hashes [--all] [FILE]
//
// Without --all: the blocks that touch every segment of every table, and those of special values.
// With it: all 2^32 arguments of all 15 instructions, which takes minutes. Each level of vector
// instructions of the processor is compared in turn, with --all the best one.
#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "isa/inst/instruction_set.h"
#include "sim/arithmetic/element_loops.h"

namespace {

using namespace tilevm;

constexpr std::uint32_t block_size = 1U << 23;

struct Item {
  std::string instruction;
  std::uint32_t block = 0;
  std::uint64_t sum = 0;
};

std::vector<Item> read_items(const std::string& path) {
  std::ifstream file(path);
  std::vector<Item> items;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string instruction, sum;
    std::uint32_t block = 0;
    words >> instruction >> block;
    while (words >> sum) items.push_back({instruction, block++, std::stoull(sum, nullptr, 16)});
  }
  return items;
}

/// Which blocks of a function are compared without --all.
bool is_chosen(const Item& item) {
  static const std::set<std::uint32_t> everywhere{0, 1, 254, 255, 256, 511};
  static const std::map<std::string_view, std::set<std::uint32_t>> own{
      {"Ex2", {127, 133, 383, 389}},
      {"Lg2", {126, 127, 128}},
      {"Rcp", {127, 252, 253}},
      {"Rsq", {127, 128}},
      {"Sqr", {127, 128}},
      {"Sin", {125, 127, 149, 383}},
      {"Cos", {125, 127, 149, 383}},
      {"Tan", {118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 385}}};
  const auto found = own.find(std::string_view(item.instruction).substr(0, 3));
  return everywhere.contains(item.block) ||
         (found != own.end() && found->second.contains(item.block));
}

template <class Inst>
struct Operation {
  static constexpr bool is_unary = false;
};
template <isa::UnaryOp member>
struct Operation<isa::Unary<member>> {
  static constexpr bool is_unary = true;
  static constexpr isa::UnaryOp op = member;
};

isa::UnaryOp operation(const std::string& mnemonic) {
  isa::UnaryOp op = isa::UnaryOp::neg;
  isa::for_each_instruction([&]<class Inst>() {
    if constexpr (Operation<Inst>::is_unary) {
      if (Inst::schema.description.mnemonic == mnemonic) op = Operation<Inst>::op;
    }
  });
  return op;
}

std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

std::uint64_t sum_of(const Item& item, sim::SimdLevel level) {
  const sim::LaneLoop1 loop = sim::unary_loop(operation(item.instruction), isa::f32, level);
  std::array<std::uint32_t, 4096> x{}, y{};
  std::uint64_t sum = 0;
  for (std::uint32_t first = 0; first < block_size; first += x.size()) {
    for (std::uint32_t i = 0; i < x.size(); ++i) x[i] = item.block << 23 | (first + i);
    loop(reinterpret_cast<const std::uint8_t*>(x.data()), reinterpret_cast<std::uint8_t*>(y.data()),
         x.size());
    for (std::size_t i = 0; i < x.size(); ++i) sum += mix(std::uint64_t{x[i]} << 32 | y[i]);
  }
  return sum;
}

/// How many items differ; each is named.
std::size_t compare(const std::vector<Item>& items, sim::SimdLevel level) {
  std::atomic<std::size_t> next{0}, different{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < items.size(); i = next++) {
        if (sum_of(items[i], level) == items[i].sum) continue;
        ++different;
        std::cout << items[i].instruction + " block " + std::to_string(items[i].block) +
                         " differs\n";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return different;
}

}  // namespace

int main(int count, char** words) {
  bool all = false;
  std::string path = TILEVM_SOURCE_DIR "/tests/data/approximations_sm_90.txt";
  for (int i = 1; i < count; ++i) {
    if (std::string_view(words[i]) == "--all") {
      all = true;
    } else {
      path = words[i];
    }
  }
  std::vector<Item> items = read_items(path);
  if (!all) std::erase_if(items, [](const Item& item) { return !is_chosen(item); });
  if (items.empty()) {
    std::cerr << "no sums in " << path << "\n";
    return 2;
  }
  std::size_t different = 0;
  for (const sim::SimdLevel level :
       all ? std::vector{sim::best_simd_level()} : sim::simd_levels()) {
    const std::size_t wrong = compare(items, level);
    std::cout << sim::to_string(level) << ": " << items.size() - wrong << " of " << items.size()
              << " blocks equal\n";
    different += wrong;
  }
  return different == 0 ? 0 : 1;
}
