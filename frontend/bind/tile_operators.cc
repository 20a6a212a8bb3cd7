#include "frontend/bind/tile_operators.h"

#include "isa/base/check.h"

namespace tilevm::frontend {
namespace {

template <class Inst>
struct FamilyMember {};
template <isa::BinaryOp member>
struct FamilyMember<isa::Binary<member>> {
  static constexpr isa::BinaryOp op = member;
};
template <isa::UnaryOp member>
struct FamilyMember<isa::Unary<member>> {
  static constexpr isa::UnaryOp op = member;
};

template <class Inst, class Op>
concept MemberOf = requires {
  { FamilyMember<Inst>::op } -> std::same_as<const Op&>;
};

}  // namespace

std::optional<isa::BinaryOp> tile_operation(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::logical_or:
    case ast::BinaryOp::logical_and:
      return std::nullopt;
    case ast::BinaryOp::equal:
      return isa::BinaryOp::eq;
    case ast::BinaryOp::not_equal:
      return isa::BinaryOp::ne;
    case ast::BinaryOp::less:
      return isa::BinaryOp::lt;
    case ast::BinaryOp::less_equal:
      return isa::BinaryOp::le;
    case ast::BinaryOp::greater:
      return isa::BinaryOp::gt;
    case ast::BinaryOp::greater_equal:
      return isa::BinaryOp::ge;
    case ast::BinaryOp::bit_or:
      return isa::BinaryOp::bit_or;
    case ast::BinaryOp::bit_xor:
      return isa::BinaryOp::bit_xor;
    case ast::BinaryOp::bit_and:
      return isa::BinaryOp::bit_and;
    case ast::BinaryOp::shift_left:
      return isa::BinaryOp::shl;
    case ast::BinaryOp::shift_right:
      return isa::BinaryOp::shr;
    case ast::BinaryOp::add:
      return isa::BinaryOp::add;
    case ast::BinaryOp::sub:
      return isa::BinaryOp::sub;
    case ast::BinaryOp::mul:
      return isa::BinaryOp::mul;
    case ast::BinaryOp::div:
      return isa::BinaryOp::div;
    case ast::BinaryOp::mod:
      return isa::BinaryOp::mod;
  }
  TILEVM_NO_ENUMERATOR();
}

isa::Instruction make_binary(isa::BinaryOp op, isa::VarId a, isa::VarId b) {
  isa::Instruction result;
  isa::for_each_instruction([&]<class Inst>() {
    if constexpr (MemberOf<Inst, isa::BinaryOp>) {
      if (FamilyMember<Inst>::op == op) result = Inst{{a}, {b}};
    }
  });
  return result;
}

isa::Instruction make_unary(isa::UnaryOp op, isa::VarId a) {
  isa::Instruction result;
  isa::for_each_instruction([&]<class Inst>() {
    if constexpr (MemberOf<Inst, isa::UnaryOp>) {
      if (FamilyMember<Inst>::op == op) result = Inst{{a}};
    }
  });
  return result;
}

std::size_t first_of_common_type(const isa::Instruction& instruction) {
  return std::holds_alternative<isa::Where>(instruction) ? 1 : 0;
}

}  // namespace tilevm::frontend
