#include "backend/driver/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "backend/driver/device_state.h"

namespace tilevm::backend {
namespace {

// Up to this, static and dynamic together, a block gets shared memory without asking (CUDA C++
// Programming Guide, Shared Memory).
constexpr std::size_t free_shared_bytes = std::size_t{48} * 1024;

// A kernel's parameters take at most 32764 bytes (same guide, Function Parameters).
constexpr std::size_t max_parameters = 32764;

std::size_t function_attribute(const cuda::Api& api, cuda::Function function,
                               cuda::FunctionAttribute which) {
  int value = 0;
  const bool known = api.func_get_attribute(&value, which, function) == cuda::success;
  return known && value > 0 ? static_cast<std::size_t>(value) : 0;
}

std::string describe(const LaunchShape& shape) {
  return fmt::format("grid {}x{}x{}, block {}x{}x{}, {} bytes of dynamic shared memory",
                     shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                     shape.block[2], shape.shared_bytes);
}

std::uint64_t threads_of(const LaunchShape& shape) {
  // Each is below 2^32 and the driver's limit 1024, so cutting at 2^20 keeps the product exact
  // enough to compare.
  std::uint64_t threads = 1;
  for (const unsigned extent : shape.block) {
    threads *= std::min<std::uint64_t>(extent, std::uint64_t{1} << 20);
  }
  return threads;
}

}  // namespace

LaunchArguments& LaunchArguments::add(std::int32_t value) {
  return add_bits(static_cast<std::uint32_t>(value), 4);
}

LaunchArguments& LaunchArguments::add(std::int64_t value) {
  return add_bits(static_cast<std::uint64_t>(value), 8);
}

LaunchArguments& LaunchArguments::add(float value) {
  return add_bits(std::bit_cast<std::uint32_t>(value), 4);
}

LaunchArguments& LaunchArguments::add_bits(std::uint64_t bits, std::size_t bytes) {
  TILEVM_CHECK(bytes >= 1 && bytes <= 8, "an argument has 1 to 8 bytes");
  static_assert(std::endian::native == std::endian::little);  // the low bytes come first
  slots_.push_back({bits, bytes, {}});
  return *this;
}

LaunchArguments& LaunchArguments::add_words(std::vector<std::uint64_t> words) {
  TILEVM_CHECK(words.size() > 1, "a parameter of one word is added by its bits");
  const std::size_t bytes = words.size() * sizeof(std::uint64_t);
  slots_.push_back({0, bytes, std::move(words)});
  return *this;
}

void LoadedKernel::read_properties(std::size_t parameters) {
  const cuda::Api& api = device_->api();
  const CurrentContext current(*device_);
  const auto get = [&](cuda::FunctionAttribute which) {
    return function_attribute(api, function_, which);
  };
  properties_.registers_per_thread = static_cast<int>(get(cuda::function_registers));
  properties_.static_shared_bytes = get(cuda::function_shared_bytes);
  properties_.local_bytes_per_thread = get(cuda::function_local_bytes);
  properties_.max_threads_per_block = static_cast<int>(get(cuda::function_max_threads_per_block));
  knows_parameters_ = api.func_get_param_info != nullptr;
  if (!knows_parameters_) return;
  std::size_t offset = 0;
  std::size_t size = 0;
  while (parameter_bytes_.size() < parameters &&
         api.func_get_param_info(function_, parameter_bytes_.size(), &offset, &size) ==
             cuda::success) {
    parameter_bytes_.push_back(size);
  }
}

Result<LoadedKernel> Module::kernel(const std::string& name,
                                    std::optional<std::size_t> parameters) const {
  LoadedKernel kernel;
  kernel.device_ = device_;
  kernel.module_ = module_;
  kernel.name_ = name;
  const auto doing = [&] { return fmt::format("finding the kernel `{}`", name); };
  const Status done = with_context(*device_, doing, [&](const cuda::Api& api) {
    return api.module_get_function(&kernel.function_,
                                   static_cast<cuda::ModuleHandle>(module_.get()), name.c_str());
  });
  if (!done) {
    // A fatbin without this GPU's code loads, and fails only here.
    Error error = done.error();
    error.message +=
        fmt::format(" (GPU {}: {})", device_->properties.ordinal, device_->properties.describe());
    return error;
  }
  kernel.read_properties(parameters.value_or(max_parameters));
  return kernel;
}

Status LoadedKernel::check_arguments(const LaunchArguments& arguments) const {
  if (!knows_parameters_) return Done{};
  if (arguments.size() != parameter_bytes_.size()) {
    return Error{ErrorKind::usage,
                 fmt::format("the launch gives {} arguments; `{}` has {} parameters",
                             arguments.size(), name_, parameter_bytes_.size())};
  }
  for (std::size_t i = 0; i < parameter_bytes_.size(); ++i) {
    if (parameter_bytes_[i] == arguments.slots_[i].bytes) continue;
    return Error{ErrorKind::usage,
                 fmt::format("argument {} of the launch has {} bytes; the parameter of `{}` has {}",
                             i, arguments.slots_[i].bytes, name_, parameter_bytes_[i])};
  }
  return Done{};
}

Status LoadedKernel::prepare(const LaunchShape& shape) const {
  if (function_ == nullptr) return Error{ErrorKind::usage, "no kernel was loaded"};
  const DeviceProperties& device = device_->properties;
  const auto zero = [](unsigned extent) { return extent == 0; };
  if (std::any_of(shape.grid.begin(), shape.grid.end(), zero) ||
      std::any_of(shape.block.begin(), shape.block.end(), zero)) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` cannot be launched with an empty {}", name_, describe(shape))};
  }
  const std::uint64_t most =
      static_cast<std::uint64_t>(std::max(properties_.max_threads_per_block, 1));
  if (threads_of(shape) > most) {
    return Error{ErrorKind::unavailable,
                 fmt::format("`{}` has {} threads a block and uses {} registers a thread; it can "
                             "have at most {} threads",
                             name_, threads_of(shape), properties_.registers_per_thread, most)};
  }
  const std::size_t room = device.shared_bytes_per_block -
                           std::min(device.shared_bytes_per_block, properties_.static_shared_bytes);
  if (shape.shared_bytes > room) {
    return Error{ErrorKind::unavailable,
                 fmt::format("`{}` needs {} bytes of dynamic and {} of static shared memory a "
                             "block; GPU {} ({}) allows {} together: use smaller tiles or fewer "
                             "stages",
                             name_, shape.shared_bytes, properties_.static_shared_bytes,
                             device.ordinal, device.describe(), device.shared_bytes_per_block)};
  }
  if (shape.shared_bytes + properties_.static_shared_bytes <= free_shared_bytes) return Done{};
  return with_context(*device_, "asking for shared memory", [&](const cuda::Api& api) {
    return api.func_set_attribute(function_, cuda::function_max_dynamic_shared_bytes,
                                  static_cast<int>(shape.shared_bytes));
  });
}

Status LoadedKernel::launch(const LaunchShape& shape, const LaunchArguments& arguments,
                            cuda::Stream stream) const {
  if (Status prepared = prepare(shape); !prepared) return prepared;
  if (Status usable = device_->usable(); !usable) return usable;
  if (Status fits = check_arguments(arguments); !fits) return fits;
  std::vector<void*> pointers;
  pointers.reserve(arguments.size());
  for (const LaunchArguments::Slot& slot : arguments.slots_) {
    const std::uint64_t* const value = slot.words.empty() ? &slot.bits : slot.words.data();
    pointers.push_back(const_cast<std::uint64_t*>(value));  // the driver only reads
  }
  const auto doing = [&] { return fmt::format("launching `{}` ({})", name_, describe(shape)); };
  return with_context(*device_, doing, [&](const cuda::Api& api) {
    return api.launch_kernel(function_, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                             shape.block[1], shape.block[2],
                             static_cast<unsigned>(shape.shared_bytes), stream, pointers.data(),
                             nullptr);
  });
}

Result<int> LoadedKernel::blocks_per_multiprocessor(const LaunchShape& shape) const {
  if (const Status prepared = prepare(shape); !prepared) return prepared.error();
  int blocks = 0;
  const Status done = with_context(*device_, "computing the occupancy", [&](const cuda::Api& api) {
    return api.max_active_blocks(&blocks, function_, static_cast<int>(threads_of(shape)),
                                 shape.shared_bytes);
  });
  if (!done) return done.error();
  return blocks;
}

}  // namespace tilevm::backend
