// Drivers that are old, broken or without a device, and what launches ask of the driver, shown by a
// stand-in for it (tests/fake_driver).
#include "tests/fake_driver/fake_driver.h"

#include <fmt/format.h>

#include "backend/engine/doctor.h"
#include "backend/engine/engine.h"
#include "tests/unit/backend/emit_support.h"

namespace tilevm::backend {
namespace {

std::string message_of(const char* variable, const std::string& value) {
  const ScopedVariable told(variable, value);
  const Result<Device> device = Device::open();
  REQUIRE_FALSE(device);
  CHECK(device.error().message.find('\n') == std::string::npos);
  return device.error().message;
}

TEST_CASE("a driver that does not start is one line with the way out") {
  if (!has_fake_driver()) return;
  const FakeGpu gpu;
  CHECK(contains(message_of("FAKE_CUDA_INIT", "100"), "CUDA_VISIBLE_DEVICES"));
  CHECK(contains(message_of("FAKE_CUDA_INIT", "34"), "take the `stubs` folder out"));
  CHECK(contains(message_of("FAKE_CUDA_INIT", "803"), "restart the machine"));
  CHECK(contains(message_of("TILEVM_DEVICE", "1"), "see `tilevm doctor`"));
  CHECK(contains(message_of("TILEVM_DEVICE", "gpu"), "must be the number of a device"));
}

TEST_CASE("the doctor names a driver that is older than NVRTC, and a GPU that is too old") {
  if (!has_fake_driver() || lacks(CompilerChoice::nvrtc, "an old driver")) return;
  const FakeGpu gpu;
  const ScopedVariable nvrtc("TILEVM_NVRTC", std::nullopt);
  const ScopedVariable old("FAKE_CUDA_VERSION", "11080");
  const ScopedVariable turing("FAKE_CUDA_SM", "75");
  std::string fixes;
  for (const Finding& finding : examine_cuda()) fixes += finding.what + ": " + finding.fix + "\n";
  CHECK(contains(fixes, "NVRTC: update the driver (580 or newer for CUDA 13)"));
  CHECK(contains(fixes, "GPU 0: use a GPU of the Ampere generation or newer"));
}

TEST_CASE("code that is newer than the driver is an error that names both ways out") {
  if (!has_fake_driver()) return;
  const FakeGpu gpu;
  const ScopedVariable refuses("FAKE_CUDA_LOAD", "200");
  const ScopedVariable old("FAKE_CUDA_VERSION", "12020");
  const Result<Device> device = Device::open();
  REQUIRE(device);
  const Result<Module> module = device->load(".version 9.0\n.target sm_90\n");
  REQUIRE_FALSE(module);
  CHECK(module.error().kind == ErrorKind::unavailable);
  CHECK(contains(module.error().message, "update the driver (580 or newer for CUDA 13), or set"));
  CHECK(contains(module.error().message, "CUDA 12.2"));
}

/// Two workspaces, one of which begins as zeros, and 64 KiB of shared memory.
constexpr const char* program_text = R"(
def k<n, 2>(f32* p, i32 n):
    g = ViewGlobal(p, shape=[n])
    s = AllocateShared(f32, shape=[16 * 1024])
    w = AllocateGlobal(f32, shape=[100])
    z = AllocateGlobal(i32, shape=[10], init=0)
    before = AtomicAdd(z, 1)
)";

TEST_CASE("a launch takes no memory, and all of it goes to the stream") {
  if (!has_fake_driver()) return;
  const FakeGpu gpu;
  Result<CudaEngine> engine = CudaEngine::create();
  REQUIRE_MESSAGE(engine, engine.error().message);
  const Result<LoadedProgram> program = engine->prepare(make_program(program_text));
  REQUIRE_MESSAGE(program, program.error().message);
  Workspaces workspaces;
  REQUIRE(engine->reserve(*program, 0, workspaces));
  CHECK(gpu.take_log() == "allocate 416\nallocate 48\n");
  REQUIRE(engine->reserve(*program, 0, workspaces));
  CHECK(gpu.take_log() == "");
  const std::vector<Argument> arguments{0, isa::Scalar::i32(3)};
  const auto* const stream = "stream 0x77";
  const auto handle = reinterpret_cast<cuda::Stream>(std::uintptr_t{0x77});  // NOLINT: not followed
  REQUIRE(engine->launch(*program, 0, arguments, {0x1000}, workspaces, handle));
  CHECK(gpu.take_log() == fmt::format("set 48 to 0 {0}\nattribute 8 of k_kernel = 65536\n"
                                      "launch k_kernel 3,2,1 x 1,1,1 shared 65536 {0}\n",
                                      stream));
  const Result<Graph> graph = engine->device().capture([&](cuda::Stream captured) {
    return engine->launch(*program, 0, arguments, {0x1000}, workspaces, captured);
  });
  REQUIRE_MESSAGE(graph, graph.error().message);
  REQUIRE(graph->launch(handle));
  CHECK(gpu.take_log() ==
        "capture stream 0x300 mode 1\nset 48 to 0 stream 0x300\n"
        "attribute 8 of k_kernel = 65536\n"
        "launch k_kernel 3,2,1 x 1,1,1 shared 65536 stream 0x300\n"
        "captured stream 0x300\ngraph stream 0x77\n");
}

TEST_CASE("a launch encodes the tensor maps of its views, innermost dimension first") {
  if (!has_fake_driver()) return;
  const FakeGpu gpu;
  Result<CudaEngine> engine = CudaEngine::create();
  REQUIRE_MESSAGE(engine, engine.error().message);
  const Result<LoadedProgram> program = engine->prepare(make_program(R"(
def k<1>(f16* p, f32* q, i32 n, i32 stride):
    x = ViewGlobal(p, shape=[2, n, 64], layout=strides(n * stride, stride, 1))
    y = ViewGlobal(q, shape=[n])
    s = AllocateShared(f16, shape=[16, 64], layout=memory_layout([16, 64], [16, 64], [64, 1]).swizzle(3, 3, 3))
    t = AllocateShared(f32, shape=[32])
    full = AllocateBarrier(arrivals=1)
    Synchronize()
    with single_thread():
        ArriveExpect(full, bytes=2048 + 128)
        CopyAsyncTensorGlobalToShared(s, x, barrier=full, offset=[1, 0:, 0:])
        CopyAsyncTensorGlobalToShared(s, x, barrier=full, offset=[0, 0:, 0:])
        CopyAsyncTensorGlobalToShared(t, y, barrier=full, fill_nan=true)
    WaitBarrier(full, 0)
)",
                                                                     {90, true}));
  REQUIRE_MESSAGE(program, program.error().message);
  const auto launch = [&](std::int32_t n, std::int32_t stride, std::uint64_t address) {
    return engine->launch(*program, 0, {0, 1, isa::Scalar::i32(n), isa::Scalar::i32(stride)},
                          {address, 0x4000}, {}, nullptr);
  };
  const Status done = launch(10, 72, 0x1000);
  REQUIRE_MESSAGE(done, done.error().message);
  CHECK(gpu.take_log() ==
        "map type 6 at 0x1000 swizzle 3 fill 0 promotion 2: 64/2/64 10/144/16 2/1440/1\n"
        "map type 7 at 0x4000 swizzle 0 fill 1 promotion 2: 10/4/32\n"
        "launch k_kernel 1,1,1 x 32,1,1 shared 2176 stream (nil)\n");
  const auto refused = [&](std::int32_t n, std::int32_t stride, std::uint64_t address) {
    const Status put = launch(n, stride, address);
    REQUIRE_FALSE(put);
    CHECK(put.error().kind == ErrorKind::program);
    return put.error().message;
  };
  CHECK(contains(refused(10, 36, 0x1000), "no tensor map of `x` of `k`: stride 1 is 72 bytes"));
  CHECK(contains(refused(0, 72, 0x1000), "extent 1 is 0"));
  CHECK(contains(refused(10, 72, 0x1008), "begins at address 0x1008"));
  CHECK(gpu.take_log() == "");
}

TEST_CASE("work that fails ends its capture, and its error is reported") {
  if (!has_fake_driver()) return;
  const FakeGpu gpu;
  const Result<Device> device = Device::open();
  REQUIRE(device);
  const Result<Graph> graph = device->capture(
      [](cuda::Stream) -> Status { return Error{ErrorKind::program, "as it should be"}; });
  REQUIRE_FALSE(graph);
  CHECK(graph.error().message == "as it should be");
  CHECK(contains(gpu.take_log(), "captured"));
}

TEST_CASE("memory that is short and arguments that do not fit are errors of the launch") {
  if (!has_fake_driver()) return;
  const FakeGpu gpu;
  Result<CudaEngine> engine = CudaEngine::create();
  REQUIRE(engine);
  const Result<LoadedProgram> program = engine->prepare(make_program(program_text));
  REQUIRE(program);
  Workspaces workspaces;
  {
    const ScopedVariable none("FAKE_CUDA_MEMORY", "2");
    const Status reserved = engine->reserve(*program, 0, workspaces);
    REQUIRE_FALSE(reserved);
    CHECK(contains(reserved.error().message, "make the tensors smaller"));
  }
  REQUIRE(engine->reserve(*program, 0, workspaces));
  const auto kind_of = [&](const std::vector<Argument>& arguments) {
    const Status put = engine->launch(*program, 0, arguments, {0x1000}, workspaces, nullptr);
    REQUIRE_FALSE(put);
    return put.error().kind;
  };
  CHECK(kind_of({0}) == ErrorKind::program);
  CHECK(kind_of({1, isa::Scalar::i32(3)}) == ErrorKind::program);
  CHECK(kind_of({0, isa::Scalar::i64(3)}) == ErrorKind::program);
  CHECK(kind_of({0, isa::Scalar::i32(0)}) == ErrorKind::program);
}

}  // namespace
}  // namespace tilevm::backend
