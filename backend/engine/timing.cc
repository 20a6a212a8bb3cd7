#include "backend/engine/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "backend/compile/kernel_cache.h"

namespace tilevm::backend {
namespace {

// Four blocks of 256 threads with eight 16-byte loads each are 128 KiB in flight on a
// multiprocessor, several times what its share of the bandwidth needs.
constexpr unsigned threads = 256;
constexpr unsigned blocks_per_multiprocessor = 4;

constexpr const char* read_kernels = R"(
extern "C" __global__ void __launch_bounds__(256, 4)
tilevm_read(const uint4* data, unsigned long long count, unsigned* sink) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  unsigned sum = 0;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += 8 * stride) {
    uint4 words[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      words[j] = i + j * stride < count ? data[i + j * stride] : uint4{0, 0, 0, 0};
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += words[j].x ^ words[j].y ^ words[j].z ^ words[j].w;
  }
  if (sum == 0x9e3779b9) *sink = sum;  // what nobody could use need not be loaded
}

extern "C" __global__ void tilevm_fill(unsigned* words, unsigned long long count, unsigned keep,
                                       unsigned set) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += stride) {
    unsigned long long z = (i + 1) * 0x9e3779b97f4a7c15ull;  // SplitMix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    words[i] = (static_cast<unsigned>(z >> 32) & keep) | set;
  }
}

extern "C" __global__ void tilevm_wait(long long clocks) {
  const long long begin = clock64();
  while (clock64() - begin < clocks) {
  }
}
)";

/// About 50 us: longer than the host takes to queue a launch.
constexpr std::int64_t wait_clocks = 100'000;

LaunchShape whole_device(const Device& device) {
  const auto multiprocessors = static_cast<unsigned>(device.properties().multiprocessors);
  LaunchShape shape;
  shape.grid[0] = std::max(1U, multiprocessors * blocks_per_multiprocessor);
  shape.block[0] = threads;
  return shape;
}

/// The value below which the part `q` of a sorted sample is.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

/// A launch between two events.
struct Timed {
  Event start, stop;
};

Result<Timed> time_one(const Device& device, const Work& work) {
  Result<Event> start = device.make_event();
  if (!start) return start.error();
  Result<Event> stop = device.make_event();
  if (!stop) return stop.error();
  if (Status status = start->record(); !status) return status.error();
  if (Status status = work(); !status) return status.error();
  if (Status status = stop->record(); !status) return status.error();
  return Timed{*std::move(start), *std::move(stop)};
}

}  // namespace

Spread spread_of(std::vector<double> sample) {
  TILEVM_CHECK(!sample.empty(), "the spread of an empty sample");
  std::sort(sample.begin(), sample.end());
  return {sample.front(), quantile(sample, 0.25), quantile(sample, 0.5), quantile(sample, 0.75),
          sample.back()};
}

Status Stopwatch::load_kernels() {
  CompileRequest request;
  request.source = read_kernels;
  request.name = "timing.cu";
  request.target = device_.properties().target();
  const Result<Compiled> compiled = compile_cached(request);
  if (!compiled) return compiled.error();
  const Result<Module> module = device_.load(compiled->image);
  if (!module) return module.error();
  struct Wanted {
    LoadedKernel& kernel;
    const char* name;
    std::size_t parameters;
  };
  for (const Wanted& wanted : {Wanted{reader_, "tilevm_read", 3}, Wanted{filler_, "tilevm_fill", 4},
                               Wanted{waiter_, "tilevm_wait", 1}}) {
    Result<LoadedKernel> found = module->kernel(wanted.name, wanted.parameters);
    if (!found) return found.error();
    wanted.kernel = *std::move(found);
  }
  return Done{};
}

Result<Stopwatch> Stopwatch::create(const Device& device, std::size_t readable) {
  Stopwatch stopwatch(device);
  if (Status status = stopwatch.load_kernels(); !status) return status.error();
  Result<DeviceBuffer> memory = device.allocate(readable / 16 * 16 + eviction_bytes + 16);
  if (!memory) return memory.error();
  stopwatch.memory_ = *std::move(memory);
  const Status filled = stopwatch.fill_random(stopwatch.memory_, ~std::uint32_t{0}, 0);
  if (!filled) return filled.error();
  return stopwatch;
}

Status Stopwatch::fill_random(const DeviceBuffer& buffer, std::uint32_t keep,
                              std::uint32_t set) const {
  LaunchArguments arguments;
  arguments.add(buffer).add(std::uint64_t{buffer.size() / 4}).add(keep).add(set);
  return filler_.launch(whole_device(device_), arguments);
}

Status Stopwatch::read_at(std::size_t offset, std::size_t bytes) const {
  TILEVM_CHECK(offset + bytes + 16 <= memory_.size(), "the stopwatch has no such memory");
  LaunchArguments arguments;
  arguments.add_bits(memory_.address() + offset, 8).add(std::uint64_t{bytes / 16});
  arguments.add_bits(memory_.address() + memory_.size() - 16, 8);
  return reader_.launch(whole_device(device_), arguments);
}

Status Stopwatch::prepare(const Work& work, bool warm) const {
  if (!warm) return read_at(memory_.size() - 16 - eviction_bytes, eviction_bytes);
  if (Status status = work(); !status) return status;
  LaunchArguments arguments;
  arguments.add(wait_clocks);
  return waiter_.launch({}, arguments);
}

Result<std::vector<Spread>> Stopwatch::time(const std::vector<Work>& works,
                                            const TimingOptions& options) const {
  std::vector<std::vector<double>> samples(works.size());
  // The first launch of a kernel also loads its code, so one round is not counted.
  for (int round = -1; round < options.rounds; ++round) {
    std::vector<Timed> timed;
    for (const Work& work : works) {
      if (Status status = prepare(work, options.warm); !status) return status.error();
      Result<Timed> one = time_one(device_, work);
      if (!one) return one.error();
      timed.push_back(*std::move(one));
    }
    if (Status status = device_.wait(options.timeout); !status) return status.error();
    for (std::size_t i = 0; i < works.size(); ++i) {
      const Result<float> elapsed = Event::elapsed(timed[i].start, timed[i].stop);
      if (!elapsed) return elapsed.error();
      if (round >= 0) samples[i].push_back(static_cast<double>(*elapsed) * 1000.0);
    }
  }
  std::vector<Spread> spreads;
  spreads.reserve(samples.size());
  for (std::vector<double>& sample : samples) spreads.push_back(spread_of(std::move(sample)));
  return spreads;
}

}  // namespace tilevm::backend
