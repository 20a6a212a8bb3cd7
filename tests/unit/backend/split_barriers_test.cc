// Which barriers hold only producer warps.
#include <doctest/doctest.h>

#include <string>

#include "backend/emit/emit.h"
#include "backend/select/select.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

constexpr isa::Target hopper{90, true};

/// A kernel with a pipeline of two stages. `step` stands at the end of a step, `begin` and `end`
/// around the loop; in all of them `x` is a tile and `t` a shared tensor that nothing copies to.
struct Pipeline {
  std::string step{};
  std::string begin{};
  std::string end = "    Synchronize()\n    StoreGlobal(x, gr)\n";
  std::string decorators = "@split_barriers(1)\n";
  std::string from = "gp";

  [[nodiscard]] std::string program() const {
    const std::string tile = "layout=local(16, 1).spatial(1, 256).local(1, 2)";
    return decorators + "def f<4>(f16* p, f16* r, i32* count):\n" +
           "    gp = ViewGlobal(p, shape=[16, 4096])\n    gr = ViewGlobal(r, shape=[16, 4096])\n"
           "    gc = ViewGlobal(count, shape=[1])\n"
           "    s = AllocateShared(f16, shape=[2, 16, 512])\n"
           "    t = AllocateShared(f16, shape=[16, 512])\n"
           "    x = AllocateRegister(f16, " +
           tile + ", init=0.0)\n" + begin + "    CopyAsync(s, " + from +
           ", offset=[0:, 0:], shared_offset=[0, 0:, 0:])\n    CopyAsyncCommitGroup()\n"
           "    for i in range(8):\n        CopyAsyncWaitGroup(0)\n        Synchronize()\n"
           "        CopyAsync(s, " +
           from +
           ", offset=[0:, (i + 1) % 8 * 512:], shared_offset=[(i + 1) % 2, 0:, 0:])\n"
           "        CopyAsyncCommitGroup()\n        x = Add(x, LoadShared(s, " +
           tile + ", offset=[i % 2, 0:, 0:]))\n" + step + end;
  }

  /// How many barriers are split, and how many there are.
  [[nodiscard]] std::string barriers() const {
    const isa::VerifiedProgram checked = make_program(program(), hopper);
    const SelectedProgram selected = select(checked);
    int split = 0, full = 0;
    isa::for_each_statement(checked.kernel(0).body, [&](const isa::Stmt& stmt) {
      const Form& form = selected.kernels[0].forms[stmt.id()];
      if (std::holds_alternative<SplitBarrier>(form)) ++split;
      if (std::holds_alternative<FullBarrier>(form)) ++full;
    });
    return std::to_string(split) + " of " + std::to_string(split + full);
  }
};

TEST_CASE("the barrier of a step that reads only what was copied is split") {
  CHECK(Pipeline{}.barriers() == "1 of 2");
  CHECK(Pipeline{.step = "        x = Mul(x, x)\n"}.barriers() == "1 of 2");
}

TEST_CASE("a step that stores, or reads what is stored, keeps its barrier") {
  const std::string load = "layout=local(16, 1).spatial(1, 256).local(1, 2)";
  CHECK(Pipeline{.step = "        StoreShared(x, t)\n"}.barriers() == "0 of 2");
  CHECK(Pipeline{.step = "        StoreGlobal(x, gr)\n"}.barriers() == "0 of 2");
  CHECK(Pipeline{.step = "        y = LoadGlobal(gr, " + load + ")\n"}.barriers() == "0 of 2");
  CHECK(Pipeline{.step = "        n = AtomicAdd(gc, 1, offset=[0])\n"}.barriers() == "0 of 2");
  CHECK(Pipeline{.step = "        Print(i)\n"}.barriers() == "0 of 2");
  // What is read was stored before the loop, which needs no other barrier than that of a step.
  const std::string read = "        x = Add(x, LoadShared(t, " + load + "))\n";
  CHECK(Pipeline{.step = read, .begin = "    StoreShared(x, t)\n"}.barriers() == "0 of 2");
  // In a branch, which may be taken.
  CHECK(Pipeline{.step = "        if i == 3:\n            StoreShared(x, t)\n"}.barriers() ==
        "0 of 2");
}

TEST_CASE("what a barrier parts from the rest counts for its own part only") {
  // The step's barrier parts the store from nothing but itself; the one behind the store is passed.
  const std::string apart =
      "        Synchronize()\n        StoreShared(x, t)\n        Synchronize()\n";
  CHECK(Pipeline{.step = apart}.barriers() == "2 of 4");
  // What follows the loop is behind the last step's barrier, unless another one stands between.
  CHECK(Pipeline{.end = "    StoreGlobal(x, gr)\n"}.barriers() == "0 of 1");
}

TEST_CASE("loops are left and begun again by other ways, too") {
  const std::string leave = "        if i == 3:\n            break\n";
  CHECK(Pipeline{.step = leave}.barriers() == "1 of 2");
  CHECK(Pipeline{.step = leave, .end = "    StoreGlobal(x, gr)\n"}.barriers() == "0 of 1");
  const std::string again = "        if i == 3:\n            continue\n";
  CHECK(Pipeline{.step = again}.barriers() == "1 of 2");
  CHECK(Pipeline{.step = again + "        StoreShared(x, t)\n"}.barriers() == "0 of 2");
  CHECK(Pipeline{.step = "        if i == 3:\n            Exit()\n"}.barriers() == "0 of 2");
  const std::string inner = "        for k in range(i):\n            Synchronize()\n";
  CHECK(Pipeline{.step = inner}.barriers() == "2 of 3");
  CHECK(Pipeline{.step = inner + "            StoreShared(x, t)\n"}.barriers() == "1 of 3");
  // Loops in loops: what the innermost does is behind all of them, in time that does not double.
  std::string deep = "        for k0 in range(i):\n", indent = "            ";
  for (int level = 1; level < 24; ++level, indent += "    ") {
    deep += indent + "for k" + std::to_string(level) + " in range(i):\n";
  }
  CHECK(Pipeline{.step = deep + indent + "x = Add(x, x)\n"}.barriers() == "1 of 2");
  CHECK(Pipeline{.step = deep + indent + "StoreShared(x, t)\n"}.barriers() == "0 of 2");
}

TEST_CASE("only a kernel that asks for it, and copies in bulk alone, has split barriers") {
  CHECK(Pipeline{.decorators = ""}.barriers() == "0 of 2");
  CHECK(Pipeline{.decorators = "@split_barriers(0)\n"}.barriers() == "0 of 2");
  // A pointer that the kernel stores to is not read in bulk.
  CHECK(Pipeline{.from = "gr"}.barriers() == "0 of 2");
}

TEST_CASE("the last warps copy, and the first of them commits") {
  const auto has = [](const std::string& program, const std::string& part) {
    const CudaSource source = emit_cuda(make_program(program, hopper));
    return source.text.find(part, source.prelude_size) != std::string::npos;
  };
  const std::string eight = Pipeline{}.program();
  CHECK(has(eight, "tv::CopyRing<2> bulk_"));
  CHECK(has(eight, "tv::arrive_expect<4>(bulk_);"));
  CHECK(has(eight, "if (bulk_.warp - 4u < 4 && tv::elect_sync()) {"));
  CHECK(has(eight, "tv::barrier_sync<256>();"));
  CHECK(has(eight, "tv::barrier_arrive<256>();"));
  // Four warps have none left that does not copy.
  std::string four = eight;
  for (auto at = four.find("256"); at != std::string::npos; at = four.find("256")) {
    four.replace(at, std::string("256).local(1, 2)").size(), "128).local(1, 4)");
  }
  CHECK(has(four, "tv::arrive_expect<0>(bulk_);"));
  CHECK_FALSE(has(four, "_at_split_barrier"));
}

}  // namespace
}  // namespace tilevm::backend
