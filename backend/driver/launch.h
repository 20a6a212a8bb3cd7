// Loaded code, its kernels, and their launches.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/driver/cuda_api.h"
#include "backend/driver/device_memory.h"
#include "isa/base/result.h"

namespace tilevm::backend {

class Device;
struct DeviceState;

/// The arguments of a launch in the order of the kernel's parameters, each by value.
class LaunchArguments {
 public:
  LaunchArguments& add(const DeviceBuffer& buffer) { return add(buffer.address()); }
  LaunchArguments& add(std::int32_t value);
  LaunchArguments& add(std::uint32_t value) { return add_bits(value, 4); }
  LaunchArguments& add(std::int64_t value);
  /// Also an address on a device, which is the same type on some hosts.
  template <std::unsigned_integral Word>
    requires(sizeof(Word) == 8)
  LaunchArguments& add(Word value) {
    return add_bits(value, 8);
  }
  LaunchArguments& add(float value);
  LaunchArguments& add(bool value) { return add_bits(value ? 1 : 0, 1); }
  LaunchArguments& add(const void* host_pointer) = delete;  // would pass as a bool
  /// The low `bytes` (1 to 8) bytes of `bits`, little-endian; also for raw device addresses.
  LaunchArguments& add_bits(std::uint64_t bits, std::size_t bytes);

  /// A parameter of many words, such as a tensor map.
  LaunchArguments& add_words(std::vector<std::uint64_t> words);

  [[nodiscard]] std::size_t size() const { return slots_.size(); }

 private:
  friend class LoadedKernel;
  struct Slot {
    std::uint64_t bits = 0;
    std::size_t bytes = 0;
    std::vector<std::uint64_t> words{};  ///< value of an argument of more than 8 bytes
  };
  std::vector<Slot> slots_;
};

struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  std::size_t shared_bytes = 0;  ///< dynamic shared memory; above 48 KiB is asked for by itself
};

/// What the compiler made of a kernel. Sizes in bytes.
struct KernelProperties {
  int registers_per_thread = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes_per_thread = 0;  ///< spills and stack
  int max_threads_per_block = 0;
};

/// A kernel of a loaded module, which it keeps loaded. A default-made one launches nothing and
/// says so.
class LoadedKernel {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const KernelProperties& properties() const { return properties_; }

  /// Puts a launch on a stream and returns; faults of the kernel show at the next call
  /// that waits. Errors: unavailable (the device has not what it needs), usage (the arguments do
  /// not fit the kernel's parameters, where the driver can tell; an empty grid or block).
  Status launch(const LaunchShape& shape, const LaunchArguments& arguments,
                cuda::Stream stream = nullptr) const;

  /// How many blocks of this shape one multiprocessor holds at a time.
  [[nodiscard]] Result<int> blocks_per_multiprocessor(const LaunchShape& shape) const;

 private:
  friend class Module;
  [[nodiscard]] Status prepare(const LaunchShape& shape) const;
  [[nodiscard]] Status check_arguments(const LaunchArguments& arguments) const;
  void read_properties(std::size_t parameters);
  std::shared_ptr<DeviceState> device_;
  std::shared_ptr<void> module_;
  cuda::Function function_ = nullptr;
  std::string name_;
  KernelProperties properties_;
  bool knows_parameters_ = false;  // not with drivers before CUDA 12.4
  std::vector<std::size_t> parameter_bytes_;
};

/// Loaded code: a cubin, PTX text or a fatbin.
class Module {
 public:
  /// `parameters` is their number, if it is known. Otherwise the driver is asked for one after the
  /// other until it has none, which tools that watch its calls report as an error of the program.
  /// Error (unavailable): no kernel of that name, or no code for this device in the image.
  [[nodiscard]] Result<LoadedKernel> kernel(const std::string& name,
                                            std::optional<std::size_t> parameters = {}) const;

 private:
  friend class Device;
  Module() = default;
  std::shared_ptr<DeviceState> device_;
  std::shared_ptr<void> module_;  // unloads when the last kernel is gone
};

}  // namespace tilevm::backend
