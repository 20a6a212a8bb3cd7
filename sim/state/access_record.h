// Which threads accessed a granule of memory since the last barrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isa/base/check.h"
#include "isa/type/dtype.h"
#include "isa/type/reduce_op.h"

namespace tilevm::sim {

/// What an access does with elements. To combine is to replace an element by an operation on it, as
/// one step.
enum class AccessKind : std::uint8_t { read, combine, write };

inline constexpr std::array all_access_kinds{AccessKind::read, AccessKind::combine,
                                             AccessKind::write};

/// Whether accesses of two kinds race, however they combine.
[[nodiscard]] constexpr bool conflict(AccessKind a, AccessKind b) {
  return a != b || a == AccessKind::write;
}

/// How an access that combines does so, as a number: its operation and its type. 0: it does not.
using Combination = std::uint8_t;
/// Combinations of one thread that differ.
inline constexpr Combination mixed_combination = 0xff;
[[nodiscard]] Combination combination(isa::ReduceOp op, const isa::DType& type);
/// Whether elements of a type are combined in memory by some operation.
[[nodiscard]] bool may_combine(const isa::DType& type);
/// "`add` of i32".
[[nodiscard]] std::string combination_text(Combination combination);

/// What an access does, and how if it combines.
struct AccessType {
  AccessKind kind = AccessKind::read;
  Combination combination = 0;

  friend bool operator==(const AccessType&, const AccessType&) = default;
};

/// Whether accesses to one element whose order nothing defines race. Combinations by one operation
/// on one type give the same in any order.
[[nodiscard]] constexpr bool conflict(const AccessType& a, const AccessType& b) {
  return conflict(a.kind, b.kind) ||
         (a.kind == AccessKind::combine && a.combination != b.combination);
}

/// "reads", "combines"; "read", "combined" of what was before.
[[nodiscard]] constexpr std::string_view verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::read:
      return "reads";
    case AccessKind::combine:
      return "combines";
    case AccessKind::write:
      return "writes";
  }
  TILEVM_NO_ENUMERATOR();
}
[[nodiscard]] constexpr std::string_view past_verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::read:
      return "read";
    case AccessKind::combine:
      return "combined";
    case AccessKind::write:
      return "wrote";
  }
  TILEVM_NO_ENUMERATOR();
}

/// For each kind of access: a thread, and a different one if there is one. Two suffice to tell
/// whether a further thread races. Readers are those of the latest statements: a barrier must stand
/// after these.
struct AccessRecord {
  static constexpr std::uint16_t nobody = 0xffff;
  /// A number of no thread of the block, for copies: any thread may make a copy.
  static constexpr std::size_t any_thread = nobody - 1;
  using Parties = std::array<std::uint16_t, 2>;

  std::uint32_t epoch = 0;  ///< epoch of the SharedHistory; an older record is empty
  Parties writers{nobody, nobody}, readers{nobody, nobody}, combiners{nobody, nobody};
  std::array<std::uint32_t, 2> reading{};  ///< the statements (Plan::memory_statements) of readers
  std::uint32_t writing = 0;               ///< the statement of the writers
  std::uint32_t combining : 24 = 0;        ///< epoch of the combiners
  std::uint32_t combination : 8 = 0;       ///< combination of the combiners, or `mixed_combination`

  [[nodiscard]] AccessType combined() const {
    return {AccessKind::combine, static_cast<Combination>(combination)};
  }
};

/// The index of a party that is not `thread`, if there is one.
[[nodiscard]] inline std::optional<std::size_t> other_than(const AccessRecord::Parties& parties,
                                                           std::size_t thread) {
  for (std::size_t i = 0; i < parties.size(); ++i) {
    if (parties[i] != AccessRecord::nobody && parties[i] != thread) return i;
  }
  return std::nullopt;
}

/// Whether a thread's access now races.
[[nodiscard]] inline bool races(const AccessRecord& record, std::size_t thread,
                                const AccessType& type) {
  return other_than(record.writers, thread) ||
         (conflict(type.kind, AccessKind::read) && other_than(record.readers, thread)) ||
         (conflict(type, record.combined()) && other_than(record.combiners, thread));
}

/// The first reader of the latest statement is in slot 0.
inline void add_reader(AccessRecord& record, std::size_t thread, std::uint32_t statement) {
  const auto number = static_cast<std::uint16_t>(thread);
  auto& [first, second] = record.readers;
  const bool is_new = first == AccessRecord::nobody || record.reading[0] != statement;
  if (!is_new) {
    // Another thread of the statement whose first reader is known.
    const bool is_free = second == AccessRecord::nobody || record.reading[1] != statement;
    if (first == number || !is_free) return;
    second = number;
    record.reading[1] = statement;
    return;
  }
  if (first != AccessRecord::nobody && first != number) {
    second = first;
    record.reading[1] = record.reading[0];
  }
  first = number;
  record.reading[0] = statement;
}
/// To writers, or to combiners.
inline void add_party(AccessRecord::Parties& parties, std::size_t thread) {
  const auto number = static_cast<std::uint16_t>(thread);
  auto& [first, second] = parties;
  if (first == AccessRecord::nobody) {
    first = number;
  } else if (first != number && second == AccessRecord::nobody) {
    second = number;
  }
}
inline void add_access(AccessRecord& record, std::size_t thread, std::uint32_t statement,
                       const AccessType& type) {
  switch (type.kind) {
    case AccessKind::read:
      return add_reader(record, thread, statement);
    case AccessKind::combine: {
      const bool is_first = record.combiners[0] == AccessRecord::nobody;
      const bool is_alike = is_first || record.combination == type.combination;
      record.combination = is_alike ? type.combination : mixed_combination;
      add_party(record.combiners, thread);
      record.combining = statement & 0xffffffU;
      return;
    }
    case AccessKind::write:
      add_party(record.writers, thread);
      record.writing = statement;
      return;
  }
}

/// The access that a race is with.
struct ConflictingAccess {
  unsigned thread = 0;
  std::uint32_t statement = 0;
  AccessKind kind = AccessKind::read;
  Combination combination = 0;
};
/// With which access one of this kind by the thread races.
[[nodiscard]] inline ConflictingAccess conflicting_access(const AccessRecord& record,
                                                          std::size_t thread,
                                                          const AccessType& type) {
  if (const auto writer = other_than(record.writers, thread)) {
    return {record.writers[*writer], record.writing, AccessKind::write};
  }
  const auto combiner = other_than(record.combiners, thread);
  if (combiner && conflict(type, record.combined())) {
    return {record.combiners[*combiner], record.combining, AccessKind::combine,
            record.combined().combination};
  }
  const std::size_t reader = other_than(record.readers, thread).value_or(0);
  return {record.readers[reader], record.reading[reader], AccessKind::read};
}

}  // namespace tilevm::sim
