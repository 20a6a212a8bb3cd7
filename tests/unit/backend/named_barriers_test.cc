// Named barriers: who goes on when, and what hardware would miscount.
#include "backend/emu/named_barriers.h"

#include <doctest/doctest.h>

#include "tests/unit/contains.h"

namespace tilevm::backend {
namespace {

TEST_CASE("a barrier lets its threads go on once all that it is for have come") {
  NamedBarriers barriers(64);
  for (unsigned thread = 0; thread < 32; ++thread) {  // these only arrive
    CHECK_FALSE(barriers.refuse(1, thread, 64));
    CHECK_FALSE(barriers.come(1, thread, 64, false).complete);
  }
  for (unsigned thread = 32; thread < 63; ++thread) {
    CHECK_FALSE(barriers.come(1, thread, 64, true).complete);
  }
  const auto passing = barriers.come(1, 63, 64, true);
  CHECK(passing.complete);
  CHECK(passing.waiting.size() == 31);
  CHECK(passing.waiting.front() == 32);
  CHECK_FALSE(barriers.refuse(1, 0, 64));  // the next phase
}

TEST_CASE("barriers of different numbers do not meet") {
  NamedBarriers barriers(64);
  for (unsigned thread = 0; thread < 31; ++thread) {
    CHECK_FALSE(barriers.come(2, thread, 32, true).complete);
    CHECK_FALSE(barriers.come(3, thread + 32, 32, true).complete);
  }
  const auto passing = barriers.come(3, 63, 32, true);
  CHECK(passing.complete);
  CHECK(passing.waiting.size() == 31);
  CHECK_FALSE(barriers.come(2, 40, 64, false).complete);
}

TEST_CASE("a thread that comes twice in one phase, or for another number of threads, is refused") {
  NamedBarriers barriers(96);
  CHECK_FALSE(barriers.come(1, 7, 96, false).complete);
  CHECK(contains(barriers.refuse(1, 7, 96).value_or(""),
                 "thread 7 comes to barrier 1 again before all 96 threads have come"));
  CHECK(contains(barriers.refuse(1, 8, 64).value_or(""),
                 "barrier 1 is for 64 threads here and for 96 where other threads came"));
  CHECK_FALSE(barriers.refuse(1, 8, 96));
  CHECK(contains(barriers.refuse(16, 8, 96).value_or(""), "a block has 16"));
  CHECK(barriers.refuse(2, 8, 40));
  CHECK(barriers.refuse(2, 8, 128));
}

}  // namespace
}  // namespace tilevm::backend
