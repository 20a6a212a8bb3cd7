#include "sim/launch/launch.h"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "isa/inst/limits.h"
#include "sim/state/scalar_code.h"
#include "sim/state/undefined.h"

namespace tilevm::sim {
namespace {

Fault fault_of(Code code, Span span, std::string message) {
  Fault fault;
  fault.diagnostic.code = code;
  fault.diagnostic.span = span;
  fault.diagnostic.message = std::move(message);
  return fault;
}

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

}  // namespace

std::array<std::int64_t, 3> Grid::block(std::uint64_t linear) const {
  std::array<std::int64_t, 3> index{};
  for (std::size_t d = 0; d < index.size(); ++d) {
    const auto extent = static_cast<std::uint64_t>(extents[d]);
    index[d] = static_cast<std::int64_t>(linear % extent);
    linear /= extent;
  }
  return index;
}

Result<ShadowMemory> make_shadow(std::string_view name, const isa::DType& type, std::size_t bytes) {
  const std::size_t shadow_bytes = bytes * 8 / type.bits * sizeof(ShadowSlot);
  const Error too_large{
      ErrorKind::limit,
      fmt::format("the shadow values of `{}` take {} bytes; the limit is {}, and there must be as "
                  "much memory: take smaller sizes",
                  name, shadow_bytes, max_shadow_bytes)};
  if (shadow_bytes > max_shadow_bytes) return too_large;
  try {
    return ShadowMemory(type, bytes);
  } catch (const std::bad_alloc&) {
    return too_large;
  }
}

Result<LaunchMemory> make_memory(const isa::VerifiedProgram& program, int kernel,
                                 std::vector<Buffer>& memory, const TrackingOptions& followed) {
  LaunchMemory result;
  const isa::Kernel& code = program.kernel(kernel);
  std::int64_t total = 0;
  for (const auto& workspace : program.info(kernel).workspaces) {
    const isa::Variable& variable = code.variable(workspace.var);
    const bool fits = workspace.bytes >= 0 && workspace.bytes <= max_workspace_bytes - total;
    const auto bytes = static_cast<std::size_t>(fits ? workspace.bytes : 0);
    ZeroedBytes data(fits ? static_cast<std::uint8_t*>(std::calloc(bytes + 1, 1)) : nullptr);
    if (!data) {
      return Error{ErrorKind::limit,
                   fmt::format("workspace `{}` of kernel `{}` needs {} bytes, which is more than "
                               "there is; make it smaller",
                               variable.name, code.name, workspace.bytes)};
    }
    total += workspace.bytes;
    const bool tracked = bytes <= max_tracked_bytes &&
                         (followed.padding || (followed.undefined && !workspace.zeroed));
    result.undefined.emplace_back(tracked ? bytes : 0, followed.padding ? 0x00 : 0xff);
    std::uint8_t* undefined =
        result.undefined.back().empty() ? nullptr : result.undefined.back().data();
    ShadowMemory* shadow = nullptr;
    if (followed.shadow) {
      const auto* type = std::get_if<isa::GlobalType>(&variable.type);
      Result<ShadowMemory> made = make_shadow(variable.name, type->dtype, bytes);
      if (!made) return made.error();
      shadow = result.shadows.emplace_back(std::make_unique<ShadowMemory>(*std::move(made))).get();
    }
    result.buffers.push_back({variable.name, data.get(), bytes, undefined, shadow});
    result.workspaces.push_back(std::move(data));
  }
  for (Buffer& buffer : memory) {
    const bool tracked = followed.undefined && buffer.undefined.size() == buffer.bytes.size() &&
                         !buffer.undefined.empty();
    result.buffers.push_back({buffer.name, buffer.bytes.data(), buffer.bytes.size(),
                              tracked ? buffer.undefined.data() : nullptr,
                              followed.shadow && buffer.shadow ? &*buffer.shadow : nullptr});
  }
  return result;
}

void forget_defined(std::vector<Buffer>& memory) {
  for (Buffer& buffer : memory) {
    if (!has_bits(buffer.undefined.data(), buffer.undefined.size())) buffer.undefined.clear();
  }
}

std::vector<BufferUse> buffer_uses(const isa::VerifiedProgram& program, int kernel,
                                   const std::vector<Argument>& arguments,
                                   std::size_t buffer_count) {
  const std::size_t workspaces = program.info(kernel).workspaces.size();
  std::vector<BufferUse> uses(workspaces, {.read = true, .written = true});
  uses.resize(workspaces + buffer_count);
  std::size_t pointer = 0;
  for (const Argument& argument : arguments) {
    const auto* buffer = std::get_if<int>(&argument);
    if (buffer == nullptr) continue;
    const isa::PointerUse& use = program.pointer_uses(kernel)[pointer++];
    BufferUse& known = uses[workspaces + static_cast<std::size_t>(*buffer)];
    known.read |= use.read;
    known.written |= use.written;
  }
  return uses;
}

Result<std::vector<std::uint64_t>> bind_arguments(const isa::VerifiedProgram& program, int kernel,
                                                  const std::vector<Argument>& arguments,
                                                  std::size_t buffer_count) {
  const isa::Kernel& code = program.kernel(kernel);
  if (arguments.size() != code.parameters.size()) {
    return usage(fmt::format("kernel `{}` takes {} arguments, {} are given", code.name,
                             code.parameters.size(), arguments.size()));
  }
  const std::size_t workspaces = program.info(kernel).workspaces.size();
  std::vector<std::uint64_t> scalars(code.variables.size(), 0);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const isa::VarId var = code.parameters[i];
    const isa::Variable& variable = code.variable(var);
    std::uint64_t& slot = scalars[static_cast<std::size_t>(var.index)];
    const auto* buffer = std::get_if<int>(&arguments[i]);
    const auto* value = std::get_if<isa::Scalar>(&arguments[i]);
    if (const auto* type = std::get_if<isa::ScalarType>(&variable.type)) {
      if (value == nullptr) {
        return usage(fmt::format("parameter `{}` of kernel `{}` is a scalar, a buffer is given",
                                 variable.name, code.name));
      }
      slot = isa::convert(*value, type->kind).bits;
      continue;
    }
    if (buffer == nullptr || *buffer < 0 || static_cast<std::size_t>(*buffer) >= buffer_count) {
      return usage(
          fmt::format("parameter `{}` of kernel `{}` is a pointer; it needs one of the {} "
                      "buffers",
                      variable.name, code.name, buffer_count));
    }
    slot = workspaces + static_cast<std::size_t>(*buffer);
  }
  return scalars;
}

std::variant<Grid, Fault> evaluate_grid(const isa::Kernel& kernel,
                                        const std::vector<std::uint64_t>& scalars) {
  Grid grid;
  grid.rank = kernel.grid.size();
  for (std::size_t d = 0; d < kernel.grid.size(); ++d) {
    std::uint64_t bits = 0;
    Span span{};
    if (!ScalarCode(kernel.grid[d]).evaluate(scalars.data(), bits, span)) {
      return fault_of(Code::run_division_by_zero, span,
                      "the divisor of this integer division is zero; test it before");
    }
    const auto extent = static_cast<std::int64_t>(bits);
    if (extent < 1 || extent > isa::max_grid_extents[d]) {
      return fault_of(Code::bad_grid, kernel.grid[d].span(),
                      fmt::format("grid extent {} of kernel `{}` is {}; it must lie between 1 and "
                                  "{}",
                                  d, kernel.name, extent, isa::max_grid_extents[d]));
    }
    const std::int64_t blocks = d < kernel.cluster.size() ? kernel.cluster[d] : 1;
    if (extent % blocks != 0) {
      return fault_of(Code::bad_grid, kernel.grid[d].span(),
                      fmt::format("grid extent {} of kernel `{}` is {}, which is not a multiple of "
                                  "the {} blocks of a cluster along it",
                                  d, kernel.name, extent, blocks));
    }
    grid.extents[d] = extent;
  }
  return grid;
}

}  // namespace tilevm::sim
