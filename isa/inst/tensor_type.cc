#include "isa/inst/tensor_type.h"

#include <fmt/format.h>

namespace tilevm::isa {
namespace {

struct TypeText {
  std::string operator()(const ScalarType& type) const { return std::string(to_string(type.kind)); }
  std::string operator()(const PointerType& type) const { return to_string(type.dtype) + "*"; }
  std::string operator()(const RegisterType& type) const {
    return fmt::format("{}{}, {}", to_string(type.dtype), to_string(type.shape()),
                       to_string(type.layout));
  }
  std::string operator()(const SharedType& type) const {
    return fmt::format("{}{} shared, {}", to_string(type.dtype), to_string(type.shape()),
                       to_string(type.layout));
  }
  std::string operator()(const GlobalType& type) const {
    std::string extents;
    for (const Expr& extent : type.extents) {
      extents += (extents.empty() ? "" : ", ") + to_string(extent);
    }
    return fmt::format("{}[{}] view", to_string(type.dtype), extents);
  }
  std::string operator()(const BarrierType& type) const {
    return fmt::format("barrier of {} arrivals, {} stages", type.arrivals, type.stages);
  }
};

struct KindText {
  std::string_view operator()(const ScalarType&) const { return "a scalar"; }
  std::string_view operator()(const PointerType&) const { return "a pointer"; }
  std::string_view operator()(const RegisterType&) const { return "a register tile"; }
  std::string_view operator()(const SharedType&) const { return "a shared tensor"; }
  std::string_view operator()(const GlobalType&) const { return "a global view"; }
  std::string_view operator()(const BarrierType&) const { return "a barrier"; }
};

}  // namespace

std::optional<Shape> GlobalType::static_shape() const {
  Shape shape;
  for (const Expr& extent : extents) {
    const auto value = extent.constant_int();
    if (!value) return std::nullopt;
    shape.push_back(*value);
  }
  return shape;
}

DType element_type(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::boolean:
      return u1;
    case ScalarKind::i32:
      return i32;
    case ScalarKind::u32:
      return u32;
    case ScalarKind::i64:
      return i64;
    case ScalarKind::u64:
      return u64;
    case ScalarKind::f32:
      break;
  }
  return f32;
}

std::string to_string(const Type& type) { return std::visit(TypeText{}, type); }
std::string_view kind_name(const Type& type) { return std::visit(KindText{}, type); }

}  // namespace tilevm::isa
