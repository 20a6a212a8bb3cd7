// Which memory barrier each group of bulk copies takes, which phase of it is waited for, and when:
// a device of its own notes what the prelude asks of it, warp by warp. On a GPU a barrier that two
// groups share, or a wait that leaves one too many, shows only where copies are slow.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#define TV_FN inline
#define TV_UNROLL
#define TV_UNROLL_BY(n)
#define TV_ASSUME(...)

namespace tilevm::backend::noted {
namespace tv {
namespace {

using u32 = unsigned;
using i32 = int;
using u64 = unsigned long long;

/// What a warp did, in order.
std::vector<std::string> steps;
u32 warp = 0;

std::string take_steps() {
  std::string text = fmt::format("{}", fmt::join(steps, ", "));
  steps.clear();
  return text;
}

u32 warp_number() { return warp; }
bool leads_warp() { return true; }
u32 thread() { return warp * 32; }
i32 larger(i32 a, i32 b) { return a > b ? a : b; }
u32 barrier_address(const u64*) { return 1000; }
void make_phases(u32 barrier) { steps.push_back(fmt::format("make {}", barrier)); }
void fence_phases() { steps.emplace_back("fence"); }
void synchronize() { steps.emplace_back("sync"); }
void expect_bytes(u32 barrier, u32 bytes) {
  steps.push_back(fmt::format("{} expects {}", barrier, bytes));
}
void wait_for_phase(u32 barrier, u32 phase) {
  steps.push_back(fmt::format("wait {} phase {}", barrier, phase));
}
template <int threads>
void wait_at_split_barrier() {
  steps.emplace_back("split wait");
}
template <int threads>
void arrive_at_split_barrier() {
  steps.emplace_back("split arrive");
}

}  // namespace
}  // namespace tv
}  // namespace tilevm::backend::noted

// Members that are left out are 0.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
namespace tilevm::backend::noted {
#include "backend/prelude/bulk.cuh"
namespace {

/// Copies 16 bytes and commits them.
template <class Groups>
void commit(Groups& groups) {
  groups.bytes += 16;
  tv::commit_bulk(groups);
}

TEST_CASE("each group of bulk copies has a barrier, and after the last barrier the first again") {
  tv::warp = 0;
  auto groups = tv::make_bulk_groups<3, 0>(nullptr);
  CHECK(tv::take_steps() == "make 1000, make 1008, make 1016, fence, sync");
  commit(groups);
  commit(groups);
  CHECK(tv::take_steps() == "1000 expects 16, 1008 expects 16");
  // All three are under way: the oldest must have come before its barrier is used again.
  commit(groups);
  CHECK(tv::take_steps() == "1016 expects 16, wait 1000 phase 0, sync");
  commit(groups);
  CHECK(tv::take_steps() == "1000 expects 16, wait 1008 phase 0, sync");
  tv::wait_for_bulk<1>(groups);
  CHECK(tv::take_steps() == "wait 1016 phase 0");
  tv::wait_for_bulk<0>(groups);
  CHECK(tv::take_steps() == "wait 1000 phase 1");
  tv::wait_for_bulk<0>(groups);
  CHECK(tv::take_steps().empty());
}

TEST_CASE("a program that waits as it goes needs no barrier at a commit") {
  tv::warp = 0;
  auto groups = tv::make_bulk_groups<2, 0>(nullptr);
  tv::take_steps();
  commit(groups);
  tv::wait_for_bulk<0>(groups);
  tv::synchronize_bulk(groups);
  CHECK(tv::take_steps() == "1000 expects 16, wait 1000 phase 0, sync");
  commit(groups);
  CHECK(tv::take_steps() == "1008 expects 16");
}

TEST_CASE("where every warp may copy, one that is not the first learns of a group at a barrier") {
  tv::warp = 1;
  auto groups = tv::make_bulk_groups<2, 0>(nullptr);
  CHECK(tv::take_steps() == "sync");
  commit(groups);
  tv::wait_for_bulk<0>(groups);
  CHECK(tv::take_steps().empty());
}

TEST_CASE("warps beside a producer wait for groups themselves") {
  tv::warp = 0;
  auto consumer = tv::make_bulk_groups<3, 1>(nullptr);
  tv::take_steps();
  commit(consumer);
  commit(consumer);
  tv::wait_for_bulk<1>(consumer);
  CHECK(tv::take_steps() == "wait 1000 phase 0");
  tv::warp = 1;
  auto producer = tv::make_bulk_groups<3, 1>(nullptr);
  tv::take_steps();
  commit(producer);
  commit(producer);
  CHECK(tv::take_steps() == "1000 expects 16, 1008 expects 16");
}

TEST_CASE("a ring of two groups is waited for as a whole") {
  tv::warp = 0;
  auto groups = tv::make_bulk_groups<2, 1>(nullptr);
  tv::take_steps();
  commit(groups);
  tv::wait_for_bulk<0>(groups);
  CHECK(tv::take_steps() == "wait 1000 phase 0");
  groups.known = groups.done;
  commit(groups);
  tv::wait_for_bulk<0>(groups);
  CHECK(tv::take_steps() == "wait 1008 phase 0");
  tv::wait_for_bulk<0>(groups);
  CHECK(tv::take_steps().empty());
}

TEST_CASE("a split barrier lets a warp go on only if it waited since the last one") {
  tv::warp = 0;
  auto consumer = tv::make_bulk_groups<3, 1>(nullptr);
  tv::take_steps();
  tv::pass_split_barrier<128>(consumer);
  CHECK(tv::take_steps() == "sync");
  commit(consumer);
  tv::wait_for_bulk<0>(consumer);
  tv::take_steps();
  tv::pass_split_barrier<128>(consumer);
  CHECK(tv::take_steps() == "split arrive");
  tv::warp = 1;
  auto producer = tv::make_bulk_groups<3, 1>(nullptr);
  commit(producer);
  tv::wait_for_bulk<0>(producer);
  tv::take_steps();
  tv::pass_split_barrier<128>(producer);
  CHECK(tv::take_steps() == "split wait");
}

TEST_CASE("a block ends when all of its copies have come, committed or not") {
  tv::warp = 0;
  auto groups = tv::make_bulk_groups<3, 0>(nullptr);
  tv::take_steps();
  commit(groups);
  groups.bytes += 32;
  tv::end_bulk(groups);
  CHECK(tv::take_steps() ==
        "1000 expects 16, 1008 expects 32, wait 1000 phase 0, wait 1008 phase 0");
}

}  // namespace
}  // namespace tilevm::backend::noted

#pragma GCC diagnostic pop
