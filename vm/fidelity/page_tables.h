// The tables of docs/results/fidelity.md, which report.h makes of the records of devices and which
// the command carries along.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilevm::vm::fidelity {

/// The text of the page.
extern const std::string_view embedded_page;

struct PageTable {
  std::string title;               ///< that of its section: "Dot"
  std::vector<std::string> heads;  ///< heads of the columns: "types", "sm_80"
  std::vector<std::vector<std::string>> rows;
};

/// The tables of a page, without the marks of code. Rows have as many cells as there are heads.
[[nodiscard]] std::vector<PageTable> tables_of(std::string_view page);

/// What a number in brackets in a cell stands for; empty if the page does not say.
[[nodiscard]] std::string source_of(std::string_view page, std::string_view number);

/// The rows that have each of the words in their title or cells, in any case, and of the columns
/// that are named after architectures only `architecture`, unless that is empty. Tables without
/// such a row, or without the architecture where others have a column for each, are left out.
[[nodiscard]] std::vector<PageTable> select_rows(std::vector<PageTable> tables,
                                                 const std::vector<std::string>& words,
                                                 std::string_view architecture);

}  // namespace tilevm::vm::fidelity
