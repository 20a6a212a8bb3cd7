// The first statement that two engines execute differently, and how they differ in what it did.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isa/program/probe.h"
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
    std::size_t thread = 0;  ///< the one that wrote the first differing bit
    std::uint32_t mask = 0, value = 0;
  };
  std::uint64_t address = 0;  ///< isa::probe_address
  unsigned bit = 0;           ///< the first of the word that differs
  std::optional<Side> a{}, b{};
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

/// A loop around the statement.
struct LoopTrip {
  isa::StmtId loop;
  std::uint64_t iteration = 0;       ///< iteration, from 1 on
  std::optional<isa::Scalar> value;  ///< value of its variable, where the simulator ran
};

/// The first difference.
struct BisectedStatement {
  std::size_t launch = 0;
  int kernel = 0;
  std::uint64_t block = 0;                    ///< linear, x fastest
  std::array<std::int64_t, 3> block_index{};  ///< x, y, z
  isa::StmtId statement;                      ///< statement as engine a executes it
  std::uint32_t record = 0;                   ///< number of the record in the block
  std::vector<LoopTrip> loops;                ///< outer before inner
  StatementDifference what = UnknownDifference{};
  isa::StmtId after_loop;  ///< the loop whose end makes the record (isa::AfterLoop), if one does
  isa::ProbeDump before;   ///< what the simulator read, if it ran
};

}  // namespace tilevm::vm
