#include "vm/data/tensor.h"
#include "vm/text/data_error.h"

#include <doctest/doctest.h>

#include <limits>

namespace isa = tilevm::isa;
using namespace tilevm::vm;

namespace {

/// A tensor whose element k has code k.
HostTensor counting(const isa::DType& dtype, const isa::Shape& shape) {
  HostTensor tensor = *make_tensor(dtype, shape, "t");
  for (std::size_t k = 0; k < tensor.size(); ++k) tensor.set_code(k, k);
  return tensor;
}

}  // namespace

TEST_CASE("elements of six bits share bytes") {
  HostTensor tensor = *make_tensor(isa::signed_int(6), {2, 2}, "t");
  CHECK(tensor.data.size() == 3);
  tensor.set_code(1, 0x3f);
  CHECK(tensor.data == std::vector<std::uint8_t>{0xc0, 0x0f, 0x00});
  CHECK(tensor.code(1) == 0x3f);
  CHECK(tensor.code(0) == 0);
}

TEST_CASE("a shape's size is counted without overflow") {
  CHECK(checked_count({}) == 1u);
  CHECK(checked_count({3, 0, 5}) == 0u);
  CHECK(!checked_count({3, -1}));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(checked_count({huge}) == static_cast<std::uint64_t>(huge));
  CHECK(!checked_count({huge, 2}));
  CHECK(checked_count({huge, huge, 0}) == 0u);
}

TEST_CASE("a tensor that is too large is refused before memory is taken") {
  const auto large = make_tensor(isa::f16, {1 << 20, 1 << 20}, "w");
  REQUIRE(!large.ok());
  CHECK(large.error().kind == tilevm::ErrorKind::limit);
  CHECK(large.error().message.find("`w` is too large: f16[1048576, 1048576]") == 0);
  CHECK(!make_tensor(isa::u1, {std::numeric_limits<std::int64_t>::max(), 9}, "w").ok());
  CHECK(make_tensor(isa::f16, {4, -4}, "w").error().kind == tilevm::ErrorKind::program);
}

TEST_CASE("an index is written as the program would") {
  CHECK(format_index({4, 10}, 37) == "[3, 7]");
  CHECK(format_index({2, 3, 4}, 23) == "[1, 2, 3]");
  CHECK(format_index({}, 0) == "[]");
  CHECK(format_type(isa::bf16, {64, 8}) == "bf16[64, 8]");
}

TEST_CASE("a small tensor is printed whole, its columns aligned") {
  CHECK(format_corner(counting(isa::signed_int(4), {2, 5})) ==
        " 0   1   2   3   4\n"
        " 5   6   7  -8  -7\n");
  CHECK(format_corner(counting(isa::u8, {3})) == "0  1  2\n");
  CHECK(format_corner(counting(isa::u8, {})) == "0\n");
  CHECK(format_corner(counting(isa::u8, {0, 4})) == "(empty)\n");
}

TEST_CASE("a large tensor is cut, and the cut is shown") {
  CHECK(format_corner(counting(isa::u8, {10, 10}), 2, 3) ==
        " 0   1   2  ...\n"
        "10  11  12  ...\n"
        "...\n");
  CHECK(format_corner(counting(isa::u8, {3, 2, 2}), 4, 4) == "0  1\n2  3\n");
  CHECK(format_corner(counting(isa::u8, {2, 2}), 0, 0) == "0  ...\n...\n");
}

TEST_CASE("an error about data ends in its code") {
  const tilevm::Error error = data_error(tilevm::Code::bad_file, "no such thing");
  CHECK(error.kind == tilevm::ErrorKind::program);
  CHECK(error.message == "no such thing [TV0502]");
}
