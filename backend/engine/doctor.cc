#include "backend/engine/doctor.h"

#include <fmt/format.h>

#include "backend/compile/kernel_cache.h"
#include "backend/compile/nvcc.h"
#include "backend/compile/nvrtc.h"
#include "backend/compile/ptxas_faults.h"
#include "backend/compile/toolchain.h"
#include "backend/driver/cuda_library.h"
#include "backend/driver/device.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {
namespace {

constexpr const char* install_toolkit =
    "install the CUDA toolkit, or set CUDA_HOME to where it is; only `--engine cuda` needs it";

/// An error's message says what was seen, then the way out after the last semicolon.
Finding from_error(Health health, std::string what, const Error& error, std::string fix) {
  std::string detail = error.message;
  if (const std::size_t cut = detail.rfind("; "); cut != std::string::npos) {
    fix = detail.substr(cut + 2);
    detail.resize(cut);
  }
  return {health, std::move(what), std::move(detail), std::move(fix)};
}

Finding look_at_driver(const Result<std::shared_ptr<const Driver>>& driver) {
  if (driver) return {Health::ok, "driver", (*driver)->describe(), ""};
  return from_error(Health::missing, "driver", driver.error(),
                    "install NVIDIA's driver; without it the simulator works");
}

Finding look_at_nvrtc(const Result<Nvrtc>& nvrtc,
                      const Result<std::shared_ptr<const Driver>>& driver) {
  if (!nvrtc) return from_error(Health::missing, "NVRTC", nvrtc.error(), install_toolkit);
  if (!nvrtc->has_builtins()) {
    return {Health::warn, "NVRTC",
            fmt::format("{}, but libnvrtc-builtins.so.{}.{} is not beside it", nvrtc->describe(),
                        nvrtc->major(), nvrtc->minor()),
            "install the whole NVRTC package"};
  }
  // Code of a newer major version needs a newer driver; minor versions are compatible.
  if (driver && nvrtc->major() > (*driver)->version() / 1000) {
    return {Health::warn, "NVRTC",
            fmt::format("{} is newer than the driver, which supports CUDA {}", nvrtc->describe(),
                        cuda_version_text((*driver)->version())),
            fmt::format("update the driver (580 or newer for CUDA 13), or set TILEVM_NVRTC to "
                        "the libnvrtc of CUDA {}",
                        (*driver)->version() / 1000)};
  }
  return {Health::ok, "NVRTC", nvrtc->describe(), ""};
}

/// Reported miscompilations of the assembler that NVRTC has.
std::vector<Finding> look_at_ptxas(const Result<Nvrtc>& nvrtc) {
  if (!nvrtc) return {};
  const auto faults = ptxas_faults_of(nvrtc->major() * 1000 + nvrtc->minor() * 10);
  if (faults.empty()) return {};
  return {{Health::warn, "ptxas",
           fmt::format("{} reported miscompilation{} of CUDA {}.{}: {}", faults.size(),
                       faults.size() == 1 ? "" : "s", nvrtc->major(), nvrtc->minor(),
                       describe_faults(faults)),
           "compare with `tilevm diff --backends sim,cuda:O0,cuda`, or take a newer NVRTC"}};
}

Finding look_at_nvcc(const Result<Nvrtc>& nvrtc) {
  const Result<Nvcc> nvcc = Nvcc::find();
  if (nvcc) return {Health::ok, "nvcc", nvcc->describe(), ""};
  // With NVRTC nothing needs nvcc, so its absence is only worth a remark.
  return from_error(nvrtc ? Health::warn : Health::missing, "nvcc", nvcc.error(), install_toolkit);
}

Finding look_at_fatbinary() {
  const Result<std::string> tool = find_tool("fatbinary");
  if (tool) return {Health::ok, "fatbinary", *tool, ""};
  return {Health::warn, "fatbinary", tool.error().message,
          "install the CUDA toolkit; only `--emit fatbin` needs it"};
}

std::vector<Finding> look_at_devices(const Result<std::vector<DeviceProperties>>& devices) {
  std::vector<Finding> findings;
  if (!devices) return findings;  // the driver's finding says why
  for (const DeviceProperties& device : *devices) {
    const std::string what = fmt::format("GPU {}", device.ordinal);
    if (device.sm_major >= 8) {
      findings.push_back({Health::ok, what, device.describe(), ""});
    } else {
      findings.push_back({Health::warn, what, device.describe() + " is older than sm_80",
                          "use a GPU of the Ampere generation or newer"});
    }
  }
  if (findings.empty()) {
    findings.push_back({Health::missing, "GPU", "the driver shows no device",
                        "check `nvidia-smi` and CUDA_VISIBLE_DEVICES"});
  }
  return findings;
}

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

Finding look_at_cache() {
  const Result<CacheSettings> settings = cache_settings();
  if (!settings) return from_error(Health::warn, "cache", settings.error(), "correct the variable");
  if (settings->off) return {Health::ok, "cache", "off, as $TILEVM_CACHE says", ""};
  const Result<KernelCache> cache = KernelCache::open(*settings);
  const Status usable = cache ? cache->check_writable() : cache.error();
  if (!usable) return from_error(Health::warn, "cache", usable.error(), "");
  std::uint64_t bytes = 0;
  const std::vector<CacheEntry> entries = cache->entries();
  for (const CacheEntry& entry : entries) bytes += entry.bytes;
  return {Health::ok, "cache",
          fmt::format("{}, {} kernels, {:.1f} of {:.0f} MiB", settings->folder, entries.size(),
                      mebibytes(bytes), mebibytes(settings->limit)),
          ""};
}

/// The proof: a kernel compiled for the first device.
Finding try_to_compile(const Result<std::vector<DeviceProperties>>& devices) {
  const bool has_device = devices && !devices->empty();
  CompileRequest request;
  request.source = "extern \"C\" __global__ void probe(int* out) { *out = 1; }\n";
  request.name = "probe.cu";
  request.target = has_device ? devices->front().target() : "sm_80";
  request.timeout = std::chrono::seconds(20);
  const Result<Compiled> compiled = compile_cuda(request);
  if (!compiled) {
    return from_error(Health::missing, "compiling", compiled.error(), install_toolkit);
  }
  return {Health::ok, "compiling",
          fmt::format("a kernel for {} in {:.0f} ms", request.target, compiled->milliseconds), ""};
}

}  // namespace

std::vector<Finding> examine_cuda() {
  const Result<std::shared_ptr<const Driver>> driver = Driver::open();
  const Result<Nvrtc> nvrtc = Nvrtc::find();
  const Result<std::vector<DeviceProperties>> devices = list_devices();
  std::vector<Finding> findings{look_at_driver(driver), look_at_nvrtc(nvrtc, driver),
                                look_at_nvcc(nvrtc), look_at_fatbinary()};
  for (Finding& finding : look_at_ptxas(nvrtc)) findings.push_back(std::move(finding));
  for (Finding& finding : look_at_devices(devices)) findings.push_back(std::move(finding));
  findings.push_back(look_at_cache());
  findings.push_back(try_to_compile(devices));
  return findings;
}

std::string_view to_string(Health health) {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::warn:
      return "warn";
    case Health::missing:
      return "missing";
  }
  return "missing";
}

}  // namespace tilevm::backend
