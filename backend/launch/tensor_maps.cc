#include "backend/launch/tensor_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "isa/base/check.h"

namespace tilevm::backend {

Result<MapNumbers> map_numbers(const isa::Kernel& kernel, const CudaKernel& emitted,
                               const MapOfView& map, const std::vector<Argument>& arguments) {
  const std::string& view = kernel.variable(map.map.view).name;
  const auto value_of = [&](isa::VarId var) { return scalar_argument(emitted, arguments, var); };
  std::optional<Error> fault;
  const auto value = [&](const isa::Expr& expr) -> std::int64_t {
    const auto found = isa::evaluate(expr, value_of);
    if (found) return found->as_int();
    fault = Error{ErrorKind::program, fmt::format("the view `{}` of `{}` divides by zero in `{}`",
                                                  view, kernel.name, to_string(expr))};
    return 1;
  };
  MapNumbers numbers;
  const auto& parameters = kernel.parameters;
  const auto pointer = std::find(parameters.begin(), parameters.end(), map.pointer);
  TILEVM_CHECK(pointer != parameters.end(), "a tensor map of what is not a parameter");
  numbers.pointer = static_cast<std::size_t>(pointer - parameters.begin());
  for (const isa::Expr& extent : map.extents) numbers.extents.push_back(value(extent));
  const std::int64_t bytes = map.dtype.bits / 8;
  for (const isa::Expr& expr : map.strides) {
    const std::int64_t stride = value(expr);
    const bool is_sane = 0 <= stride && stride <= isa::max_map_stride;
    numbers.strides.push_back(is_sane ? stride * bytes : -1);
  }
  if (fault) return *fault;
  if (const auto why = isa::why_no_map(numbers.extents, numbers.strides)) {
    return Error{ErrorKind::program, fmt::format("there is no tensor map of `{}` of `{}`: {}", view,
                                                 kernel.name, *why)};
  }
  return numbers;
}

Status check_map_address(const isa::Kernel& kernel, const MapOfView& map, std::uint64_t address) {
  if (address % isa::map_unit == 0) return Done{};
  return Error{
      ErrorKind::program,
      fmt::format("`{}` of `{}` begins at address {:#x}; a tensor map begins at a multiple "
                  "of 16 bytes",
                  kernel.variable(map.pointer).name, kernel.name, address)};
}

}  // namespace tilevm::backend
