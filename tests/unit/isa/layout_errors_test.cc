// What is refused, and in which words.
#include <doctest/doctest.h>

#include <limits>

#include "isa/layout/memory_layout.h"
#include "tests/unit/isa/layout_testing.h"

using namespace tilevm;
using namespace tilevm::isa;
using namespace tilevm::isa::testing;

namespace {

std::string message(const Result<RegisterLayout>& result) {
  return result ? "no error: " + to_string(*result) : result.error().message;
}

bool mentions(const Result<RegisterLayout>& result, const std::string& words) {
  const bool found = message(result).find(words) != std::string::npos;
  if (!found) MESSAGE(message(result));
  return found;
}

constexpr auto make = RegisterLayout::make;

}  // namespace

TEST_CASE("a layout must use every mode exactly once") {
  CHECK(mentions(make({4}, {4}, {}, {}), "mode 0 stands neither"));
  CHECK(mentions(make({4}, {2, 2}, {0, 1}, {1}), "mode 1 stands twice"));
  CHECK(mentions(make({4}, {2, 2}, {0, 2}, {1}), "mode 2 does not exist"));
  CHECK(mentions(make({4}, {4}, {}, {0, -2}), "-2 in the local modes"));
}

TEST_CASE("modes must factor the shape") {
  CHECK(mentions(make({6}, {4}, {0}, {}), "does not factor shape [6]"));
  CHECK(mentions(make({6}, {2}, {0}, {}), "product 6"));
  CHECK(mentions(make({6}, {2, 3, 2}, {0, 1, 2}, {}), "more modes"));
  CHECK(mentions(make({}, {2}, {0}, {}), "more modes"));
  CHECK(mentions(make({2, 2}, {4}, {0}, {}), "dimension 0"));
  CHECK(mentions(make({6}, {-2, -3}, {0, 1}, {}), "size -2"));
  CHECK(mentions(make({6}, {0, 6}, {0, 1}, {}), "size 0"));
}

TEST_CASE("sizes are bounded, whatever numbers come") {
  constexpr std::int64_t big = std::int64_t{1} << 20;
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(message(spatial({big})).starts_with("no error"));
  CHECK(mentions(spatial({big + 1}), "between 1 and 1048576"));
  CHECK(mentions(local({0, 4}), "extent 0"));
  CHECK(mentions(local({-largest}), "between 1"));
  CHECK(mentions(spatial({big, 2}), "more threads than"));
  CHECK(mentions(local({big, big, big, big}), "more local elements than"));
  CHECK(mentions(local(Shape(9, 1)), "rank 9"));
  CHECK(mentions(replicated(0), "factor of 0 threads"));
  CHECK(mentions(replicated(largest), "more threads than"));
  CHECK(mentions(make({1}, {}, {std::numeric_limits<int>::min()}, {}), "more threads than"));
  CHECK(mentions(make({2}, std::vector<std::int64_t>(65, 1), {}, {}), "at most 64 modes"));
  CHECK(mentions(compose(*spatial({big}), *spatial({2})), "between 1 and"));
  CHECK(mentions(compose(*replicated(big), *replicated(2)), "more threads than"));
  CHECK(mentions(compose(*local({big, 1}), *local({1, 2})), "more local elements"));
  CHECK(mentions(auto_local_spatial(0, {4}), "factor of 0 threads"));
  CHECK(mentions(auto_local_spatial(-8, {4}), "threads"));
  CHECK(mentions(auto_local_spatial(4, Shape(9, 2)), "rank 9"));
}

TEST_CASE("digits must be a factorisation") {
  using Digit = RegisterLayout::Digit;
  const auto from = RegisterLayout::from_digits;
  CHECK(mentions(from({4}, {Digit{0, 2, 2}}, {}), "do not factor"));
  CHECK(mentions(from({4}, {Digit{0, 2, 1}}, {}), "do not factor"));
  CHECK(mentions(from({4}, {Digit{0, 4, 1}}, {Digit{0, 3, 1}}), "do not factor"));
  CHECK(mentions(from({6}, {Digit{0, 2, 3}}, {Digit{0, 3, 2}}), "do not factor"));
  CHECK(mentions(from({4}, {Digit{1, 4, 1}}, {}), "dimension 1"));
  CHECK(mentions(from({4}, {Digit{-1, 4, 1}}, {}), "dimension -1"));
  CHECK(mentions(from({4}, {Digit{0, 4, std::numeric_limits<std::int64_t>::max()}}, {}),
                 "do not factor"));
  CHECK(message(from({4}, {Digit{0, 2, 1}}, {Digit{0, 2, 2}})) == "no error: local(2).spatial(2)");
}

TEST_CASE("division says which factor is missing and why") {
  const auto divided = [](const char* h, const char* g) {
    return divide(read_layout(h), read_layout(g));
  };
  CHECK(mentions(divided("spatial(2, 4)", "spatial(4, 2)"), "its shape [4, 2] does not divide"));
  CHECK(mentions(divided("spatial(2, 4)", "local(2, 1)"), "its 2 local elements do not divide 1"));
  CHECK(mentions(divided("spatial(6)", "spatial(4)"), "has no right factor `spatial(4)`"));
  CHECK(mentions(divided("spatial(6)", "replicated(4)"), "its 4 threads do not divide 6"));
  CHECK(mentions(divided("spatial(6)", "spatial(1, 2)"), "its rank 2 is larger than 1"));
  CHECK(mentions(divided("spatial(2, 2)", "spatial(2, 1)"), "other threads or local places"));
  CHECK(mentions(left_divide(read_layout("spatial(2, 2)"), read_layout("spatial(1, 2)")),
                 "has no left factor `spatial(1, 2)`"));
}

TEST_CASE("dimension lists are checked") {
  const auto l = read_layout("spatial(2, 4)");
  CHECK(mentions(reduce(l, {2}), "dimension 2 does not exist"));
  CHECK(mentions(reduce(l, {-1}), "dimension -1 does not exist"));
  CHECK(mentions(reduce(l, {1, 1}), "named twice"));
  CHECK(mentions(permute(l, {0}), "1 are named"));
  CHECK(mentions(permute(l, {0, 0}), "named twice"));
  CHECK(mentions(squeeze(l, {0}), "extent 2"));
  CHECK(mentions(unsqueeze(l, {4}), "dimension 4 does not exist"));
  CHECK(mentions(unsqueeze(l, std::vector<int>(100, 0)), "rank"));
  CHECK(mentions(reduce_to(l, {3, 4}), "does not broadcast"));
  CHECK(mentions(reduce_to(l, {1, 2, 4}), "does not broadcast"));
  CHECK(mentions(reshape(l, {3, 3}), "has 8 elements"));
  CHECK(mentions(reshape(l, {0, 8}), "extent 0"));
  CHECK(mentions(reshape(read_layout("column_spatial(2, 3)"), {3, 2}), "across two dimensions"));
}

TEST_CASE("memory layouts are checked, whatever numbers come") {
  const auto text = [](const Result<MemoryLayout>& result) {
    return result ? "no error" : result.error().message;
  };
  const auto has = [&](const Result<MemoryLayout>& result, const char* words) {
    if (text(result).find(words) == std::string::npos) MESSAGE(text(result));
    return text(result).find(words) != std::string::npos;
  };
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(has(row_major({0, 2}), "extent 0"));
  CHECK(has(row_major({-largest, -largest}), "extent"));
  CHECK(has(column_major({largest, largest}), "extent"));
  CHECK(has(row_major({1 << 30, 1 << 30}), "2^48"));
  CHECK(has(strided({4, 4}, {1}), "1 strides"));
  CHECK(has(strided({4, 4}, {4, -1}), "stride -1"));
  CHECK(has(strided({4, 4}, {largest, largest}), "2^48"));
  CHECK(has(MemoryLayout::make({4}, {3}, {1}), "does not factor"));
  CHECK(has(MemoryLayout::make({4}, {4, 2}, {1, 1}), "more modes"));
  CHECK(has(MemoryLayout::make({4}, {4}, {}), "each mode has one stride"));
  CHECK(has(swizzled(*row_major({8, 8}), {0, 3, 2}), "at least the number of bits"));
  CHECK(has(swizzled(*row_major({8, 8}), {-1, 3, 3}), "between 0 and 30"));
  CHECK(has(swizzled(*row_major({8, 8}), {30, 30, 30}), "at most 48"));
  CHECK(has(permute(*row_major({8, 8}), {0, 2}), "does not exist"));
  CHECK(has(reshape(*row_major({8, 8}), {8, 9}), "differ"));
  CHECK(has(reshape(*MemoryLayout::make({12}, {3, 4}, {1, 3}), {4, 3}), "no form"));
  CHECK(has(compose(*swizzled(*row_major({8, 64}), {3, 3, 3}), *row_major({1, 1})), "outer"));
  CHECK(has(compose(*row_major({2, 1}), *swizzled(*row_major({4, 64}), {3, 3, 3})), "period 512"));
}
