// How many files of the product name an instruction, against the table in
// adding_an_instruction.md: a list of instructions that somebody writes by hand raises it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "tests/architecture/source_tree.h"

namespace {

namespace fs = std::filesystem;
using tilevm::architecture::read_file;
using tilevm::architecture::repository_root;
using tilevm::architecture::source_files;
using tilevm::architecture::SourceFile;
using tilevm::architecture::top_of;

/// Files that may name a matrix product of a new kind.
constexpr std::size_t most_files_of_product = 12;

bool names(std::string_view text, std::string_view word) {
  const auto is_word = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if ((at == 0 || !is_word(at - 1)) && !is_word(at + word.size())) return true;
  }
  return false;
}

std::size_t count_files(std::string_view instruction) {
  return static_cast<std::size_t>(
      std::count_if(source_files().begin(), source_files().end(), [&](const SourceFile& file) {
        return top_of(file.path) != "tests" && names(file.text, instruction);
      }));
}

/// The text of a page, in whichever folder of docs it is.
std::string read_page(std::string_view name) {
  for (const auto& entry : fs::recursive_directory_iterator(repository_root() / "docs")) {
    if (entry.path().filename() == name) return read_file(entry.path());
  }
  return {};
}

/// The rows "| `NAME` | NUMBER |" below the heading of the table.
std::map<std::string, std::size_t> read_table(std::string_view page) {
  std::map<std::string, std::size_t> table;
  std::size_t at = page.find("| instruction | files that name it |");
  while (at != std::string_view::npos && page.substr(at, 1) == "|") {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string_view row = page.substr(at, end - at);
    if (row.starts_with("| `")) {
      const std::size_t close = row.find('`', 3), number = row.find_first_of("0123456789", close);
      REQUIRE(number != std::string_view::npos);
      std::size_t files = 0;
      std::from_chars(row.data() + number, row.data() + row.size(), files);
      table.emplace(row.substr(3, close - 3), files);
    }
    at = end + 1;
  }
  return table;
}

}  // namespace

TEST_CASE("a word is found where it is whole") {
  CHECK(names("std::get_if<Dot>(&x)", "Dot"));
  CHECK(names("Dot", "Dot"));
  CHECK_FALSE(names("DotSparse, make_Dot, Dots", "Dot"));
}

TEST_CASE("as many files name an instruction as the docs say") {
  const auto table = read_table(read_page("adding_an_instruction.md"));
  REQUIRE(table.size() >= 6);
  for (const auto& [instruction, files] : table) {
    CAPTURE(instruction);
    CHECK(count_files(instruction) == files);
  }
  for (const char* product : {"DotSparse", "DotScaled"}) {
    CAPTURE(product);
    REQUIRE(table.contains(product));
    CHECK(table.at(product) <= most_files_of_product);
  }
}
