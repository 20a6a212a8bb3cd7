// What a GPU leaves of a failed assertion, read again.
#include <doctest/doctest.h>

#include "isa/analysis/assertion.h"

namespace tilevm::isa {

TEST_CASE("the record of a failed assertion holds the largest numbers there are") {
  CHECK_FALSE(read_assertion({0, 5, 6, 7}).has_value());
  const std::uint64_t block = (std::uint64_t{2147483647} * 65535 * 65535 - 1) & 0x3fffffffffffff;
  const AssertionRecord record{1000000, 32767U | 65535U << 16,
                               1023U | static_cast<std::uint32_t>(block << 10),
                               static_cast<std::uint32_t>(block >> 22)};
  const auto failed = read_assertion(record);
  REQUIRE(failed.has_value());
  CHECK(*failed == FailedAssertion{StmtId{999999}, 65535, 32767, 1023, block});
}

TEST_CASE("a record that fits no assertion of the kernel is none") {
  Kernel kernel;
  CHECK_FALSE(assertion_report({StmtId{3}, 0, 0, 0, 0}, kernel, {1, 1, 1}).has_value());
}

}  // namespace tilevm::isa
