// Differences that a program's comments ask for (tests/data/seeded_differences.tile has the words),
// and how they get into emitted text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tilevm::vm {

/// What one comment asks for, and where the difference then is.
struct SeededDifference {
  int line = 0;           ///< line of the program
  std::string statement;  ///< the line without its indentation, as emitted text quotes it
  std::string variable;   ///< variable whose bit is flipped, or empty
  unsigned bit = 0;       ///< bit of the thread's share
  std::string old, by;    ///< what is replaced, if no bit is flipped
  std::size_t thread = 0;
  std::string buffer;    ///< a tensor or `shared`, if the difference is in memory
  std::size_t byte = 0;  ///< byte of the word that differs

  /// Changes the code of the statement in the text of the kernel after `begin`. False: there is no
  /// such statement, or nothing that can be replaced.
  [[nodiscard]] bool apply(std::string& text, std::size_t begin) const;
};

/// What a line of a program asks for. A line that cannot be understood fails the test.
[[nodiscard]] std::optional<SeededDifference> parse_seeded(const std::string& line, int number);

}  // namespace tilevm::vm
