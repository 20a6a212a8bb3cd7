// Looking for compilers and drivers, and running a compiler that misbehaves. Shell scripts stand in
// for nvcc, so none of this needs CUDA.
#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <signal.h>

#include <filesystem>
#include <thread>

#include "backend/compile/nvcc.h"
#include "backend/compile/toolchain.h"
#include "backend/driver/cuda_library.h"
#include "backend/driver/device.h"
#include "backend/driver/image_check.h"
#include "backend/engine/doctor.h"
#include "backend/host/tool_search.h"
#include "tests/unit/backend/toolchain_support.h"

namespace tilevm::backend {
namespace {

namespace fs = std::filesystem;

CompileRequest nvcc_request() {
  CompileRequest request;
  request.source = sample_kernel;
  request.compiler = CompilerChoice::nvcc;
  return request;
}

/// A stand-in for nvcc: it answers `--version` and else runs `body`.
std::string fake_nvcc(const TemporaryFolder& folder, const std::string& body) {
  return write_script(
      folder, "nvcc",
      "if [ \"$1\" = --version ]; then echo 'release 99.1, V99.1.2'; exit 0; fi\n" + body);
}

TEST_CASE("an NVRTC that is not where the variable says is an error that names the variable") {
  const ScopedVariable nowhere("TILEVM_NVRTC", "/nowhere/libnvrtc.so.13");
  const Result<std::string> found = describe_compiler(CompilerChoice::nvrtc);
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::unavailable);
  CHECK(contains(found.error().message, "$TILEVM_NVRTC"));
  CHECK(contains(found.error().message, "/nowhere/libnvrtc.so.13"));
}

TEST_CASE("a library that is not NVRTC is not taken for one") {
  const ScopedVariable libc("TILEVM_NVRTC", "libc.so.6");
  const Result<std::string> found = describe_compiler(CompilerChoice::nvrtc);
  REQUIRE_FALSE(found);
  CHECK(contains(found.error().message, "has no function `nvrtcVersion`"));
}

TEST_CASE("with no compiler at all the error says what was looked for, and both ways out") {
  const ScopedVariable nvrtc("TILEVM_NVRTC", "/nowhere/libnvrtc.so");
  const ScopedVariable nvcc("TILEVM_NVCC", "/nowhere/nvcc");
  CompileRequest request = nvcc_request();
  request.compiler = CompilerChoice::automatic;
  for (const Artifact artifact : {Artifact::cubin, Artifact::ptx}) {
    request.artifact = artifact;
    const Result<Compiled> compiled = compile_cuda(request);
    REQUIRE_FALSE(compiled);
    CHECK(compiled.error().kind == ErrorKind::unavailable);
    CHECK(contains(compiled.error().message, "/nowhere/libnvrtc.so"));
    CHECK(contains(compiled.error().message, "$TILEVM_NVCC names `/nowhere/nvcc`"));
  }
}

TEST_CASE("a tool is found in $CUDA_HOME before PATH, and nvcc by name on PATH") {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  REQUIRE(folder);
  fs::create_directories(folder->path() + "/bin");
  fs::create_directories(folder->path() + "/lib64");
  const std::string script = write_script(*folder, "bin/sh", "exit 0\n");
  const ScopedVariable home("CUDA_HOME", folder->path());
  const Result<std::string> found = find_tool("sh");
  REQUIRE(found);
  CHECK(*found == script);
  CHECK(cuda_library_folders().front() == fs::canonical(folder->path() + "/lib64").string());
  const ScopedVariable no_home("CUDA_HOME", std::nullopt);
  const ScopedVariable path("PATH", folder->path() + "/bin");
  const Result<std::string> on_path = find_named_program("sh", "TILEVM_NVCC");
  REQUIRE(on_path);
  CHECK(*on_path == script);
}

TEST_CASE("libraries are looked for beside the nvcc on PATH, also behind a symbolic link") {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  REQUIRE(folder);
  const std::string root = folder->path();
  fs::create_directories(root + "/nvidia/cu13/bin");
  fs::create_directories(root + "/nvidia/cu13/lib");
  fs::create_directories(root + "/nvidia/cuda_nvrtc/lib");
  fs::create_directories(root + "/links");
  fs::create_symlink(write_script(*folder, "nvidia/cu13/bin/nvcc", "exit 0\n"),
                     root + "/links/nvcc");
  const ScopedVariable home("CUDA_HOME", std::nullopt);
  const ScopedVariable cuda_path("CUDA_PATH", std::nullopt);
  const ScopedVariable path("PATH", root + "/links");
  const std::vector<std::string> folders = cuda_library_folders();
  REQUIRE(folders.size() >= 2);
  CHECK(folders[0] == fs::canonical(root + "/nvidia/cu13/lib").string());
  CHECK(folders[1] == fs::canonical(root + "/nvidia/cuda_nvrtc/lib").string());
}

TEST_CASE("an nvcc that never ends is stopped in time, with all it started") {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  REQUIRE(folder);
  const std::string pid_file = folder->path() + "/pid";
  const ScopedVariable nvcc("TILEVM_NVCC",
                            fake_nvcc(*folder, "sleep 600 &\necho $! > " + pid_file + "\nwait\n"));
  CompileRequest request = nvcc_request();
  request.timeout = std::chrono::milliseconds(500);
  const auto start = std::chrono::steady_clock::now();
  const Result<Compiled> compiled = compile_cuda(request);
  const auto spent = std::chrono::steady_clock::now() - start;
  REQUIRE_FALSE(compiled);
  CHECK(compiled.error().kind == ErrorKind::limit);
  CHECK(contains(compiled.error().message, "took longer than the 0.5 s"));
  CHECK(contains(compiled.error().message, "nvcc 99.1.2"));
  CHECK(spent < std::chrono::seconds(20));
  const Result<std::string> pid_text = read_whole_file(pid_file);
  REQUIRE(pid_text);
  const pid_t grandchild = std::stoi(*pid_text);
  // Its new parent has to collect it; until then it is there as a zombie.
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    const Result<std::string> stat = read_whole_file("/proc/" + *pid_text + "/stat");
    gone = kill(grandchild, 0) != 0 || (stat && contains(*stat, ") Z "));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(gone);
}

TEST_CASE("a compiler's temporary folder is gone afterwards, after success and after a timeout") {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  REQUIRE(folder);
  fs::create_directories(folder->path() + "/tmp");
  const ScopedVariable temporary("TMPDIR", folder->path() + "/tmp");
  {
    const ScopedVariable nvcc("TILEVM_NVCC",
                              fake_nvcc(*folder, "echo image > output; echo x > $TMPDIR/more\n"));
    const Result<Compiled> compiled = compile_cuda(nvcc_request());
    REQUIRE_MESSAGE(compiled, compiled.error().message);
    CHECK(compiled->image == "image\n");
    CHECK(fs::is_empty(folder->path() + "/tmp"));
  }
  const ScopedVariable nvcc("TILEVM_NVCC", fake_nvcc(*folder, "echo x > more; sleep 600\n"));
  CompileRequest request = nvcc_request();
  request.timeout = std::chrono::milliseconds(300);
  REQUIRE_FALSE(compile_cuda(request));
  CHECK(fs::is_empty(folder->path() + "/tmp"));
}

TEST_CASE("a child that floods its output, or leaves a process behind, does not hold us up") {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  REQUIRE(folder);
  const auto run = [&](const std::string& script) {
    return run_process({.program = "/bin/sh",
                        .arguments = {"-c", script},
                        .folder = folder->path(),
                        .dropped_variables = {},
                        .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30)});
  };
  const Result<ProcessResult> flood = run("head -c 3000000 /dev/zero; exit 3");
  REQUIRE_MESSAGE(flood, flood.error().message);
  CHECK(flood->output.size() == max_process_output);
  CHECK(flood->exit_status == 3);
  const auto start = std::chrono::steady_clock::now();
  const Result<ProcessResult> orphan = run("sleep 5 & echo done");
  REQUIRE_MESSAGE(orphan, orphan.error().message);
  CHECK(orphan->output == "done\n");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(4));
  const Result<ProcessResult> closed = run("exec >/dev/null 2>&1; sleep 0.1; kill -9 $$");
  REQUIRE_MESSAGE(closed, closed.error().message);
  CHECK(closed->exit_status == 128 + 9);
  const Result<ProcessResult> environment_seen = run("echo $TMPDIR; pwd; cat");
  REQUIRE(environment_seen);
  CHECK(environment_seen->output == folder->path() + "\n" + folder->path() + "\n");
}

TEST_CASE("what an nvcc complains about is distinguished") {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  REQUIRE(folder);
  const auto error_of = [&](const std::string& body) {
    const ScopedVariable nvcc("TILEVM_NVCC", fake_nvcc(*folder, body + "\nexit 1\n"));
    const Result<Compiled> compiled = compile_cuda(nvcc_request());
    REQUIRE_FALSE(compiled);
    return compiled.error();
  };
  const Error host = error_of("echo \"nvcc fatal   : Failed to find a host compiler\"");
  CHECK(host.kind == ErrorKind::unavailable);
  CHECK(contains(host.message, "NVCC_CCBIN"));
  const Error target = error_of(
      "if [ \"$1\" = --list-gpu-code ]; then echo sm_70; echo sm_75; exit 0; fi\n"
      "echo \"nvcc fatal   : Unsupported gpu architecture 'compute_90a'\"");
  CHECK(target.kind == ErrorKind::unavailable);
  CHECK(contains(target.message, "it makes code for sm_70, sm_75"));
  const Error source = error_of("echo 'kernel.cu(1): error: bad'");
  CHECK(source.kind == ErrorKind::program);
  CHECK(contains(source.message, "kernel.cu(1): error: bad"));
  const Error no_output = error_of("exit 0");
  CHECK(no_output.kind == ErrorKind::unavailable);
}

TEST_CASE("a request that makes no sense is refused before anything is started") {
  const ScopedVariable nvrtc("TILEVM_NVRTC", "/nowhere/libnvrtc.so");
  const auto kind_of = [](const CompileRequest& request) {
    const Result<Compiled> compiled = compile_cuda(request);
    REQUIRE_FALSE(compiled);
    return compiled.error().kind;
  };
  CompileRequest request;
  request.source = sample_kernel;
  request.target = "";
  CHECK(kind_of(request) == ErrorKind::usage);
  request.target = "compute_80";
  CHECK(kind_of(request) == ErrorKind::usage);
  request.target = "sm_80";
  request.timeout = std::chrono::milliseconds(0);
  CHECK(kind_of(request) == ErrorKind::usage);
  request.timeout = std::chrono::seconds(1);
  request.source += '\0';
  CHECK(kind_of(request) == ErrorKind::usage);
}

TEST_CASE("targets are read as NVIDIA writes them, and nothing else") {
  const Result<CudaTarget> target = parse_cuda_target("sm_100a");
  REQUIRE(target);
  CHECK(target->number == 100);
  CHECK(target->real_name() == "sm_100a");
  CHECK(target->virtual_name() == "compute_100a");
  CHECK(parse_cuda_target("compute_90")->is_virtual);
  for (const char* bad : {"", "sm", "sm_", "sm_9", "sm_90b", "sm_90aa", "sm_08", "sm_12345", "90a",
                          "sm_-9", "SM_90", "sm_90 ", "sm_90;rm", "compute_"}) {
    CAPTURE(bad);
    const Result<CudaTarget> result = parse_cuda_target(bad);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::usage);
  }
  CHECK(rc::check("any text that is read prints back as itself", [](const std::string& text) {
    const std::string candidate = *rc::gen::element<std::string>("sm_", "compute_", "") + text;
    const Result<CudaTarget> read = parse_cuda_target(candidate);
    if (!read) return;
    RC_ASSERT((read->is_virtual ? read->virtual_name() : read->real_name()) == candidate);
  }));
}

TEST_CASE("a driver that is not there is an error that says so and names the way out") {
  const ScopedVariable nowhere("TILEVM_LIBCUDA", "/nowhere/libcuda.so.1");
  const Result<Device> device = Device::open();
  REQUIRE_FALSE(device);
  CHECK(device.error().kind == ErrorKind::unavailable);
  CHECK(contains(device.error().message, "/nowhere/libcuda.so.1"));
  CHECK(contains(device.error().message, "install the driver (580"));
  CHECK_FALSE(list_devices());
}

TEST_CASE("a library that is not a driver is not taken for one") {
  const Result<std::shared_ptr<const Driver>> driver = Driver::open("libc.so.6");
  REQUIRE_FALSE(driver);
  CHECK(contains(driver.error().message, "has no function `cuInit`"));
}

TEST_CASE("the doctor reports missing pieces with what to do about each") {
  const ScopedVariable cuda("TILEVM_LIBCUDA", "/nowhere/libcuda.so.1");
  const ScopedVariable nvrtc("TILEVM_NVRTC", "/nowhere/libnvrtc.so");
  const ScopedVariable nvcc("TILEVM_NVCC", "/nowhere/nvcc");
  int missing = 0;
  for (const Finding& finding : examine_cuda()) {
    CAPTURE(finding.what);
    CHECK(finding.detail != "");
    CHECK((finding.health == Health::ok) == finding.fix.empty());
    missing += finding.health == Health::missing ? 1 : 0;
  }
  CHECK(missing == 4);  // the driver, both compilers, and so compiling
}

TEST_CASE("text that is not a compiled image is not given to the driver") {
  CHECK(find_image_fault("") != "");
  CHECK(find_image_fault("hello") != "");
  CHECK(find_image_fault(std::string("\x50\xed\x55\xba", 4)) != "");
  CHECK(find_image_fault(std::string("\x7f"
                                     "ELF")) != "");
  CHECK(find_image_fault(".version 9.0\n.target sm_80\n") == "");
  CHECK(rc::check("any bytes behind an ELF mark are looked at within bounds",
                  [](const std::string& text) {
                    RC_ASSERT(!find_image_fault("\x7f"
                                                "ELF" +
                                                text)
                                   .empty() ||
                              text.size() >= 60);
                  }));
}

}  // namespace
}  // namespace tilevm::backend
