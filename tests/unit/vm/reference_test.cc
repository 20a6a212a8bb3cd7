#include "vm/data/reference.h"

#include <doctest/doctest.h>

#include "vm/data/spec.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

HostTensor made(const char* spec, const isa::DType& type, const isa::Shape& shape) {
  DataReader reader;
  return *load(*parse_spec(spec), type, shape, "t", reader);
}

}  // namespace

TEST_CASE("an exact product is the nearest everywhere, a wrong one is noticed") {
  const HostTensor a = made("iota", isa::f16, {2, 3});            // 0 1 2 / 3 4 5
  const HostTensor b = made("iota", isa::signed_int(6), {3, 2});  // 0 1 / 2 3 / 4 5
  HostTensor c = made("zeros", isa::f16, {2, 2});
  const std::uint64_t exact[] = {0x4900, 0x4a80, 0x4f00, 0x5100};  // 10 13 / 28 40
  for (std::size_t k = 0; k < 4; ++k) c.set_code(k, exact[k]);
  ProductError error = compare_product(a, b, c);
  CHECK(error.elements == 4);
  CHECK(error.within == 4);
  CHECK(error.nearest == 4);
  CHECK(error.largest_error == 0);
  CHECK(error.largest_value == 40);
  c.set_code(3, 0x5110);  // 40.5: far more than a rounding
  error = compare_product(a, b, c);
  CHECK(error.within == 3);
  CHECK(error.nearest == 3);
  CHECK(error.largest_error == 0.5);
}

TEST_CASE("NaN is never within the rounding") {
  HostTensor c = made("zeros", isa::f16, {1, 1});
  c.set_code(0, 0x7fff);
  const ProductError error =
      compare_product(made("zeros", isa::f16, {1, 1}), made("zeros", isa::f16, {1, 1}), c);
  CHECK(error.within == 0);
}
