// Devices and launches. On a machine without a GPU every test is a visible skip.
#include <cstdint>
#include <filesystem>
#include <numeric>

#include "backend/compile/toolchain.h"
#include "backend/driver/cuda_library.h"
#include "backend/driver/device.h"
#include "backend/engine/doctor.h"
#include "tests/unit/backend/toolchain_support.h"

namespace tilevm::backend {
namespace {

/// A kernel compiled for the device and loaded.
LoadedKernel load(const Device& device, const std::string& source, const std::string& name) {
  CompileRequest request;
  request.source = source;
  request.target = device.properties().target();
  const Result<Compiled> compiled = compile_cuda(request);
  REQUIRE_MESSAGE(compiled, compiled.error().message);
  const Result<Module> module = device.load(compiled->image);
  REQUIRE_MESSAGE(module, module.error().message);
  const Result<LoadedKernel> kernel = module->kernel(name);
  REQUIRE_MESSAGE(kernel, kernel.error().message);
  return *kernel;
}

TEST_CASE("a kernel runs on the GPU and its results come back") {
  const auto device = device_or_skip("running a kernel");
  if (!device) return;
  std::printf("GPU: %s; %s\n", device->properties().describe().c_str(),
              device->driver().describe().c_str());
  const LoadedKernel kernel = load(*device, sample_kernel, "affine");
  std::vector<float> input(1000);
  std::iota(input.begin(), input.end(), 0.0f);
  Result<DeviceBuffer> a = device->allocate(4000);
  Result<DeviceBuffer> b = device->allocate(4004);
  REQUIRE(a);
  REQUIRE(b);
  REQUIRE(a->write(input.data(), 4000));
  REQUIRE(b->fill(0xff));
  LaunchArguments arguments;
  arguments.add(*a).add(*b).add(std::int32_t{1000}).add(2.0f);
  Result<Event> start = device->make_event();
  Result<Event> stop = device->make_event();
  REQUIRE(start);
  REQUIRE(stop);
  REQUIRE(start->record());
  const Status launched = kernel.launch({.grid = {8, 1, 1}, .block = {128, 1, 1}}, arguments);
  REQUIRE_MESSAGE(launched, launched.error().message);
  REQUIRE(stop->record());
  REQUIRE(device->wait(std::chrono::seconds(20)));
  std::vector<float> output(1000);
  std::uint32_t behind = 0;
  REQUIRE(b->read(output.data(), 4000));
  REQUIRE(b->read(&behind, 4, 4000));
  for (std::size_t i = 0; i < 1000; ++i) {
    REQUIRE(output[i] == static_cast<float>(i) * 2.0f + 1.0f);
  }
  CHECK(behind == 0xffffffffu);
  const Result<float> spent = Event::elapsed(*start, *stop);
  REQUIRE(spent);
  CHECK(*spent > 0.0f);
  CHECK(*spent < 1000.0f);
  CHECK(kernel.properties().registers_per_thread > 0);
  const Result<int> blocks = kernel.blocks_per_multiprocessor({.block = {128, 1, 1}});
  REQUIRE(blocks);
  CHECK(*blocks >= 1);
}

TEST_CASE("launches that do not fit the kernel or the device are refused with the numbers") {
  const auto device = device_or_skip("refusing launches");
  if (!device) return;
  const LoadedKernel kernel = load(*device, sample_kernel, "affine");
  const auto message = [&](const LaunchShape& shape, const LaunchArguments& arguments) {
    const Status status = kernel.launch(shape, arguments);
    REQUIRE_FALSE(status);
    return status.error().message;
  };
  LaunchArguments good;
  good.add_bits(0, 8).add_bits(0, 8).add(std::int32_t{0}).add(1.0f);
  if (device->driver().api().func_get_param_info != nullptr) {
    LaunchArguments few;
    few.add_bits(0, 8);
    CHECK(contains(message({}, few), "gives 1 arguments; `affine` has 4 parameters"));
    LaunchArguments narrow;
    narrow.add_bits(0, 8).add_bits(0, 4).add(std::int32_t{0}).add(1.0f);
    CHECK(contains(message({}, narrow), "argument 1 of the launch has 4 bytes"));
    LaunchArguments many = good;
    many.add(true);
    CHECK(contains(message({}, many), "gives 5 arguments"));
  }
  CHECK(contains(message({.grid = {0, 1, 1}}, good), "empty"));
  CHECK(contains(message({.block = {1u << 31, 1u << 31, 4}}, good), "at most"));
  CHECK(contains(message({.shared_bytes = std::size_t{1} << 40}, good), "shared memory"));
  CHECK(kernel.launch({.shared_bytes = device->properties().shared_bytes_per_block}, good));
  CHECK(device->wait(std::chrono::seconds(20)));
  CHECK_FALSE(LoadedKernel().launch({}, good));
}

TEST_CASE("copies outside a device buffer are refused") {
  const auto device = device_or_skip("copies out of range");
  if (!device) return;
  Result<DeviceBuffer> buffer = device->allocate(16);
  REQUIRE(buffer);
  char bytes[32] = {};
  CHECK_FALSE(buffer->write(bytes, 17));
  CHECK_FALSE(buffer->read(bytes, 1, 16));
  CHECK_FALSE(buffer->read(bytes, 8, SIZE_MAX - 3));
  CHECK(buffer->write(bytes, 0, 16));
  CHECK(buffer->write(bytes, 8, 8));
  const Result<DeviceBuffer> nothing = device->allocate(0);
  REQUIRE(nothing);
  CHECK(nothing->address() == 0);
  const Result<DeviceBuffer> huge = device->allocate(std::size_t{1} << 50);
  REQUIRE_FALSE(huge);
  CHECK(huge.error().kind == ErrorKind::unavailable);
  CHECK(contains(huge.error().message, "OUT_OF_MEMORY"));
}

TEST_CASE("a graph runs what was captured, each time that it is launched") {
  const auto device = device_or_skip("graphs");
  if (!device) return;
  const LoadedKernel kernel = load(*device, sample_kernel, "affine");
  Result<DeviceBuffer> a = device->allocate(4000);
  Result<DeviceBuffer> b = device->allocate(4000);
  REQUIRE(a);
  REQUIRE(b);
  LaunchArguments forth, back;
  forth.add(*a).add(*b).add(std::int32_t{1000}).add(1.0f);
  back.add(*b).add(*a).add(std::int32_t{1000}).add(2.0f);
  const LaunchShape shape{.grid = {8, 1, 1}, .block = {128, 1, 1}};
  const Result<Graph> graph = device->capture([&](cuda::Stream stream) {
    if (Status filled = b->fill(0xff, stream); !filled) return filled;
    if (Status put = kernel.launch(shape, forth, stream); !put) return put;
    return kernel.launch(shape, back, stream);
  });
  REQUIRE_MESSAGE(graph, graph.error().message);
  REQUIRE(a->fill(0));
  float expected = 0;
  for (int round = 0; round < 3; ++round) {
    REQUIRE(graph->launch());
    expected = (expected + 1) * 2 + 1;
  }
  std::vector<float> output(1000);
  REQUIRE(a->read(output.data(), 4000));
  CHECK(output == std::vector<float>(1000, expected));
}

TEST_CASE("code that is missing, damaged or for another GPU is an error that says so") {
  const auto device = device_or_skip("loading code");
  if (!device) return;
  CHECK_FALSE(device->load("garbage"));
  const Result<Module> bad_ptx = device->load(".version 1.0\nnonsense\n");
  CHECK_FALSE(bad_ptx);
  CompileRequest request;
  request.source = sample_kernel;
  request.target = device->properties().sm_major == 8 ? "sm_90" : "sm_80";
  const Result<Compiled> other = compile_cuda(request);
  REQUIRE_MESSAGE(other, other.error().message);
  const Result<Module> foreign = device->load(other->image);
  const Result<LoadedKernel> kernel =
      foreign ? foreign->kernel("affine") : Result<LoadedKernel>(foreign.error());
  REQUIRE_FALSE(kernel);
  CHECK(contains(kernel.error().message, "another GPU"));
  CHECK(contains(kernel.error().message, device->properties().name));
  request.target = device->properties().target();
  const Result<Compiled> compiled = compile_cuda(request);
  REQUIRE(compiled);
  const Result<Module> module = device->load(compiled->image);
  REQUIRE(module);
  const Result<LoadedKernel> no_such = module->kernel("nobody");
  REQUIRE_FALSE(no_such);
  CHECK(contains(no_such.error().message, "`nobody`"));
}

// After a fault CUDA is lost for the whole process, so these two run in a process of their own,
// which the last test starts; by themselves they are skipped.
TEST_CASE("child: faulting kernel" * doctest::skip()) {
  const Result<Device> device = Device::open();
  REQUIRE_MESSAGE(device, device.error().message);
  const LoadedKernel kernel = load(*device, sample_kernel, "affine");
  Result<DeviceBuffer> buffer = device->allocate(64);
  REQUIRE(buffer);
  LaunchArguments wild;
  wild.add(*buffer).add_bits(16, 8).add(std::int32_t{1}).add(1.0f);
  REQUIRE(kernel.launch({}, wild));
  const Status done = device->wait(std::chrono::seconds(20));
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == ErrorKind::program);
  CHECK(contains(done.error().message, "a kernel faulted"));
  CHECK(contains(done.error().message, "ILLEGAL_ADDRESS"));
  CHECK(contains(done.error().message, "--engine sim"));
  CHECK(device->lost());
  const Status after = buffer->fill(0);
  REQUIRE_FALSE(after);
  CHECK(contains(after.error().message, "is lost"));
  CHECK_FALSE(device->allocate(64));
  CHECK_FALSE(kernel.launch({}, wild));
}

TEST_CASE("child: slow kernel" * doctest::skip()) {
  const Result<Device> device = Device::open();
  REQUIRE_MESSAGE(device, device.error().message);
  // About two seconds, so that the GPU is free again soon.
  const LoadedKernel kernel = load(*device, R"(
extern "C" __global__ void slow(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
})",
                                   "slow");
  const Result<DeviceBuffer> buffer = device->allocate(64);
  REQUIRE(buffer);
  LaunchArguments arguments;
  arguments.add(std::int64_t{3'000'000'000});
  REQUIRE(kernel.launch({}, arguments));
  const auto start = std::chrono::steady_clock::now();
  const Status done = device->wait(std::chrono::milliseconds(100));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == ErrorKind::limit);
  CHECK(device->lost());
  CHECK_FALSE(device->allocate(64));
}

TEST_CASE("kernels that fault or take too long are clear errors, and the process ends normally") {
  if (!device_or_skip("faulting and slow kernels")) return;
  for (const std::string name : {"child: faulting kernel", "child: slow kernel"}) {
    CAPTURE(name);
    const Result<ProcessResult> child =
        run_process({.program = std::filesystem::canonical("/proc/self/exe").string(),
                     .arguments = {"--no-skip", "--test-case=" + name},
                     .folder = "/tmp",
                     .dropped_variables = {},
                     .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60)});
    REQUIRE_MESSAGE(child, child.error().message);
    CHECK_MESSAGE(child->exit_status == 0, child->output);
    CHECK(contains(child->output, " 1 passed"));  // it was found and ran
  }
}

TEST_CASE("the doctor finds what this machine has") {
  const std::vector<Finding> findings = examine_cuda();
  REQUIRE(findings.size() >= 5);
  for (const Finding& finding : findings) {
    std::printf("doctor: %-7s %-9s %s%s%s\n", std::string(to_string(finding.health)).c_str(),
                finding.what.c_str(), finding.detail.c_str(), finding.fix.empty() ? "" : " -> ",
                finding.fix.c_str());
    CHECK((finding.health == Health::ok) == finding.fix.empty());
  }
  CHECK(findings.front().what == "driver");
  CHECK((findings.front().health == Health::ok) == Driver::open().ok());
  CHECK(findings.back().what == "compiling");
  CHECK((findings.back().health == Health::ok) ==
        describe_compiler(CompilerChoice::automatic).ok());
}

}  // namespace
}  // namespace tilevm::backend
