// Tables of what statements of a program did, as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/verify/verify.h"

namespace tilevm::vm {

/// Columns as wide as they must be; the first is aligned left, the others right.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// One more cell in the last row.
  void extend(std::string cell) { rows_.back().push_back(std::move(cell)); }
  /// Whether there is one beside the head.
  [[nodiscard]] bool has_rows() const { return rows_.size() > 1; }

  /// Lines that begin with `indent`, each with its line break.
  [[nodiscard]] std::string text(std::string_view indent = "  ") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// The mnemonic of an instruction by its index in isa::Instruction.
[[nodiscard]] std::string_view mnemonic(std::size_t instruction);

/// "12:5", where a statement begins.
[[nodiscard]] std::string location_of(const isa::VerifiedProgram& program, Span span);

/// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t value);

}  // namespace tilevm::vm
