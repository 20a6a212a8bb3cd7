// The order of a block's events: what is in order passes whatever the emulated GPU does, and each
// synchronization that is taken out of emitted code is a report. None of these faults changes a
// result in the order that the emulated GPU takes.
#include "backend/emu/order_check.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "backend/emu/emu_engine.h"
#include "tests/unit/backend/emit_support.h"
#include "tests/unit/contains.h"

namespace tilevm::backend {
namespace {

constexpr isa::Target hopper{90, true};

/// A ring of two stages that bulk copies fill while the block adds up what came before.
std::string ring(bool split) {
  return std::string("@split_barriers(") + (split ? "1" : "0") + R"()
def sums<1>(f32* x_ptr, f32* y_ptr):
    gx = ViewGlobal(x_ptr, shape=[8, 16, 256])
    gy = ViewGlobal(y_ptr, shape=[16, 256])
    s = AllocateShared(f32, shape=[2, 16, 256])
    sum = AllocateRegister(f32, layout=spatial(16, 16).local(1, 16), init=0.0)
    CopyAsync(s, gx, offset=[0, 0:, 0:], shared_offset=[0, 0:, 0:])
    CopyAsyncCommitGroup()
    for i in range(8):
        CopyAsyncWaitGroup(0)
        Synchronize()
        if i + 1 < 8:
            CopyAsync(s, gx, offset=[(i + 1) % 8, 0:, 0:], shared_offset=[(i + 1) % 2, 0:, 0:])
        CopyAsyncCommitGroup()
        sum = Add(sum, LoadShared(s, layout=spatial(16, 16).local(1, 16), offset=[i % 2, 0:, 0:]))
    CopyAsyncWaitGroup(0)
    Synchronize()
    StoreGlobal(sum, gy)
)";
}

/// A store to memory that a bulk copy overwrites.
const std::string stored_before = R"(def stored<1>(f32* x_ptr, f32* y_ptr):
    s = AllocateShared(f32, shape=[16, 256])
    StoreShared(AllocateRegister(f32, layout=spatial(16, 16).local(1, 16), init=0.0), s)
    Synchronize()
    CopyAsync(s, ViewGlobal(x_ptr, shape=[16, 256]))
    CopyAsyncCommitGroup()
    CopyAsyncWaitGroup(0)
    Synchronize()
    StoreGlobal(LoadShared(s, layout=spatial(16, 16).local(1, 16)), ViewGlobal(y_ptr, shape=[16, 256]))
)";

/// More copy groups than the ring has, which nobody waits for.
const std::string unwaited = R"(def unwaited<1>(f32* x_ptr, f32* y_ptr):
    gx = ViewGlobal(x_ptr, shape=[8, 16, 256])
    s = AllocateShared(f32, shape=[8, 4, 256])
    for i in range(8):
        CopyAsync(s, gx, offset=[i, 0:, 0:], shared_offset=[i, 0:, 0:])
        CopyAsyncCommitGroup()
    CopyAsyncWaitGroup(0)
    Synchronize()
    x = LoadShared(s, layout=local(1, 1, 1).spatial(1, 4, 64).local(1, 1, 4))
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[1, 4, 256]))
)";

/// An edit of the emitted text: the last place of `from`, or the one with this number behind the
/// prelude.
struct Edit {
  std::string from, to;
  std::optional<int> number{};

  void apply(CudaSource& source) const {
    std::size_t at = source.text.rfind(from);
    if (number) at = source.text.find(from, source.prelude_size);
    for (int i = 0; i < number.value_or(0); ++i) at = source.text.find(from, at + 1);
    CAPTURE(from);
    REQUIRE(at != std::string::npos);
    source.text.replace(at, from.size(), to);
  }
};

std::optional<EmuFault> run(const std::string& text, const std::vector<Edit>& edits = {},
                            const EmuOptions& options = {.threads = 1}) {
  const isa::VerifiedProgram program = make_program(text, hopper);
  Result<EmuEngine> engine =
      EmuEngine::create(options, [](const isa::Target&) { return MmaModel(); });
  REQUIRE(engine);
  engine->edit_source([&](CudaSource& source) {
    for (const Edit& edit : edits) edit.apply(source);
  });
  HostBuffers memory{std::vector<std::uint8_t>(8 * 16 * 256 * 4),
                     std::vector<std::uint8_t>(16 * 256 * 4)};
  EmuMemory device(memory);
  const Result<EmuRun> run = engine->launch(program, 0, {0, 1}, device, {"x_ptr", "y_ptr"});
  INFO((run ? "" : run.error().message));
  REQUIRE(run);
  return run->fault;
}

void check_report(const std::string& text, const std::vector<Edit>& edits,
                  const std::string& part) {
  CAPTURE(part);
  const auto fault = run(text, edits);
  REQUIRE(fault);
  CHECK(fault->kind == EmuFault::Kind::order);
  CHECK_MESSAGE(contains(fault->message, part), fault->message);
  const auto unchecked = run(text, edits, {.check_order = false, .threads = 1});
  if (unchecked) CHECK(unchecked->kind != EmuFault::Kind::order);
}

}  // namespace

TEST_CASE(
    "what barriers, phases and fences order is not a fault, in any order of threads and copies") {
  using Order = EmuOptions::Order;
  for (const std::string& text : {ring(false), ring(true), stored_before, unwaited}) {
    CAPTURE(text);
    for (const Order lanes : {Order::forward, Order::backward, Order::seeded}) {
      const auto fault = run(text, {}, {.lanes = lanes, .seed = 3, .threads = 1});
      if (fault) FAIL_CHECK(fault->message);
    }
  }
}

TEST_CASE("a store that a bulk copy overwrites needs a fence") {
  check_report(stored_before, {{"tv::fence_proxy_async_shared();", ""}},
               "a bulk copy overwrites byte 0 of shared memory, which thread");
}

TEST_CASE("a fence before the store is none") {
  check_report(stored_before,
               {{"tv::fence_proxy_async_shared();", ""},
                {"const tv::u32 base0_ = tv::thread() / 16",
                 "tv::fence_proxy_async_shared(); const tv::u32 base0_ = tv::thread() / 16"}},
               "no fence.proxy.async is between them");
}

TEST_CASE("a fence of the copying thread after the barrier is as good") {
  const std::vector<Edit> edits{
      {"tv::fence_proxy_async_shared();", ""},
      {"&& tv::elect_sync()) {", "&& tv::elect_sync()) { tv::fence_proxy_async_shared();"}};
  const auto fault = run(stored_before, edits);
  if (fault) FAIL_CHECK(fault->message);
}

TEST_CASE("data are read after their phase, and overwritten after they are read") {
  check_report(ring(true), {{"tv::wait_for_newest_phase(bulk_);", "bulk_.done = bulk_.made;", 0}},
               "where a bulk copy may still write");
  // After that of the ring and that of a full ring, the barrier of a step.
  check_report(ring(false), {{"tv::synchronize();", "", 2}},
               "nothing orders the copy after the read");
}

TEST_CASE("a ring that is reused one commit early counts for the group before") {
  check_report(unwaited, {{"< 2u) {", "< 3u) {"}, {"< 2u) {", "< 3u) {"}},
               "nothing tells it that phase 0 is complete");
}

TEST_CASE("no phase ends before all warps have seen the end of the one before") {
  check_report(ring(true), {{"tv::barrier_sync<256>();", ""}, {"tv::barrier_arrive<256>();", ""}},
               "the wait would then be for the parity of a phase that never ends");
}

TEST_CASE("copies see the memory barriers that count them") {
  check_report(unwaited, {{"    fence_proxy_async_shared();\n", ""}}, "makes visible to copies");
}

TEST_CASE("a block ends after its copies") {
  const std::string text = R"(@threads(256)
def early<1>(f32* x_ptr, f32* y_ptr):
    s = AllocateShared(f32, shape=[16, 256])
    CopyAsync(s, ViewGlobal(x_ptr, shape=[16, 256]))
    CopyAsyncCommitGroup()
)";
  check_report(text, {{"tv::wait_for_phases<0, false>(bulk_);", ""}},
               "the block ends while a bulk copy");
}

TEST_CASE("a bulk copy is ordered after the reads of what it overwrites, by a barrier alone") {
  constexpr unsigned mbarrier = 4096;
  OrderCheck check(64, 64);
  check.make_mbarrier(0, mbarrier, nullptr);
  check.fence(0);
  check.synchronize();
  CHECK_FALSE(check.touch(32, 12, 4, OrderCheck::Touch::read, nullptr));
  CHECK_FALSE(check.begin_bulk(0, 16, 16, mbarrier, 0, nullptr));  // other bytes
  const auto problem = check.begin_bulk(0, 0, 16, mbarrier, 0, nullptr);
  REQUIRE(problem);
  CHECK(
      contains(problem->message,
               "warp 0 copies in bulk to byte 0 of shared memory, which warp 1 reads, and nothing "
               "orders the copy after the read"));
  check.synchronize();
  CHECK_FALSE(check.begin_bulk(0, 0, 16, mbarrier, 0, nullptr));
}

TEST_CASE("a wait tells its warp alone that a phase is complete; a barrier tells the others") {
  constexpr unsigned mbarrier = 4096;
  OrderCheck check(64, 64);
  check.make_mbarrier(0, mbarrier, nullptr);
  check.fence(0);
  check.synchronize();
  CHECK_FALSE(check.begin_bulk(0, 0, 16, mbarrier, 0, nullptr));
  CHECK_FALSE(check.arrive_expecting(0, mbarrier));
  CHECK_FALSE(check.begin_wait(0, mbarrier, 0));
  check.end_wait(0, mbarrier, 0);
  CHECK_FALSE(check.touch(0, 0, 4, OrderCheck::Touch::read, nullptr));
  CHECK(check.touch(32, 0, 4, OrderCheck::Touch::read, nullptr));
  check.synchronize();
  CHECK_FALSE(check.touch(32, 0, 4, OrderCheck::Touch::read, nullptr));
  CHECK(check.begin_wait(0, mbarrier, 2));  // phase 1 has the other parity
  CHECK_FALSE(check.end());
}

TEST_CASE("a vector clock knows what a named barrier orders, and what it does not") {
  OrderCheck check(64, 64);
  CHECK_FALSE(check.touch(0, 0, 4, OrderCheck::Touch::write, nullptr));
  CHECK_FALSE(check.arrive(0, 1));
  CHECK_FALSE(check.arrive(1, 1));
  check.complete(1, {1});  // warp 0 only arrived
  CHECK_FALSE(check.touch(32, 0, 4, OrderCheck::Touch::read, nullptr));
  CHECK_FALSE(check.touch(32, 16, 4, OrderCheck::Touch::write, nullptr));
  const auto problem = check.touch(0, 16, 4, OrderCheck::Touch::read, nullptr);
  REQUIRE(problem);
  CHECK(contains(problem->message, "warp 0 reads byte 16 of shared memory, which warp 1 writes"));
  // Nothing tells warp 0 that warp 1 has come.
  const auto again = check.arrive(0, 1);
  REQUIRE(again);
  CHECK(contains(again->message, "warp 0 comes to named barrier 1 again"));
}

TEST_CASE("a byte keeps an order of its own in a granule that one access stored or read") {
  using Touch = OrderCheck::Touch;
  const auto message = [](const auto& problem) {
    REQUIRE(problem);
    return problem->message;
  };
  OrderCheck check(96, 40);
  CHECK_FALSE(check.touch(0, 16, 16, Touch::write, nullptr));
  CHECK(contains(message(check.touch(32, 20, 4, Touch::read, nullptr)), "reads byte 20 of"));
  check.synchronize();
  CHECK_FALSE(check.touch(32, 24, 2, Touch::write, nullptr));
  CHECK_FALSE(check.touch(0, 26, 6, Touch::read, nullptr));
  CHECK(contains(message(check.touch(0, 16, 16, Touch::read, nullptr)), "reads byte 24 of"));
  CHECK(contains(message(check.touch(32, 16, 16, Touch::write, nullptr)), "writes byte 16 of"));
  check.synchronize();
  CHECK_FALSE(check.touch(0, 16, 16, Touch::read, nullptr));
  CHECK_FALSE(check.touch(64, 16, 16, Touch::read, nullptr));
  CHECK(contains(message(check.touch(64, 31, 1, Touch::write, nullptr)), "which warp 0 reads"));
  check.synchronize();
  CHECK_FALSE(check.touch(64, 16, 24, Touch::write, nullptr));
  CHECK(contains(message(check.touch(0, 39, 1, Touch::read, nullptr)), "reads byte 39 of"));
}

}  // namespace tilevm::backend
