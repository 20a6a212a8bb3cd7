// The scheme by which an instruction is defined once.
//
// An instruction is an aggregate struct whose data members are *slots* (slots.h). Its static member
// `schema` names the instruction, says what it does and what it touches, and lists every slot with
// its name and documentation:
//
//     struct Cast {
//       RegisterOperand src;
//       DType dtype;
//       static constexpr auto schema =
//           define<Cast>({.mnemonic = "Cast", .category = Category::compute, .summary = "..."},
//                        slot("src", &Cast::src, "the tile to convert"),
//                        slot("dtype", &Cast::dtype, "the element type of the result"));
//       friend bool operator==(const Cast&, const Cast&) = default;
//     };
//
// Parser, printer, verifier, reference pages and traces walk the schema; none of them knows a
// mnemonic. A data member that the schema does not list stops the build (instruction_set.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "isa/base/check.h"

namespace tilevm::isa {

enum class Category : std::uint8_t { indexing, creation, transfer, compute, control, debug };
[[nodiscard]] std::string_view to_string(Category category);

/// What an instruction gives: nothing, the block's indices as scalars, one scalar or one tensor.
enum class ResultKind : std::uint8_t {
  none,
  indices,
  scalar,
  register_tile,
  shared_tile,
  global_view
};

/// What an instruction does to the memory behind an operand; `update` does both.
enum class Access : std::uint8_t { none, read, write, update };
constexpr bool reads(Access access) {
  switch (access) {
    case Access::read:
    case Access::update:
      return true;
    case Access::none:
    case Access::write:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}
constexpr bool writes(Access access) {
  switch (access) {
    case Access::write:
    case Access::update:
      return true;
    case Access::none:
    case Access::read:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

/// What is said of an instruction as a whole.
struct Description {
  std::string_view mnemonic;
  Category category = Category::compute;
  ResultKind result = ResultKind::none;
  std::string_view summary;      ///< one sentence
  std::string_view detail = {};  ///< meaning, shapes, errors, source; Markdown
  bool elementwise = false;      ///< an element of the result depends on those of the operands at
                                 ///< its place, and on nothing else; operands broadcast
  bool in_pipeline = false;      ///< may stand in a pipeline
  bool in_kernel = true;         ///< may stand in a kernel
  bool barrier = false;          ///< synchronizes the block
  bool orders_blocks = false;    ///< takes effect in one order for all blocks of a launch
  bool exchanges = false;        ///< may move values between threads through shared memory that is
                                 ///< no tensor of the program (isa/program/exchange.h)
};

template <class Inst, class Slot>
struct SlotInfo {
  std::string_view name;
  Slot Inst::* member;
  std::string_view doc;
  Access access = Access::none;
};

template <class Inst, class Slot>
constexpr SlotInfo<Inst, Slot> slot(std::string_view name, Slot Inst::* member,
                                    std::string_view doc, Access access = Access::none) {
  return {name, member, doc, access};
}

template <class Inst, class... Slots>
struct Schema {
  Description description;
  std::tuple<SlotInfo<Inst, Slots>...> slots;

  static constexpr std::size_t size = sizeof...(Slots);
};

template <class Inst, class... Slots>
constexpr Schema<Inst, Slots...> define(Description description, SlotInfo<Inst, Slots>... slots) {
  return {description, {slots...}};
}

/// The instructions of a header, in the order of the reference pages.
template <class... Insts>
struct InstructionList {};

/// Calls f(slot_info, position) for every slot of an instruction type, in order.
template <class Inst, class F>
constexpr void for_each_slot(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(std::get<I>(Inst::schema.slots), I), ...);
  }(std::make_index_sequence<std::decay_t<decltype(Inst::schema)>::size>{});
}

namespace detail {

struct AnySlot {
  template <class T>
  operator T() const;  // NOLINT: implicit by intent, never defined
};

template <class T, std::size_t... I>
constexpr bool initializable(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnySlot{})...}; };
}

}  // namespace detail

/// Data members of an aggregate, counted by how many initializers it takes.
template <class T, std::size_t N = 0>
constexpr std::size_t member_count() {
  if constexpr (detail::initializable<T>(std::make_index_sequence<N + 1>{})) {
    return member_count<T, N + 1>();
  } else {
    return N;
  }
}

}  // namespace tilevm::isa
