#include "vm/fidelity/page_tables.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace tilevm::vm::fidelity {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// The cells of a line `| a | b |`, without the marks of code.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  line.remove_prefix(1);
  for (std::size_t end = line.find('|'); end != std::string_view::npos; end = line.find('|')) {
    std::string cell(line.substr(0, end));
    std::erase(cell, '`');
    const std::size_t first = cell.find_first_not_of(' ');
    const std::size_t last = cell.find_last_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    line.remove_prefix(end + 1);
  }
  return cells;
}

/// Calls f(line) for every line.
template <class F>
void for_each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    f(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

bool is_architecture(std::string_view head) { return head.starts_with("sm_"); }

bool has_all(const PageTable& table, const std::vector<std::string>& row,
             const std::vector<std::string>& words) {
  const std::string text = lower(fmt::format("{} {}", table.title, fmt::join(row, " ")));
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return text.find(lower(word)) != std::string::npos;
  });
}

/// Leaves out the columns of other architectures. False: the table has columns for architectures,
/// and none for this one.
bool keep_architecture(PageTable& table, std::string_view architecture) {
  const auto& heads = table.heads;
  if (architecture.empty() || std::none_of(heads.begin(), heads.end(), is_architecture))
    return true;
  if (std::find(heads.begin(), heads.end(), architecture) == heads.end()) return false;
  for (std::size_t c = heads.size(); c-- > 0;) {
    if (!is_architecture(heads[c]) || heads[c] == architecture) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.heads.erase(table.heads.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
  return true;
}

}  // namespace

std::vector<PageTable> tables_of(std::string_view page) {
  std::vector<PageTable> tables;
  std::string title;
  bool inside = false;
  for_each_line(page, [&](std::string_view line) {
    if (line.starts_with("#")) title = line.substr(std::min(line.find(' ') + 1, line.size()));
    if (!line.starts_with("|")) {
      inside = false;
    } else if (line.starts_with("|--")) {
      return;
    } else if (std::vector<std::string> cells = cells_of(line); inside) {
      cells.resize(tables.back().heads.size());
      tables.back().rows.push_back(std::move(cells));
    } else {
      inside = true;
      tables.push_back({title, std::move(cells), {}});
    }
  });
  return tables;
}

std::string source_of(std::string_view page, std::string_view number) {
  const std::string begin = fmt::format("- [{}]: ", number);
  std::string source;
  for_each_line(page, [&](std::string_view line) {
    if (line.starts_with(begin)) source = line.substr(begin.size());
  });
  return source;
}

std::vector<PageTable> select_rows(std::vector<PageTable> tables,
                                   const std::vector<std::string>& words,
                                   std::string_view architecture) {
  std::vector<PageTable> selected;
  for (PageTable& table : tables) {
    std::erase_if(table.rows, [&](const auto& row) { return !has_all(table, row, words); });
    if (table.rows.empty() || !keep_architecture(table, architecture)) continue;
    selected.push_back(std::move(table));
  }
  return selected;
}

}  // namespace tilevm::vm::fidelity
