// How long work takes on a GPU, by one protocol for everything that is compared.
//
// Every launch is timed by itself, between two events. Before it L2 is filled with other data, by
// reading: lines that were written would be written back while the kernel runs (up to 22 us on an
// H200). That also keeps the GPU busy while the host queues the launch, so the host's time is not
// in the result. Works that are compared take turns, so that clocks and temperature are the same.
//
// The yardstick is a kernel that only reads. Its time for the bytes of another kernel is what that
// kernel would take if it only fetched its tensors once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "backend/driver/device.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// What is read to evict L2; several times the largest there is.
inline constexpr std::size_t eviction_bytes = std::size_t{512} << 20;

/// A sample in five numbers; the quartiles are interpolated linearly.
struct Spread {
  double min = 0, lower = 0, median = 0, upper = 0, max = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> sample);

/// Puts what is timed on the default stream.
using Work = std::function<Status()>;

struct TimingOptions {
  int rounds = 30;    ///< how often each work is timed
  bool warm = false;  ///< L2 holds what the same work left there, instead of other data
  std::chrono::milliseconds timeout{60'000};  ///< most time of a round
};

/// Times works on one device, and reads memory for comparison.
class Stopwatch {
 public:
  /// Takes memory for `read` of up to `readable` bytes and for the eviction, filled with random
  /// bits. Error (unavailable): no compiler, or memory is short.
  [[nodiscard]] static Result<Stopwatch> create(const Device& device, std::size_t readable);

  /// Microseconds of each work. Errors: those of the works; program (a kernel faulted), limit (the
  /// timeout).
  [[nodiscard]] Result<std::vector<Spread>> time(const std::vector<Work>& works,
                                                 const TimingOptions& options) const;

  /// Puts the reading of so many bytes (cut to multiples of 16) on the default stream.
  Status read(std::size_t bytes) const { return read_at(0, bytes); }

  /// Fills a buffer with random bits: every 32-bit word w becomes (w & keep) | set.
  Status fill_random(const DeviceBuffer& buffer, std::uint32_t keep, std::uint32_t set) const;

 private:
  explicit Stopwatch(Device device) : device_(std::move(device)) {}
  [[nodiscard]] Status load_kernels();
  Status read_at(std::size_t offset, std::size_t bytes) const;
  /// What comes before a timed launch: other data in L2, or with `warm` the work's own.
  Status prepare(const Work& work, bool warm) const;

  Device device_;
  LoadedKernel reader_, filler_, waiter_;
  DeviceBuffer memory_;  // what `read` reads, what evicts, and 16 bytes that are never written
};

}  // namespace tilevm::backend
