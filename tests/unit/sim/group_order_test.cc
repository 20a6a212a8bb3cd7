// What groups of warps of a block know of one another.
#include <doctest/doctest.h>

#include "sim/order/group_order.h"

using namespace tilevm;
using namespace tilevm::sim;

namespace {

constexpr std::uint16_t block = 0, left = 1, right = 2, one = 3;

/// A block of 128 threads, two groups of 64, and one thread of the first.
GroupOrder order() { return GroupOrder(7, {{0, 128}, {0, 64}, {64, 64}, {0, 1}}, 1); }

/// A write of a thread in the present segment of a group.
OrderedAccess access(const GroupOrder& parties, std::uint16_t group, std::uint32_t thread) {
  return {parties.segment(group), thread, true};
}

}  // namespace

TEST_CASE("a clock knows parts of a party") {
  PartyClock clock;
  const Party whole{.block = 1, .group = 2};
  Party part = whole;
  part.first_thread = 32;
  part.threads = 32;
  clock.set(part, 5);
  CHECK(clock.is_after({whole, 4}, 40));
  CHECK_FALSE(clock.is_after({whole, 4}, 31));
  CHECK_FALSE(clock.is_after({whole, 5}, 40));
  CHECK_FALSE(clock.is_after({whole, 0}));
  clock.raise(whole, 3);
  clock.raise(whole, 2);
  CHECK(clock.is_after({whole, 2}, 0));
  CHECK(clock.is_after({whole, 2}));
}

TEST_CASE("threads of a group know of one another what came before they synchronized") {
  GroupOrder parties = order();
  parties.fork(block, left);
  const OrderedAccess before = access(parties, left, 3);
  CHECK(parties.is_before(before, left, 3));
  CHECK_FALSE(parties.is_before(before, left, 4));
  parties.synchronize(left);
  CHECK(parties.is_before(before, left, 4));
  CHECK_FALSE(parties.is_before(access(parties, left, 3), left, 4));
}

TEST_CASE("what all threads release, others know; one thread releases only its own past") {
  GroupOrder parties = order();
  parties.begin_segment(block);
  parties.fork(block, left);
  parties.fork(block, right);
  const OrderedAccess of_first = access(parties, left, 0), of_last = access(parties, left, 63);
  parties.begin_segment(left);
  parties.fork(left, one);
  parties.acquire(right, parties.released(one));
  CHECK(parties.is_before(of_first, right, 80));
  CHECK_FALSE(parties.is_before(of_last, right, 80));
  parties.acquire(right, parties.released(left));
  CHECK(parties.is_before(of_last, right, 80));
}

TEST_CASE("what a group learned, its threads know after it has ended") {
  GroupOrder parties = order();
  parties.fork(block, left);
  parties.fork(block, right);
  const OrderedAccess write = access(parties, right, 100);
  parties.acquire(left, parties.released(right));
  parties.join(block, left);
  parties.join(block, right);
  CHECK(parties.is_before(write, block, 5));
  CHECK(parties.is_before(write, block, 100));
  CHECK_FALSE(parties.is_before(write, block, 101));
  parties.synchronize(block);
  CHECK(parties.is_before(write, block, 101));
}

TEST_CASE("the async proxy sees what a fence followed") {
  GroupOrder parties = order();
  parties.fork(block, left);
  const OrderedAccess write = access(parties, left, 3);
  parties.synchronize(left);
  CHECK(parties.is_before(write, left, 0));
  CHECK_FALSE(parties.is_fenced(write, left, 0));
  parties.fence(left);
  CHECK(parties.is_fenced(write, left, 0));
  const OrderedAccess later = access(parties, left, 3);
  parties.fence(left);
  CHECK(parties.is_fenced(later, left, 3));
  CHECK_FALSE(parties.is_fenced(later, left, 4));
  parties.synchronize(left);
  CHECK(parties.is_fenced(later, left, 4));
}

TEST_CASE("accesses that go on are known once their chain has completed") {
  GroupOrder parties = order();
  parties.fork(block, left);
  const Party chain = parties.chain(left, 1);
  const OrderedAccess read{{chain, 0}, 0, false};
  CHECK_FALSE(parties.is_before(read, left, 0));
  parties.complete_own(left, chain, 1);
  CHECK_FALSE(parties.is_before(read, left, 0));
  parties.synchronize(left);
  CHECK(parties.is_before(read, left, 0));
}

TEST_CASE("a phase ends when its arrivals and its bytes have come") {
  SyncObject object;
  object.chain = {.block = 1, .chain = 1};
  object.expected = object.pending = 2;
  object.pending -= 1;
  CHECK_FALSE(object.end_phase());
  object.bytes = -16;
  object.pending -= 1;
  CHECK_FALSE(object.end_phase());
  object.bytes += 16;
  CHECK(object.end_phase());
  CHECK(object.phase == 1);
  CHECK(object.pending == 2);
  REQUIRE(object.learned(0) != nullptr);
  CHECK(object.learned(0)->seen[object.chain] == 1);
  CHECK(object.learned(-1) == nullptr);
  CHECK(object.learned(1) == nullptr);
}
