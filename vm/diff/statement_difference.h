// How two engines differ in what one statement did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "isa/program/program.h"

namespace tilevm::vm {

/// An element of a register tile that differs.
struct TileDifference {
  isa::VarId var;
  std::size_t thread = 0, place = 0;          ///< the first that differs
  std::uint64_t a = 0, b = 0;                 ///< codes
  std::uint64_t different = 0, elements = 0;  ///< counted in every thread
};
struct ScalarDifference {
  isa::VarId var;
  std::size_t thread = 0;
  std::uint64_t a = 0, b = 0;
};
/// A word of memory of which the engines write other bits, or write other bits of it.
struct WriteDifference {
  /// What one engine wrote; nothing if it did not write the word.
  struct Side {
    std::size_t thread = 0;
    std::uint32_t mask = 0, value = 0;
  };
  std::uint64_t address = 0;  ///< isa::probe_address
  std::optional<Side> a, b;
  std::uint64_t different = 0;  ///< words
};
/// The statement that comes next is another one.
struct PathDifference {
  std::optional<isa::StmtId> a, b;  ///< nothing: the block's records end
};
/// The sums differ, and the values that were kept do not say where.
struct UnknownDifference {
  std::string why;
};
using StatementDifference = std::variant<TileDifference, ScalarDifference, WriteDifference,
                                         PathDifference, UnknownDifference>;

}  // namespace tilevm::vm
