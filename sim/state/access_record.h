// Which threads accessed a granule of memory since the last barrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tilevm::sim {

/// For writers and for readers: a thread, and a different one if there is one. Two suffice to tell
/// whether a further thread races. Of readers, the ones of the latest statements: a barrier must
/// stand after these.
struct AccessRecord {
  static constexpr std::uint16_t nobody = 0xffff;
  /// A number of no thread of the block, for copies: any thread may make a copy.
  static constexpr std::size_t any_thread = nobody - 1;
  using Parties = std::array<std::uint16_t, 2>;

  std::uint32_t epoch = 0;  ///< of the SharedHistory; an older record is empty
  Parties writers{nobody, nobody}, readers{nobody, nobody};
  std::array<std::uint32_t, 2> reading{};  ///< the statements (Plan::memory_statements) of readers
  std::uint32_t writing = 0;               ///< the statement of the writers
};

/// The index of a party that is not `thread`, if there is one.
[[nodiscard]] inline std::optional<std::size_t> other_than(const AccessRecord::Parties& parties,
                                                           std::size_t thread) {
  for (std::size_t i = 0; i < parties.size(); ++i) {
    if (parties[i] != AccessRecord::nobody && parties[i] != thread) return i;
  }
  return std::nullopt;
}

/// Whether a thread that reads or writes now races.
[[nodiscard]] inline bool races(const AccessRecord& record, std::size_t thread, bool writes) {
  return other_than(record.writers, thread) || (writes && other_than(record.readers, thread));
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
inline void add_writer(AccessRecord& record, std::size_t thread, std::uint32_t statement) {
  const auto number = static_cast<std::uint16_t>(thread);
  auto& [first, second] = record.writers;
  if (first == AccessRecord::nobody) {
    first = number;
  } else if (first != number && second == AccessRecord::nobody) {
    second = number;
  }
  record.writing = statement;
}

/// The access that a race is with: its thread, its statement, and whether it was a write.
struct ConflictingAccess {
  unsigned thread = 0;
  std::uint32_t statement = 0;
  bool wrote = false;
};
[[nodiscard]] inline ConflictingAccess conflicting_access(const AccessRecord& record,
                                                          std::size_t thread) {
  if (const auto writer = other_than(record.writers, thread)) {
    return {record.writers[*writer], record.writing, true};
  }
  const std::size_t reader = other_than(record.readers, thread).value_or(0);
  return {record.readers[reader], record.reading[reader], false};
}

}  // namespace tilevm::sim
