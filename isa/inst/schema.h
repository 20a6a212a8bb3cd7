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
//           define<Cast>({.mnemonic = "Cast",
//                         .category = Category::compute,
//                         .sync = Sync::none,
//                         .summary = "..."},
//                        slot("src", &Cast::src, "the tile to convert"),
//                        slot("dtype", &Cast::dtype, "the element type of the result"));
//       friend bool operator==(const Cast&, const Cast&) = default;
//     };
//
// Parser, printer, verifier, reference pages and traces walk the schema; none of them knows a
// mnemonic. What several phases ask of an instruction is a fact of its schema: what it
// synchronizes, what it does to memory and through which proxy, what its operands are to a product.
//
// A data member that the schema does not list stops the build (instruction_set.h). So does an
// instruction that does not state what it synchronizes, and an operand in memory without its access
// and proxy.
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
  global_view,
  barrier
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

/// The path by which an instruction reaches memory (PTX ISA, Proxies). An access of `async` goes on
/// after its instruction, until a wait has retired it; targets that have an async proxy may make it
/// there, and then only a proxy fence orders it with accesses of `generic`.
enum class Proxy : std::uint8_t { generic, async };

/// What an instruction synchronizes; a set, whose members are joined by `|`.
enum class Sync : std::uint8_t {
  none = 0,
  block = 1,     ///< all threads of the block wait for one another
  arrive = 2,    ///< the asynchronous accesses before it become a group, for which one can wait
  wait = 4,      ///< waits for such groups
  acquire = 8,   ///< sees what other blocks released, in one order of all blocks of a launch
  release = 16,  ///< lets other blocks see what the block did before, in that order
  fence = 32,    ///< orders accesses of the generic proxy before later ones of the async proxy
  signal = 64,   ///< lets those who wait at a barrier see what its threads did before
  await = 128,   ///< waits at a barrier, and sees what those who arrived there did before
};
constexpr Sync operator|(Sync a, Sync b) {
  return static_cast<Sync>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
/// Whether a set has a member that another set has.
constexpr bool has(Sync set, Sync any) {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(any)) != 0;
}

/// What an operand is to a matrix product, d = left * right + addend.
enum class ProductRole : std::uint8_t {
  none,
  left,
  right,
  addend,
  metadata,      ///< positions of the stored elements of a sparse left matrix
  left_scales,   ///< the factors that elements of the left matrix share
  right_scales,  ///< the factors that elements of the right matrix share
};

/// A fact that every instruction states. One that does not state it does not compile
/// (instruction_set.h).
template <class Fact>
struct Stated {
  constexpr Stated() = default;
  constexpr Stated(Fact fact) : value(fact), stated(true) {}  // NOLINT: implicit by intent
  constexpr operator Fact() const { return value; }           // NOLINT: implicit by intent
  Fact value{};
  bool stated = false;
};

/// What is said of an instruction as a whole.
struct Description {
  std::string_view mnemonic;
  Category category = Category::compute;
  Stated<Sync> sync{};
  ResultKind result = ResultKind::none;
  std::string_view summary;      ///< one sentence
  std::string_view detail = {};  ///< meaning, shapes, errors, source; Markdown
  bool elementwise = false;      ///< an element of the result depends on those of the operands at
                                 ///< its place, and on nothing else; operands broadcast
  bool in_pipeline = false;      ///< may stand in a pipeline
  bool in_kernel = true;         ///< may stand in a kernel
  bool exchanges = false;        ///< may move values between threads through shared memory that is
                                 ///< no tensor of the program (isa/program/exchange.h)
  bool by_copy_engine = false;   ///< the copy engine moves its tile, of which no thread has a part
  bool canonical_nan = false;    ///< a NaN in the result is the canonical one, whatever NaN an
                                 ///< operand has; the CUDA backend then skips casts that do no more

  /// Whether it is a barrier of the block.
  [[nodiscard]] constexpr bool is_barrier() const { return has(sync, Sync::block); }
  /// Whether it orders groups of warps of a block: it is not a barrier of all their threads.
  [[nodiscard]] constexpr bool orders_groups() const {
    return has(sync, Sync::signal | Sync::await);
  }
  /// Whether it takes effect in one order for all blocks of a launch.
  [[nodiscard]] constexpr bool orders_blocks() const {
    return has(sync, Sync::acquire | Sync::release);
  }
};

template <class Inst, class Slot>
struct SlotInfo {
  std::string_view name;
  Slot Inst::* member;
  std::string_view doc;
  Access access = Access::none;
  Proxy proxy = Proxy::generic;
  ProductRole role = ProductRole::none;
};

/// A slot type that is an operand in memory (SharedOperand and others of slots.h).
template <class Slot>
concept MemorySlot =
    requires { requires Slot::in_memory; } || requires { requires Slot::value_type::in_memory; };

template <class Inst, class Slot>
constexpr SlotInfo<Inst, Slot> slot(std::string_view name, Slot Inst::* member,
                                    std::string_view doc, ProductRole role = ProductRole::none) {
  static_assert(!MemorySlot<Slot>,
                "a slot in memory states what the instruction does there and through which proxy");
  return {name, member, doc, Access::none, Proxy::generic, role};
}
template <class Inst, MemorySlot Slot>
constexpr SlotInfo<Inst, Slot> slot(std::string_view name, Slot Inst::* member,
                                    std::string_view doc, Access access, Proxy proxy,
                                    ProductRole role = ProductRole::none) {
  return {name, member, doc, access, proxy, role};
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

/// Whether an instruction is a matrix product: one of its operands is the left matrix.
template <class Inst>
constexpr bool is_product() {
  bool found = false;
  for_each_slot<Inst>(
      [&](const auto& info, std::size_t) { found = found || info.role == ProductRole::left; });
  return found;
}

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
