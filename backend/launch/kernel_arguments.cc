#include "backend/launch/kernel_arguments.h"

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

/// CUDA's limits of a grid.
constexpr std::array<std::int64_t, 3> max_grid{0x7fffffff, 0xffff, 0xffff};

}  // namespace

isa::Scalar scalar_argument(const CudaKernel& kernel, const std::vector<Argument>& arguments,
                            isa::VarId var) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (kernel.parameters[i].var != var) continue;
    if (const auto* scalar = std::get_if<isa::Scalar>(&arguments[i])) return *scalar;
  }
  return {};
}

Result<std::array<unsigned, 3>> grid_of(const isa::Kernel& kernel, const CudaKernel& emitted,
                                        const std::vector<Argument>& arguments) {
  if (arguments.size() != kernel.parameters.size()) {
    return Error{ErrorKind::program,
                 fmt::format("`{}` takes {} arguments, {} were given", kernel.name,
                             kernel.parameters.size(), arguments.size())};
  }
  std::array<unsigned, 3> grid{1, 1, 1};
  for (std::size_t i = 0; i < kernel.grid.size() && i < grid.size(); ++i) {
    const auto value = isa::evaluate(
        kernel.grid[i], [&](isa::VarId var) { return scalar_argument(emitted, arguments, var); });
    if (!value) {
      return Error{ErrorKind::program, fmt::format("the grid of `{}` divides by zero in `{}`",
                                                   kernel.name, to_string(kernel.grid[i]))};
    }
    if (value->as_int() < 1 || value->as_int() > max_grid[i]) {
      return Error{
          ErrorKind::program,
          fmt::format("the grid of `{}` has extent {} in `{}`; it must be 1 to {}", kernel.name,
                      to_string(*value), to_string(kernel.grid[i]), max_grid[i])};
    }
    const std::int64_t blocks = i < kernel.cluster.size() ? kernel.cluster[i] : 1;
    if (value->as_int() % blocks != 0) {
      return Error{ErrorKind::program,
                   fmt::format("the grid of `{}` has extent {} in `{}`, which is not a multiple of "
                               "the {} blocks of a cluster along it",
                               kernel.name, to_string(*value), to_string(kernel.grid[i]), blocks)};
    }
    grid[i] = static_cast<unsigned>(value->as_int());
  }
  return grid;
}

Error wrong_argument(const isa::Kernel& kernel, isa::VarId var, std::string_view wanted) {
  return {ErrorKind::program, fmt::format("parameter `{}` of `{}` takes {}",
                                          kernel.variable(var).name, kernel.name, wanted)};
}

}  // namespace tilevm::backend
