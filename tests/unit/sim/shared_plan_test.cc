// Places of shared tensors: by their lives.
#include "isa/analysis/shared_plan.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/sim/running.h"

namespace tilevm::sim::testing {
namespace {

/// The tensors a (1024 bytes), b (2048) and c (512), and the body of a kernel that uses them.
isa::KernelInfo plan(const std::string& body) {
  std::string text = R"(
@threads(32)
def kernel<1>(u8* p):
    g = ViewGlobal(p, shape=[2048])
    a = AllocateShared(u8, shape=[1024])
    b = AllocateShared(u8, shape=[2048])
    c = AllocateShared(u8, shape=[512])
    x = LoadGlobal(g, layout=local(16).spatial(32), offset=[0:])
    y = LoadGlobal(g, layout=local(32).spatial(32), offset=[0:])
    z = LoadGlobal(g, layout=local(64).spatial(32), offset=[0:])
)" + body;
  return load(text).info(0);
}

std::vector<std::int64_t> places(const isa::KernelInfo& info) {
  std::vector<std::int64_t> result;
  for (const auto& tile : info.shared) result.push_back(tile.gpu_offset);
  return result;
}

using Places = std::vector<std::int64_t>;

TEST_CASE("tensors that live together lie one after another") {
  const auto info = plan("    StoreShared(y, a)\n    StoreShared(z, b)\n    StoreShared(x, c)\n");
  CHECK(places(info) == Places{0, 1024, 3072});
  CHECK(info.shared_footprint == 3584);
  CHECK(info.shared_footprint == info.shared_bytes);
}

TEST_CASE("behind a barrier the place of a tensor that nobody touches any more is free") {
  const auto info = plan(
      "    StoreShared(y, a)\n    StoreShared(x, c)\n    Synchronize()\n"
      "    StoreShared(z, b)\n");
  CHECK(places(info) == Places{0, 0, 1024});
  CHECK(info.shared_footprint == 2048);
  CHECK(info.reuse_barriers.count() == 1);
}

TEST_CASE("without a barrier of the kernel's body it is not") {
  CHECK(plan("    StoreShared(y, a)\n    StoreShared(z, b)\n").shared_footprint == 3584);
  CHECK(plan("    StoreShared(y, a)\n    for i in range(2):\n        Synchronize()\n"
             "    StoreShared(z, b)\n")
            .shared_footprint == 3584);  // c, which nothing touches, included
  CHECK(plan("    for i in range(2):\n        StoreShared(y, a)\n        Synchronize()\n"
             "        StoreShared(z, b)\n    Synchronize()\n    StoreShared(x, c)\n")
            .shared_footprint == 3072);
}

TEST_CASE("a block that always runs once is a part of the body, one that never runs is none") {
  const auto info = plan(
      "    if 1 == 1:\n        StoreShared(y, a)\n        Synchronize()\n"
      "    else:\n        StoreShared(x, c)\n        StoreShared(z, b)\n"
      "    StoreShared(z, b)\n    StoreShared(x, c)\n");
  CHECK(places(info) == Places{0, 0, 2048});
  // One that may run leaves the end of a life unknown.
  CHECK(plan("    i = BlockIndices()\n    if i < 1:\n        StoreShared(y, a)\n"
             "        Synchronize()\n    StoreShared(z, b)\n    StoreShared(x, c)\n")
            .shared_footprint == 3584);
}

TEST_CASE("a copy in flight keeps a tensor's place until a wait for all") {
  const std::string copy = "    CopyAsync(a, g, offset=[0:])\n    CopyAsyncCommitGroup()\n";
  const std::string use = "    Synchronize()\n    StoreShared(z, b)\n";
  CHECK(places(plan(copy + use))[1] == 1024);
  CHECK(places(plan(copy + "    CopyAsyncWaitGroup(1)\n" + use))[1] == 1024);
  const auto info = plan(copy + "    CopyAsyncWaitGroup(0)\n" + use);
  CHECK(places(info)[1] == 0);
  CHECK(info.reuse_barriers.count() == 2);
}

}  // namespace
}  // namespace tilevm::sim::testing
