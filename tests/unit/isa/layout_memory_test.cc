// Memory layouts: known offsets, swizzle patterns, and laws.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>

#include "isa/layout/memory_layout.h"
#include "tests/unit/isa/layout_testing.h"

using namespace tilevm;
using namespace tilevm::isa;
using namespace tilevm::isa::testing;

namespace {

/// The offset by the header's formula, from arguments that are not canonical.
struct RawMemory {
  Shape shape;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> modes;  // size, stride

  [[nodiscard]] MemoryLayout make() const {
    std::vector<std::int64_t> sizes, strides;
    for (const auto& group : modes) {
      for (const auto& [size, stride] : group) {
        sizes.push_back(size);
        strides.push_back(stride);
      }
    }
    return must(MemoryLayout::make(shape, sizes, strides));
  }

  [[nodiscard]] std::int64_t offset(const Index& index) const {
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      Shape sizes;
      for (const auto& mode : modes[d]) sizes.push_back(mode.first);
      const Index digits = unravel(index[d], sizes);
      for (std::size_t m = 0; m < digits.size(); ++m) sum += digits[m] * modes[d][m].second;
    }
    return sum;
  }
};

RawMemory random_raw_memory(int rank, std::int64_t largest_stride = 12) {
  RawMemory raw;
  for (int d = 0; d < rank; ++d) {
    std::int64_t extent = 1;
    raw.modes.emplace_back();
    for (int m = *rc::gen::inRange(0, 4); m > 0; --m) {
      const std::int64_t size = *rc::gen::inRange(1, 4);
      raw.modes.back().emplace_back(size, *rc::gen::inRange<std::int64_t>(0, largest_stride));
      extent *= size;
    }
    raw.shape.push_back(extent);
  }
  return raw;
}

std::vector<std::int64_t> offsets_of(const MemoryLayout& layout) {
  std::vector<std::int64_t> offsets;
  for (const Index& index : indices_of(layout.shape())) offsets.push_back(layout.offset(index));
  return offsets;
}

}  // namespace

TEST_CASE("row-major and column-major layouts have the usual strides") {
  CHECK(row_major({3, 4})->offset({2, 1}) == 9);
  CHECK(column_major({3, 4})->offset({2, 1}) == 5);
  CHECK(row_major({2, 3, 4})->offset({1, 2, 3}) == 23);
  CHECK(column_major({2, 3, 4})->offset({1, 0, 2}) == 13);
  CHECK(row_major({})->offset({}) == 0);
  CHECK(row_major({})->storage_size() == 1);
  CHECK(row_major({16, 8})->storage_size() == 128);
  CHECK(strided({16, 8}, {10, 1})->storage_size() == 158);
  CHECK(strided({16, 8}, {0, 1})->storage_size() == 8);
}

TEST_CASE("canonical form merges all neighbours that continue each other") {
  const auto l = must(MemoryLayout::make({32, 16}, {4, 8, 2, 2, 4}, {64, 8, 256, 4, 1}));
  CHECK(l.mode_shape() == std::vector<std::int64_t>{32, 2, 8});
  CHECK(l.mode_strides() == std::vector<std::int64_t>{8, 256, 1});
  CHECK(must(MemoryLayout::make({8}, {2, 2, 2}, {4, 2, 1})) == *row_major({8}));
  CHECK(must(MemoryLayout::make({8}, {2, 4}, {0, 0})) == *strided({8}, {0}));
  CHECK(must(MemoryLayout::make({8, 1}, {1, 8, 1, 1}, {7, 1, 5, 9})) == *row_major({8, 1}));
  CHECK_FALSE(swizzled(*row_major({8}), {2, 0, 0})->swizzle().has_value());
}

TEST_CASE("memory layouts reshape where their modes allow") {
  CHECK(must(reshape(*row_major({12}), {3, 4})) == *row_major({3, 4}));
  const auto columns = must(MemoryLayout::make({12}, {3, 4}, {1, 3}));
  CHECK(must(reshape(columns, {3, 4})) == *column_major({3, 4}));
  CHECK_FALSE(reshape(columns, {4, 3}).ok());
  CHECK(must(reshape(*row_major({6, 4}), {4, 6})) == *row_major({4, 6}));
}

TEST_CASE("a swizzled panel layout has the known offsets") {
  const auto l = must(MemoryLayout::make({16, 128}, {16, 2, 64}, {64, 1024, 1}, Swizzle{3, 3, 3}));
  CHECK(l.offset({3, 8}) == 208);
  CHECK(l.offset({3, 72}) == 1232);
  CHECK(l.offset({15, 127}) == 1991);
  CHECK(l.storage_size() == 2048);
}

TEST_CASE("the 128-byte swizzle of 16-bit elements exchanges groups by row") {
  const auto l = must(swizzled(*row_major({8, 64}), {3, 3, 3}));
  const char* const rows[] = {"01234567", "10325476", "23016745", "32107654",
                              "45670123", "54761032", "67452301", "76543210"};
  for (std::int64_t r = 0; r < 8; ++r) {
    std::string groups;
    for (std::int64_t c = 0; c < 8; ++c) {
      const std::int64_t offset = l.offset({r, 8 * c});
      CHECK(offset / 64 == r);
      CHECK(offset % 8 == 0);
      groups += static_cast<char>('0' + offset % 64 / 8);
      CHECK(l.offset({r, 8 * c + 5}) == offset + 5);
    }
    CHECK(groups == rows[r]);
  }
}

TEST_CASE("swizzles by row width make eight rows of one 16-byte column conflict-free") {
  struct Vector {
    Shape shape;
    int bytes, base, bits;
  };
  for (const auto& [shape, bytes, base, bits] :
       {Vector{{64, 64}, 2, 3, 3}, Vector{{64, 32}, 2, 3, 2}, Vector{{64, 16}, 2, 3, 1},
        Vector{{64, 8}, 2, 3, 0}, Vector{{64, 64}, 1, 4, 2}, Vector{{64, 32}, 4, 2, 3}}) {
    const auto l = must(swizzled(*row_major(shape), {base, bits, 3}));
    const std::int64_t group = 16 / bytes;
    for (std::int64_t row = 0; row < shape[0]; row += 8) {
      for (std::int64_t col = 0; col < shape[1]; col += group) {
        std::set<std::int64_t> slots;  // of 16 bytes, in the 128 bytes of all banks
        for (std::int64_t r = 0; r < 8; ++r) slots.insert(l.offset({row + r, col}) / group % 8);
        CHECK(slots.size() == 8);
      }
    }
  }
}

TEST_CASE("memory layouts print in their shortest form") {
  CHECK(to_string(*row_major({16, 8})) == "row_major(16, 8)");
  CHECK(to_string(*column_major({16, 8})) == "column_major(16, 8)");
  CHECK(to_string(*row_major({1, 8})) == "row_major(1, 8)");
  CHECK(to_string(*row_major({})) == "row_major()");
  CHECK(to_string(*strided({16, 8}, {1, 20})) == "strides([1, 20])");
  CHECK(to_string(*strided({1, 8}, {5, 2})) == "strides([0, 2])");
  CHECK(to_string(must(MemoryLayout::make({16, 128}, {16, 2, 64}, {64, 1024, 1}))) ==
        "memory_layout([16, 128], [16, 2, 64], [64, 1024, 1])");
  CHECK(to_string(must(swizzled(*row_major({8, 64}), {3, 3, 3}))) ==
        "row_major(8, 64).swizzle(3, 3, 3)");
}

TEST_CASE("a memory layout's offsets follow from its arguments") {
  CHECK(rc::check("make(raw) has the raw offsets and the raw size", [](std::uint8_t rank) {
    const RawMemory raw = random_raw_memory(rank % 4);
    const MemoryLayout l = raw.make();
    std::int64_t largest = 0;
    for (const Index& index : indices_of(raw.shape)) {
      RC_ASSERT((l.offset(index) == raw.offset(index)));
      largest = std::max(largest, l.offset(index));
    }
    RC_ASSERT((l.storage_size() == largest + 1));
  }));
}

TEST_CASE("memory layouts are equal if and only if shape and offsets are") {
  CHECK(rc::check("a == b iff offsets are equal; equal ones hash and print equal", [] {
    std::map<std::pair<Shape, std::vector<std::int64_t>>, MemoryLayout> by_offsets;
    std::set<std::string> forms;
    for (int n = 0; n < 100; ++n) {
      const MemoryLayout l = random_raw_memory(1 + n % 2, 4).make();
      const auto [at, is_new] = by_offsets.emplace(std::pair(l.shape(), offsets_of(l)), l);
      RC_ASSERT((at->second == l));
      RC_ASSERT((std::hash<MemoryLayout>()(at->second) == std::hash<MemoryLayout>()(l)));
      forms.insert(to_string(l.shape()) + to_string(l));
    }
    RC_ASSERT((forms.size() == by_offsets.size()));
  }));
}

TEST_CASE("a swizzle is its own inverse and stays inside the storage") {
  CHECK(rc::check("apply(apply(o)) == o; offsets are distinct and below storage_size", [] {
    const int bits = *rc::gen::inRange(1, 4);
    const Swizzle s{*rc::gen::inRange(0, 4), bits, bits + *rc::gen::inRange(0, 3)};
    const Shape shape{*rc::gen::inRange(1, 20), *rc::gen::inRange(1, 40)};
    const auto plain = must(row_major(shape));
    const auto l = must(swizzled(plain, s));
    std::set<std::int64_t> seen;
    for (const Index& index : indices_of(shape)) {
      const std::int64_t o = l.offset(index);
      RC_ASSERT((s.apply(o) == plain.offset(index)));
      RC_ASSERT((o < l.storage_size()));
      RC_ASSERT((seen.insert(o).second));
    }
    RC_ASSERT((l.storage_size() < plain.storage_size() + (1 << (s.base + s.bits))));
  }));
}

TEST_CASE("the product of memory layouts keeps its law, swizzle included") {
  CHECK(rc::check("offset(o * S + i) == outer(o) * storage + inner(i)", [](bool swizzle) {
    const RawMemory outer_raw = random_raw_memory(*rc::gen::inRange(0, 3));
    const MemoryLayout outer = outer_raw.make();
    const MemoryLayout inner = swizzle ? *swizzled(*row_major({4, 16}), Swizzle{1, 2, 3})
                                       : random_raw_memory(*rc::gen::inRange(0, 3)).make();
    const MemoryLayout product = must(compose(outer, inner));
    RC_ASSERT((product.swizzle() == inner.swizzle()));
    const auto rank = static_cast<std::size_t>(std::max(outer.rank(), inner.rank()));
    for (const Index& o : indices_of(outer.shape())) {
      for (const Index& i : indices_of(inner.shape())) {
        Index index(rank, 0);
        for (std::size_t d = 0; d < rank; ++d) {
          const std::size_t from_end = rank - d;
          const auto digit = [&](const Index& of) {
            return from_end <= of.size() ? of[of.size() - from_end] : 0;
          };
          const std::int64_t extent = from_end <= i.size() ? inner.shape()[i.size() - from_end] : 1;
          index[d] = digit(o) * extent + digit(i);
        }
        RC_ASSERT(
            (product.offset(index) == outer.offset(o) * inner.storage_size() + inner.offset(i)));
      }
    }
  }));
}

TEST_CASE("permutations of memory layouts permute indices") {
  CHECK(rc::check("offset'(x) == offset(y), y[dims[j]] == x[j]", [](bool swizzle) {
    MemoryLayout l = random_raw_memory(3).make();
    if (swizzle) l = must(swizzled(l, {1, 1, 2}));
    std::vector<int> dims{0, 1, 2};
    for (int n = *rc::gen::inRange(0, 6); n > 0; --n)
      std::next_permutation(dims.begin(), dims.end());
    const MemoryLayout p = must(permute(l, dims));
    for (const Index& x : indices_of(p.shape())) {
      Index y(3);
      for (std::size_t j = 0; j < 3; ++j) y[std::size_t(dims[j])] = x[j];
      RC_ASSERT((p.offset(x) == l.offset(y)));
    }
  }));
}

TEST_CASE("reshapes of memory layouts keep the offset of each row-major number") {
  CHECK(rc::check("offsets(reshape(l)) == offsets(l), and the way back exists", [](bool swizzle) {
    MemoryLayout l = random_raw_memory(*rc::gen::inRange(0, 4)).make();
    if (swizzle) l = must(swizzled(l, {1, 1, 2}));
    const auto flat = must(reshape(l, {element_count(l.shape())}));
    RC_ASSERT((offsets_of(flat) == offsets_of(l)));
    RC_ASSERT((must(reshape(flat, l.shape())) == l));
  }));
}

TEST_CASE("a reshape of a memory layout exists if and only if some strides give it") {
  // Shape [6] as modes [2, 3] or [3, 2] with all small strides, to shape [3, 2] and [2, 3].
  std::size_t exist = 0, refused = 0;
  for (const Shape& to : {Shape{3, 2}, Shape{2, 3}}) {
    std::set<std::vector<std::int64_t>> possible;
    for (std::int64_t a = 0; a < 40; ++a) {
      for (std::int64_t b = 0; b < 40; ++b) possible.insert(offsets_of(*strided(to, {a, b})));
    }
    for (const auto& modes : {std::vector<std::int64_t>{2, 3}, {3, 2}}) {
      for (std::int64_t a = 0; a < 8; ++a) {
        for (std::int64_t b = 0; b < 8; ++b) {
          const auto l = must(MemoryLayout::make({6}, modes, {a, b}));
          const auto reshaped = reshape(l, to);
          REQUIRE(reshaped.ok() == (possible.count(offsets_of(l)) != 0));
          if (reshaped) REQUIRE(offsets_of(*reshaped) == offsets_of(l));
          ++(reshaped ? exist : refused);
        }
      }
    }
  }
  CHECK(exist > 100);
  CHECK(refused > 100);
}
