// The emulated GPU: what it computes, what it stops for, and that its choices change no correct
// program. Faults are planted in emitted code.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "backend/emu/emu_engine.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

/// Each thread gives its element to its neighbour through shared memory: y[i] = x[63 - i], for 4
/// blocks.
const char* const reverse_text = R"(@threads(64)
def reverse<4>(i32* x_ptr, i32* y_ptr):
    b = BlockIndices()
    gx = ViewGlobal(x_ptr, shape=[256])
    gy = ViewGlobal(y_ptr, shape=[256])
    s = AllocateShared(i32, shape=[64])
    x = LoadGlobal(gx, layout=spatial(64), offset=[b * 64:])
    StoreShared(x, s)
    Synchronize()
    t = LoadShared(s, layout=spatial(32).spatial(2))
    StoreGlobal(t, gy, offset=[b * 64:])
)";

std::vector<std::uint8_t> numbers(std::size_t count) {
  std::vector<std::int32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int32_t>(i * i);
  std::vector<std::uint8_t> bytes(count * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

using Edit = std::function<void(std::string&)>;

/// Replaces the last occurrence, which is in the kernels, not in the prelude.
Edit replacing(const std::string& from, const std::string& to) {
  return [=](std::string& text) {
    const std::size_t at = text.rfind(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
}

struct Ran {
  HostBuffers memory;
  std::optional<EmuFault> fault;
};

/// Runs the only kernel of a text on buffers.
Ran run(const std::string& text, HostBuffers memory, const EmuOptions& options = {},
        const Edit& edit = {}, const isa::Target& target = {}) {
  const isa::VerifiedProgram program = make_program(text, target);
  Result<EmuEngine> engine =
      EmuEngine::create(options, [](const isa::Target&) { return MmaModel(); });
  REQUIRE(engine);
  if (edit) engine->edit_source([&](CudaSource& source) { edit(source.text); });
  EmuMemory device(memory);
  std::vector<Argument> arguments;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    arguments.emplace_back(static_cast<int>(i));
    names.push_back(program.kernel(0).variable(program.kernel(0).parameters[i]).name);
  }
  const Result<EmuRun> result = engine->launch(program, 0, arguments, device, names);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  device.download(memory);
  return {std::move(memory), result->fault};
}

Ran run_reverse(const EmuOptions& options = {}, const Edit& edit = {}) {
  return run(reverse_text, {numbers(256), std::vector<std::uint8_t>(1024)}, options, edit);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("emu runs an emitted kernel") {
  const Ran ran = run_reverse();
  REQUIRE_FALSE(ran.fault);
  CHECK(ran.memory[1] == ran.memory[0]);
}

TEST_CASE("emu: the order of threads and blocks changes no correct program") {
  using Order = EmuOptions::Order;
  for (const Order lanes : {Order::forward, Order::backward, Order::seeded}) {
    for (const Order blocks : {Order::forward, Order::backward, Order::seeded}) {
      EmuOptions options;
      options.lanes = lanes;
      options.blocks = blocks;
      options.seed = 7;
      const Ran ran = run_reverse(options);
      REQUIRE_FALSE(ran.fault);
      CHECK(ran.memory[1] == ran.memory[0]);
    }
  }
}

TEST_CASE("emu: a barrier that some threads do not reach is a fault with both places") {
  const Ran ran =
      run_reverse({}, replacing("tv::synchronize();", "if (tv::thread() != 5) tv::synchronize();"));
  REQUIRE(ran.fault);
  CHECK(ran.fault->kind == EmuFault::Kind::deadlock);
  CHECK(ran.fault->line == 9);
  CHECK(has(ran.fault->message, "thread 5: ended"));
  CHECK(has(ran.fault->message, "threads 6 to 63: wait at a barrier of the block in line 9"));
}

TEST_CASE("emu: threads that are at different barriers are a fault") {
  const Ran ran = run_reverse(
      {}, replacing("tv::synchronize();",
                    "if (tv::thread() < 32) { tv::synchronize(); } else {\n tv::synchronize(); }"));
  REQUIRE(ran.fault);
  CHECK(ran.fault->kind == EmuFault::Kind::divergence);
  CHECK(has(ran.fault->message, "thread 32 is at a barrier of the block in line 10"));
  CHECK(has(ran.fault->message, "thread 0 is at a barrier of the block in line 9"));
}

TEST_CASE("emu: an access outside of a buffer names the statement, the thread and the address") {
  const Ran ran = run_reverse({}, replacing("gy.data", "gy.data + 4 * 200"));
  REQUIRE(ran.fault);
  CHECK(ran.fault->kind == EmuFault::Kind::memory);
  INFO(ran.fault->message);
  CHECK(ran.fault->line == 11);
  CHECK(has(ran.fault->message, "past the end of `y_ptr` (1024 bytes)"));
}

TEST_CASE("emu: an access outside of shared memory is a fault") {
  const Ran ran = run_reverse({}, replacing("s = shared_ + 0", "s = shared_ + 128"));
  REQUIRE(ran.fault);
  CHECK(ran.fault->kind == EmuFault::Kind::memory);
  CHECK(has(ran.fault->message, "past the end of shared memory (256 bytes)"));
  CHECK(ran.fault->line == 8);
}

TEST_CASE("emu: an access outside of memory names its statement, however the code is optimised") {
  const std::vector<std::pair<Edit, unsigned>> edits{
      {replacing("gx.data", "gx.data + 4 * 250"), 7},
      {replacing("s = shared_ + 0", "s = shared_ + 128"), 8},
      {replacing("gy.data", "gy.data + 4 * 200"), 11}};
  for (const int optimisation : {0, 1, 2, 3}) {
    for (const auto& [edit, line] : edits) {
      CAPTURE(optimisation);
      EmuOptions options;
      options.optimisation = optimisation;
      const Ran ran = run_reverse(options, edit);
      REQUIRE(ran.fault);
      CHECK(ran.fault->line == line);
    }
  }
}

TEST_CASE("emu: an access that is not at a multiple of its width is a fault") {
  const Ran ran = run_reverse({}, replacing("gy.data", "gy.data + 2"));
  REQUIRE(ran.fault);
  CHECK(has(ran.fault->message, "not at a multiple of 4"));
}

TEST_CASE("emu: a missing barrier shows in some order of the threads") {
  const std::string text = R"(@threads(64)
def shift<1>(i32* x_ptr, i32* y_ptr):
    gx = ViewGlobal(x_ptr, shape=[64])
    gy = ViewGlobal(y_ptr, shape=[64])
    s = AllocateShared(i32, shape=[8, 8])
    x = LoadGlobal(gx, layout=spatial(64))
    StoreShared(View(x, layout=spatial(8, 8)), s)
    Synchronize()
    t = LoadShared(s, layout=column_spatial(8, 8))
    StoreGlobal(View(t, layout=spatial(64)), gy)
)";
  using Order = EmuOptions::Order;
  const HostBuffers memory{numbers(64), std::vector<std::uint8_t>(256)};
  const Ran right = run(text, memory);
  for (const Order lanes : {Order::forward, Order::backward, Order::seeded}) {
    EmuOptions options;
    options.lanes = lanes;
    CHECK(run(text, memory, options).memory == right.memory);
    const Ran wrong = run(text, memory, options, replacing("tv::synchronize();", ";"));
    REQUIRE_FALSE(wrong.fault);
    CHECK(wrong.memory != right.memory);
  }
}

namespace {

/// All threads need the sum of 64 numbers, and every thread stores it.
std::string replicated_text(const std::string& store) {
  return R"(@threads(64)
def total<1>(i32* x_ptr, i32* y_ptr):
    gx = ViewGlobal(x_ptr, shape=[64])
    gy = ViewGlobal(y_ptr, shape=[1])
    x = LoadGlobal(gx, layout=spatial(64), offset=[0:])
    t = Reduce(x, add, dims=[0], keep_dims=true)
)" + store;
}

}  // namespace

TEST_CASE("emu: replicas that differ are a fault where they are stored") {
  const std::string by_element = "    StoreGlobal(t, gy, offset=[0:])\n";
  const std::string in_shared = R"(    s = AllocateShared(i32, shape=[1])
    StoreShared(t, s)
    Synchronize()
    u = LoadShared(s, layout=replicated(64).spatial(1))
    StoreGlobal(u, gy, offset=[0:])
)";
  const Edit without_barrier = [](std::string& text) {
    const std::size_t at = text.find("tv::synchronize();", text.rfind("at_ = shared_ + exchange_"));
    REQUIRE(at != std::string::npos);
    text.erase(at, std::strlen("tv::synchronize();"));
  };
  for (const std::string& store : {by_element, in_shared}) {
    const std::string text = replicated_text(store);
    const HostBuffers memory{numbers(64), std::vector<std::uint8_t>(4)};
    REQUIRE_FALSE(run(text, memory).fault);
    for (const auto order : {EmuOptions::Order::forward, EmuOptions::Order::backward}) {
      EmuOptions options;
      options.lanes = order;
      const Ran ran = run(text, memory, options, without_barrier);
      REQUIRE(ran.fault);
      CHECK(ran.fault->kind == EmuFault::Kind::replicas);
      CHECK(has(ran.fault->message, "store different bits at one address"));
      CHECK(ran.fault->line == (store == in_shared ? 8 : 7));
    }
  }
}

TEST_CASE("emu: a loop without end is a fault") {
  EmuOptions options;
  options.max_steps = 10'000;
  const Ran ran = run(R"(def endless<1>(i32* x_ptr, i32* y_ptr):
    i = 0
    while i < 1:
        i = i * 2
)",
                      {numbers(1), numbers(1)}, options);
  REQUIRE(ran.fault);
  CHECK(ran.fault->kind == EmuFault::Kind::step_limit);
  CHECK(has(ran.fault->message, "10000 iterations"));
}

TEST_CASE("emu: a division by zero stops the kernel at its line") {
  const Ran ran = run(R"(def divide<1>(i32* x_ptr, i32* y_ptr):
    gx = ViewGlobal(x_ptr, shape=[32])
    gy = ViewGlobal(y_ptr, shape=[32])
    x = LoadGlobal(gx, layout=spatial(32))
    y = Div(x, x)
    StoreGlobal(y, gy)
)",
                      {numbers(32), numbers(32)});
  REQUIRE(ran.fault);
  CHECK(ran.fault->kind == EmuFault::Kind::trap);
  CHECK(ran.fault->line == 5);
  CHECK(ran.fault->thread == 0);
}

TEST_CASE("emu: copies arrive when the options say, and a wait makes all alike") {
  const std::string text = R"(@threads(32)
def copy<1>(i32* x_ptr, i32* y_ptr):
    gx = ViewGlobal(x_ptr, shape=[256])
    gy = ViewGlobal(y_ptr, shape=[256])
    s = AllocateShared(i32, shape=[256])
    CopyAsync(s, gx, offset=[0:])
    CopyAsyncCommitGroup()
    CopyAsyncWaitGroup(0)
    Synchronize()
    x = LoadShared(s, layout=spatial(32).local(8))
    StoreGlobal(x, gy)
)";
  using Landing = EmuOptions::Landing;
  for (const Landing landing : {Landing::at_once, Landing::at_wait, Landing::seeded}) {
    EmuOptions options;
    options.copies = landing;
    const HostBuffers memory{numbers(256), std::vector<std::uint8_t>(1024)};
    const isa::Target sm_80{80, false};  // copies of single threads
    const Ran right = run(text, memory, options, {}, sm_80);
    REQUIRE_FALSE(right.fault);
    CHECK(right.memory[1] == right.memory[0]);
    // Without the wait the data is there only if it came at once.
    const Ran wrong = run(
        text, memory, options,
        [](std::string& code) {
          const std::size_t at = code.rfind("tv::cp_async_wait_group<0>();");
          REQUIRE(at != std::string::npos);
          code.replace(at, code.find(';', at) - at, "");
        },
        sm_80);
    REQUIRE_FALSE(wrong.fault);
    CHECK((wrong.memory[1] == wrong.memory[0]) == (landing == Landing::at_once));
  }
}

TEST_CASE("emu: tiles that no stack holds are refused") {
  std::string text =
      "def big<1>(f32* x_ptr, f32* y_ptr):\n    gx = ViewGlobal(x_ptr, shape=[1024])\n";
  for (int i = 0; i < 70; ++i) {
    const std::string tile = "t" + std::to_string(i);
    text += "    " + tile + " = LoadGlobal(gx, layout=local(1024))\n    StoreGlobal(" + tile +
            ", gx)\n";
  }
  const isa::VerifiedProgram program = make_program(text);
  Result<EmuEngine> engine = EmuEngine::create({}, [](const isa::Target&) { return MmaModel(); });
  REQUIRE(engine);
  const isa::VerifiedProgram* const one = &program;
  const Status prepared = engine->prepare({&one, 1});
  REQUIRE_FALSE(prepared);
  CHECK(prepared.error().kind == ErrorKind::limit);
  CHECK(has(prepared.error().message, "the tiles of `big` take 286720 bytes in each thread"));
}

TEST_CASE("emu: kernels of several programs are compiled together") {
  const isa::VerifiedProgram one = make_program(reverse_text);
  const isa::VerifiedProgram other = make_program(R"(def reverse<1>(i32* x_ptr, i32* y_ptr):
    gx = ViewGlobal(x_ptr, shape=[32])
    gy = ViewGlobal(y_ptr, shape=[32])
    x = LoadGlobal(gx, layout=spatial(32))
    StoreGlobal(Add(x, x), gy)
)");
  Result<EmuEngine> engine = EmuEngine::create({}, [](const isa::Target&) { return MmaModel(); });
  REQUIRE(engine);
  int compiled = 0;
  engine->edit_source([&](CudaSource&) { ++compiled; });
  const std::array<const isa::VerifiedProgram*, 2> both{&one, &other};
  REQUIRE(engine->prepare(both));
  HostBuffers memory{numbers(256), std::vector<std::uint8_t>(1024)};
  EmuMemory device(memory);
  REQUIRE(engine->launch(one, 0, {0, 1}, device, {"x", "y"}));
  REQUIRE(engine->launch(other, 0, {0, 1}, device, {"x", "y"}));
  device.download(memory);
  CHECK(compiled == 1);
  std::vector<std::int32_t> got(256);
  std::memcpy(got.data(), memory[1].data(), memory[1].size());
  CHECK(got[5] == 50);
  CHECK(got[100] == 10000);
}

}  // namespace tilevm::backend
