// Entries as functions of the caller's memory, in the simulator and, through a stand-in for the
// driver, on a device.
#include "vm/library/callable.h"

#include "tests/fake_driver/fake_driver.h"
#include "tests/unit/vm/commands_support.h"
#include "vm/cli/cmd_support.h"
#include "vm/run/engine_cuda.h"

namespace tilevm::vm {
namespace {

using backend::FakeGpu;
using backend::has_fake_driver;

constexpr const char* text = R"(
def add<n>(f32* a_ptr, f32* c_ptr, f32 s, i32 n):
    b = BlockIndices()
    ga = ViewGlobal(a_ptr, shape=[4])
    gc = ViewGlobal(c_ptr, shape=[n])
    a = LoadGlobal(ga, layout=local(1), offset=[b:])
    StoreGlobal(Add(a, AllocateRegister(f32, layout=local(1), init=s)), gc, offset=[b:])

pipeline twice(a: f32[4]) -> (c: f32[4]):
    t = AllocateGlobal(f32, shape=[4])
    add(a, t, 1.0, 4)
    add(t, c, 2.0, 4)
)";

isa::VerifiedProgram verified_for(const std::string& target = "sm_90") {
  const Loaded loaded =
      load(std::make_shared<SourceFile>("call.tile", text), {}, *isa::parse_target(target));
  REQUIRE(loaded.program);
  return *loaded.program;
}

TEST_CASE("the parameters of entries are what a caller must give") {
  const std::vector<Callable> all = callables(verified_for());
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "twice");
  REQUIRE(all[0].parameters.size() == 2);
  CHECK(all[0].parameters[0].input);
  CHECK(all[0].parameters[1].output);
  CHECK(all[0].parameters[1].bytes() == 16);
  REQUIRE(all[1].parameters.size() == 4);
  CHECK(all[1].parameters[0].bytes() == 16);
  CHECK(all[1].parameters[1].bytes() == 0);
  CHECK(all[1].parameters[1].output);
  CHECK_FALSE(all[1].parameters[1].input);
  CHECK(all[1].parameters[2].scalar == isa::ScalarKind::f32);
}

TEST_CASE("a kernel keeps what it does not write, and a pipeline has its temporaries") {
  const isa::VerifiedProgram program = verified_for();
  const std::vector<Callable> all = callables(program);
  const std::unique_ptr<Engine> engine = *make_engine("sim", {});
  RunReport report;
  float a[4] = {1, 2, 3, 4}, c[4] = {9, 9, 9, 9}, s = 0.5f;
  std::int32_t n = 2;
  const CallArgument kernel[] = {{a, 16}, {c, 16}, {&s, 4}, {&n, 4}};
  CHECK_FALSE(call(*engine, program, all[1], kernel, report));
  CHECK(std::vector(c, c + 4) == std::vector<float>{1.5f, 2.5f, 9, 9});
  const CallArgument pipeline[] = {{a, 16}, {c, 16}};
  CHECK_FALSE(call(*engine, program, all[0], pipeline, report));
  CHECK(std::vector(c, c + 4) == std::vector<float>{4, 5, 6, 7});
}

TEST_CASE("arguments that are one array are one memory") {
  const isa::VerifiedProgram program = verified_for();
  const std::vector<Callable> all = callables(program);
  const std::unique_ptr<Engine> engine = *make_engine("sim", {});
  RunReport report;
  float a[4] = {1, 2, 3, 4}, s = 0.5f;
  std::int32_t n = 4;
  const CallArgument kernel[] = {{a, 16}, {a, 16}, {&s, 4}, {&n, 4}};
  CHECK_FALSE(call(*engine, program, all[1], kernel, report));
  CHECK(std::vector(a, a + 4) == std::vector<float>{1.5f, 2.5f, 3.5f, 4.5f});
  const CallArgument pipeline[] = {{a, 16}, {a, 16}};
  CHECK_FALSE(call(*engine, program, all[0], pipeline, report));
  CHECK(std::vector(a, a + 4) == std::vector<float>{4.5f, 5.5f, 6.5f, 7.5f});
  const Result<HostCall> made = HostCall::make(program, all[0], pipeline);
  REQUIRE(made);
  CHECK(made->entry.tensors.size() == 2);  // a = c, and t
  CHECK(made->entry.tensors[0].name == "a = c");
  CHECK(made->tensors.size() == 2);
}

TEST_CASE("arguments that overlap without being one array are refused") {
  const isa::VerifiedProgram program = verified_for();
  const std::vector<Callable> all = callables(program);
  float memory[8] = {};
  const auto message_of = [&](void* a, void* c) {
    const CallArgument arguments[] = {{a, 16}, {c, 16}};
    const Result<HostCall> made = HostCall::make(program, all[0], arguments);
    return made ? std::string() : made.error().message;
  };
  const std::string refused =
      "`a` and `c` of `twice` overlap in memory without being one array, and `c` is written; pass "
      "memory of their own, or one array for both, as a tensor that a pipeline declares `inout`";
  CHECK(message_of(memory, memory + 3) == refused);
  CHECK(message_of(memory + 1, memory) == refused);
  CHECK(message_of(memory, memory + 4).empty());
  float s = 1;
  std::int32_t n = 2;
  const CallArgument smaller[] = {{memory, 16}, {memory, 8}, {&s, 4}, {&n, 4}};
  CHECK(contains(HostCall::make(program, all[1], smaller).error().message, "`inout`"));
}

TEST_CASE("loading takes all memory, launching none") {
  if (!has_fake_driver()) return;
  const FakeGpu gpu;
  const isa::VerifiedProgram program = verified_for();
  const Result<LoadedCallable> twice = LoadedCallable::load(program, callables(program)[0]);
  REQUIRE_MESSAGE(twice, twice.error().message);
  CHECK(gpu.take_log() == "allocate 32\n");
  std::byte memory[64];
  auto* const aligned = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(memory) + 15) / 16 * 16);  // NOLINT: an address
  const CallArgument good[] = {{aligned, 0}, {aligned + 16, 16}};
  REQUIRE(twice->launch(good, nullptr));
  const std::string launch = "launch add_kernel 4,1,1 x 1,1,1 shared 0 stream (nil)\n";
  CHECK(gpu.take_log() == launch + launch);
  const auto message_of = [&](CallArguments arguments) {
    const Status put = twice->launch(arguments, nullptr);
    REQUIRE_FALSE(put);
    CHECK(put.error().kind == ErrorKind::usage);
    return put.error().message;
  };
  const CallArgument odd[] = {{aligned + 4, 0}, {aligned, 0}};
  CHECK(contains(message_of(odd), "it must be a multiple of 16"));
  const CallArgument small[] = {{aligned, 15}, {aligned, 0}};
  CHECK(message_of(small) == "`a` of `twice` is f32[4] of 16 bytes; 15 were given");
  CHECK(message_of({}) == "`twice` takes 2 arguments, 0 were given");
}

TEST_CASE("a program for another target than the device's is not loaded") {
  if (!has_fake_driver()) return;
  const FakeGpu gpu;
  const isa::VerifiedProgram program = verified_for("sm_80");
  const Result<LoadedCallable> loaded = LoadedCallable::load(program, callables(program)[0]);
  REQUIRE_FALSE(loaded);
  CHECK(contains(loaded.error().message, "the program is for sm_80, the device is sm_90a"));
}

}  // namespace
}  // namespace tilevm::vm
