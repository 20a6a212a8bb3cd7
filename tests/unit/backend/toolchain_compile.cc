// Compiling CUDA text with the compilers of this machine. Without one the tests are skips.
#include "backend/compile/toolchain.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend/compile/fatbin.h"
#include "backend/compile/nvcc.h"
#include "backend/compile/nvrtc.h"
#include "backend/driver/image_check.h"
#include "tests/unit/backend/toolchain_support.h"

namespace tilevm::backend {
namespace {

CompileRequest request_for(CompilerChoice compiler, const std::string& target) {
  CompileRequest request;
  request.source = sample_kernel;
  request.target = target;
  request.compiler = compiler;
  return request;
}

bool is_elf(const std::string& image) {
  return image.starts_with(
      "\x7f"
      "ELF");
}

void check_every_target(CompilerChoice compiler) {
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"}) {
    CAPTURE(target);
    const Result<Compiled> compiled = compile_cuda(request_for(compiler, target));
    if (!compiled && contains(compiled.error().message, "does not know the target")) {
      skip(target, compiled.error().message);
      continue;
    }
    REQUIRE_MESSAGE(compiled, compiled.error().message);
    CHECK(is_elf(compiled->image));
    CHECK(contains(compiled->image, "affine"));
    CHECK(find_image_fault(compiled->image) == "");
    CHECK(compiled->milliseconds > 0);
    CHECK(compiled->log == "");
  }
}

void check_ptx(CompilerChoice compiler) {
  CompileRequest request = request_for(compiler, "sm_90a");
  request.artifact = Artifact::ptx;
  const Result<Compiled> compiled = compile_cuda(request);
  REQUIRE_MESSAGE(compiled, compiled.error().message);
  CHECK(contains(compiled->image, ".target sm_90a"));
  CHECK(contains(compiled->image, ".visible .entry affine("));
  CHECK(compiled->image.find('\0') == std::string::npos);
  CHECK(find_image_fault(compiled->image) == "");
  // a[i] * scale + 1 rounds twice; without .rn, ptxas would be free to fuse the two.
  CHECK(contains(compiled->image, "mul.rn.f32"));
  CHECK_FALSE(contains(compiled->image, "fma."));
  CHECK_FALSE(contains(compiled->image, ".ftz"));
}

void check_source_error(CompilerChoice compiler) {
  CompileRequest request = request_for(compiler, "sm_80");
  request.source = "#line 7 \"mine.tile\"\nextern \"C\" __global__ void k() { int x = nowhere; }\n";
  const Result<Compiled> compiled = compile_cuda(request);
  REQUIRE_FALSE(compiled);
  CHECK(compiled.error().kind == ErrorKind::program);
  CHECK(contains(compiled.error().message, "could not compile `kernel.cu` for `sm_80`"));
  CHECK(contains(compiled.error().message, "mine.tile(7)"));
  CHECK(contains(compiled.error().message, "identifier \"nowhere\" is undefined"));
}

void check_unknown_target(CompilerChoice compiler) {
  for (const char* target : {"sm_999", "sm_80a"}) {
    CAPTURE(target);
    const Result<Compiled> compiled = compile_cuda(request_for(compiler, target));
    REQUIRE_FALSE(compiled);
    CHECK(compiled.error().kind == ErrorKind::unavailable);
    CHECK(contains(compiled.error().message, std::string("does not know the target `") + target));
    CHECK(contains(compiled.error().message, "sm_90"));
  }
}

void check_bad_option(CompilerChoice compiler) {
  CompileRequest request = request_for(compiler, "sm_80");
  request.extra_options = {"--no-such-option"};
  const Result<Compiled> compiled = compile_cuda(request);
  REQUIRE_FALSE(compiled);
  CHECK(compiled.error().kind == ErrorKind::usage);
  CHECK(contains(compiled.error().message, "--no-such-option"));
}

/// The numbers of the architectures in a fatbin with uncompressed entry heads: each entry starts
/// with kind (2 = machine code, 1 = PTX) and head size; its architecture stands at byte 28.
std::vector<std::uint32_t> architectures_in(const std::string& fatbin) {
  std::vector<std::uint32_t> found;
  std::size_t at = 16;
  while (at + 64 <= fatbin.size()) {
    std::uint32_t head = 0;
    std::uint64_t size = 0;
    std::uint32_t number = 0;
    std::memcpy(&head, fatbin.data() + at + 4, 4);
    std::memcpy(&size, fatbin.data() + at + 8, 8);
    std::memcpy(&number, fatbin.data() + at + 28, 4);
    if (head < 64 || size > fatbin.size() - at) return {};
    found.push_back(number);
    at += head + size;
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// A fatbin of the sample for three targets, one of them virtual; or a visible skip.
std::string fatbin_or_skip(CompilerChoice compiler) {
  std::vector<FatbinPart> parts;
  for (const char* target : {"sm_80", "sm_90a", "compute_90"}) {
    CompileRequest request = request_for(compiler, target);
    const CudaTarget parsed = *parse_cuda_target(target);
    if (parsed.is_virtual) request.artifact = Artifact::ptx;
    const Result<Compiled> compiled = compile_cuda(request);
    REQUIRE_MESSAGE(compiled, compiled.error().message);
    parts.push_back({parsed, compiled->image});
  }
  const Result<std::string> image = pack_fatbin(parts);
  if (!image) skip("fatbin", image.error().message);
  return image ? *image : std::string();
}

TEST_CASE("NVRTC compiles a kernel for every supported target") {
  if (lacks(CompilerChoice::nvrtc, "NVRTC targets")) return;
  check_every_target(CompilerChoice::nvrtc);
}

TEST_CASE("nvcc compiles a kernel for every supported target") {
  if (lacks(CompilerChoice::nvcc, "nvcc targets")) return;
  check_every_target(CompilerChoice::nvcc);
}

TEST_CASE("PTX names its target, and multiplies and adds are not fused") {
  for (const CompilerChoice compiler : {CompilerChoice::nvrtc, CompilerChoice::nvcc}) {
    if (!lacks(compiler, "PTX")) check_ptx(compiler);
  }
}

TEST_CASE("what the compiler says about the source reaches the user, with the line of the source") {
  for (const CompilerChoice compiler : {CompilerChoice::nvrtc, CompilerChoice::nvcc}) {
    if (!lacks(compiler, "source errors")) check_source_error(compiler);
  }
}

TEST_CASE("a target that the compiler does not know is named, with those it knows") {
  for (const CompilerChoice compiler : {CompilerChoice::nvrtc, CompilerChoice::nvcc}) {
    if (!lacks(compiler, "unknown targets")) check_unknown_target(compiler);
  }
}

TEST_CASE("an option that the compiler does not know is a usage error") {
  for (const CompilerChoice compiler : {CompilerChoice::nvrtc, CompilerChoice::nvcc}) {
    if (!lacks(compiler, "unknown options")) check_bad_option(compiler);
  }
}

TEST_CASE("a fatbin holds code for each target") {
  for (const CompilerChoice compiler : {CompilerChoice::nvrtc, CompilerChoice::nvcc}) {
    if (lacks(compiler, "fatbins")) continue;
    const std::string fatbin = fatbin_or_skip(compiler);
    if (fatbin.empty()) continue;
    CHECK(find_image_fault(fatbin) == "");
    CHECK(architectures_in(fatbin) == std::vector<std::uint32_t>{80, 90, 90});
  }
}

TEST_CASE("NVRTC stops when its time is over") {
  if (lacks(CompilerChoice::nvrtc, "NVRTC timeout")) return;
  const Result<Nvrtc> nvrtc = Nvrtc::find();
  REQUIRE(nvrtc);
  if (nvrtc->major() < 13) {
    skip("NVRTC timeout", nvrtc->describe() + " cannot be stopped");
    return;
  }
  const CompileRequest request = request_for(CompilerChoice::nvrtc, "sm_80");
  const Deadline over = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const Result<CompilerOutput> output = nvrtc->compile(request, *parse_cuda_target("sm_80"), over);
  REQUIRE_FALSE(output);
  CHECK(output.error().kind == ErrorKind::limit);
  CHECK(contains(output.error().message, "took longer than"));
}

TEST_CASE("without NVRTC the automatic choice takes nvcc, and says which compiler it was") {
  if (lacks(CompilerChoice::nvcc, "falling back to nvcc")) return;
  const ScopedVariable nowhere("TILEVM_NVRTC", "/nowhere/libnvrtc.so");
  const Result<Compiled> compiled = compile_cuda(request_for(CompilerChoice::automatic, "sm_80"));
  REQUIRE_MESSAGE(compiled, compiled.error().message);
  CHECK(compiled->compiler.starts_with("nvcc "));
}

TEST_CASE("flags in the user's environment do not reach the code") {
  if (lacks(CompilerChoice::nvcc, "nvcc flags")) return;
  const ScopedVariable flags("NVCC_APPEND_FLAGS", "-use_fast_math -fmad=true");
  check_ptx(CompilerChoice::nvcc);
}

TEST_CASE("every cut-off cubin and fatbin is found out") {
  if (lacks(CompilerChoice::automatic, "damaged images")) return;
  const Result<Compiled> cubin = compile_cuda(request_for(CompilerChoice::automatic, "sm_80"));
  REQUIRE_MESSAGE(cubin, cubin.error().message);
  for (std::size_t size = 0; size < cubin->image.size(); ++size) {
    CAPTURE(size);
    REQUIRE(find_image_fault(std::string_view(cubin->image).substr(0, size)) != "");
  }
  const std::string fatbin = fatbin_or_skip(CompilerChoice::automatic);
  for (std::size_t size = 0; size < fatbin.size(); ++size) {
    CAPTURE(size);
    REQUIRE(find_image_fault(std::string_view(fatbin).substr(0, size)) != "");
  }
}

}  // namespace
}  // namespace tilevm::backend
