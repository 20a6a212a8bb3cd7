// Which threads accessed a granule of memory since the last barrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tilevm::sim {

/// For writers and for readers: the first thread, and one different thread if there is one. Two
/// suffice to tell whether a further thread races.
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

/// Adds a thread to the parties; the index of the thread, if it was added.
inline std::optional<std::size_t> add_party(AccessRecord::Parties& parties, std::size_t thread) {
  const auto number = static_cast<std::uint16_t>(thread);
  if (parties[0] == number || parties[1] == number) return std::nullopt;
  for (std::size_t i = 0; i < parties.size(); ++i) {
    if (parties[i] != AccessRecord::nobody) continue;
    parties[i] = number;
    return i;
  }
  return std::nullopt;
}

inline void add_reader(AccessRecord& record, std::size_t thread, std::uint32_t statement) {
  if (const auto slot = add_party(record.readers, thread)) record.reading[*slot] = statement;
}
inline void add_writer(AccessRecord& record, std::size_t thread, std::uint32_t statement) {
  static_cast<void>(add_party(record.writers, thread));
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
