#include "vm/run/unwritten.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/data/tensor.h"

namespace tilevm::vm {

namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Notes the grid of a kernel that stores to the tensor: the likeliest cause.
void note_grid(const isa::VerifiedProgram& program, int number,
               const std::array<std::int64_t, 3>& grid, Diagnostic& diagnostic) {
  const isa::Kernel& kernel = program.kernel(number);
  for (std::size_t d = 0; d < kernel.grid.size(); ++d) {
    const Span span = kernel.grid[d].span();
    const std::string_view text = program.source().text(span);
    const bool is_number = text == fmt::format("{}", grid[d]);
    std::string note = fmt::format("extent {} of the grid of `{}` is ", d, kernel.name);
    note += is_number ? std::string(text) : fmt::format("`{}` = {}", text, grid[d]);
    if (const std::string better = rounded_up(text); !better.empty()) {
      note += fmt::format(", rounded down; `{}` has a block for what is left over", better);
    }
    add_note(diagnostic, std::move(note), span);
  }
}

}  // namespace

std::string rounded_up(std::string_view quotient) {
  const std::size_t slash = quotient.find('/');
  if (slash == std::string_view::npos || quotient.find('/', slash + 1) != std::string_view::npos) {
    return {};
  }
  const std::string_view whole = trimmed(quotient.substr(0, slash));
  const std::string_view part = trimmed(quotient.substr(slash + 1));
  const auto is_plain = [](std::string_view text) {
    return !text.empty() && text.find_first_of("+-()%<>&|^~ ") == std::string_view::npos;
  };
  if (!is_plain(whole) || !is_plain(part)) return {};
  return fmt::format("({} + {} - 1) / {}", whole, part, part);
}

Uncovered find_uncovered(std::vector<sim::BitRange> ranges, std::size_t elements,
                         unsigned element_bits) {
  std::sort(ranges.begin(), ranges.end(),
            [](const sim::BitRange& a, const sim::BitRange& b) { return a.begin < b.begin; });
  Uncovered found;
  // Counts the elements that the gap [begin, end) meets, from element `next` on.
  std::uint64_t next = 0;
  const auto add_gap = [&](std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    const std::uint64_t first = std::max(next, begin / element_bits);
    const std::uint64_t last = std::min<std::uint64_t>((end - 1) / element_bits + 1, elements);
    if (first >= last) return;
    if (found.count == 0) found.first = static_cast<std::size_t>(first);
    found.count += static_cast<std::size_t>(last - first);
    next = last;
  };
  std::uint64_t covered = 0;
  for (const sim::BitRange& range : ranges) {
    add_gap(covered, range.begin);
    covered = std::max(covered, range.end);
  }
  add_gap(covered, std::uint64_t{elements} * element_bits);
  return found;
}

void StoreLog::add(const isa::Launch& launch, const sim::Report& report) {
  Launched& launched = launches_.emplace_back();
  launched.kernel = launch.kernel;
  launched.grid = report.grid;
  for (const auto& argument : launch.arguments) {
    const auto* tensor = std::get_if<int>(&argument);
    if (tensor != nullptr) launched.tensors.push_back(static_cast<std::size_t>(*tensor));
  }
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    if (t >= report.stored.size() || !report.stored[t].known) {
      tensors_[t].unknown = true;
      continue;
    }
    const std::vector<sim::BitRange>& ranges = report.stored[t].ranges;
    tensors_[t].stored.insert(tensors_[t].stored.end(), ranges.begin(), ranges.end());
  }
  for (const sim::StoreUse& use : report.stores) {
    sim::StoreUse& known =
        stores_.try_emplace(use.span.begin, sim::StoreUse{use.span}).first->second;
    known.executed += use.executed;
    known.outside += use.outside;
  }
  for (const sim::OutsideUse& use : report.outside) {
    const auto [known, fresh] = outside_.try_emplace({use.span.begin, use.indexed}, use);
    if (!fresh) known->second.count += use.count;
  }
}

std::optional<Uncovered> StoreLog::unwritten(const Entry& entry, std::size_t t) const {
  const Entry::Tensor& tensor = entry.tensors[t];
  if (!tensor.output || tensor.input || tensors_[t].unknown) return std::nullopt;
  const auto elements = static_cast<std::size_t>(*checked_count(tensor.shape));
  return find_uncovered(tensors_[t].stored, elements, tensor.dtype.bits);
}

void StoreLog::report_unwritten(const isa::VerifiedProgram& program, const Entry& entry,
                                bool required, Diagnostics& diagnostics) const {
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const Entry::Tensor& tensor = entry.tensors[t];
    const std::optional<Uncovered> left = unwritten(entry, t);
    if (!left || left->count == 0) continue;
    const Uncovered& uncovered = *left;
    const auto elements = static_cast<std::size_t>(*checked_count(tensor.shape));
    Diagnostic diagnostic{.code = Code::unwritten_output,
                          .severity = required ? Severity::error : Severity::warning,
                          .span = {},
                          .message = {},
                          .fix = {},
                          .notes = {}};
    diagnostic.message = fmt::format(
        "{} of {} elements of output `{}` are never written, first `{}{}`; they hold what memory "
        "held before",
        uncovered.count, elements, tensor.name, tensor.name,
        format_index(tensor.shape, uncovered.first));
    for (const Launched& launched : launches_) {
      const bool takes =
          std::find(launched.tensors.begin(), launched.tensors.end(), t) != launched.tensors.end();
      if (!takes) continue;
      if (diagnostic.span == Span{}) diagnostic.span = program.kernel(launched.kernel).span;
      note_grid(program, launched.kernel, launched.grid, diagnostic);
    }
    for (const auto& [offset, store] : stores_) {
      if (store.outside == 0) continue;
      add_note(diagnostic,
               fmt::format("of {} executions of this store, {} had the whole tile outside of the "
                           "view, where nothing is stored",
                           store.executed, store.outside),
               store.span);
    }
    diagnostics.report(std::move(diagnostic));
  }
  for (const auto& [offset, store] : stores_) {
    if (store.outside < store.executed) continue;
    diagnostics.warning(
        Code::store_outside, store.span,
        fmt::format("this store never meets its view: {} its whole tile was outside, where nothing "
                    "is stored",
                    store.executed == 1
                        ? "the one time that it ran,"
                        : fmt::format("each of the {} times that it ran,", store.executed)));
  }
}

void StoreLog::report_outside(Diagnostics& diagnostics) const {
  for (const auto& [key, use] : outside_) {
    const std::string what =
        use.indexed ? fmt::format("the index of `{}` has {} element{} outside of `{}`",
                                  use.mnemonic, use.count, use.count == 1 ? "" : "s", use.view)
                    : fmt::format("`{}` names an index outside of `{}` {} time{}", use.mnemonic,
                                  use.view, use.count, use.count == 1 ? "" : "s");
    auto& warning = diagnostics.warning(
        Code::index_outside, use.span,
        fmt::format("{}, first {} in block [{}], where dimension {} has extent {}: what is loaded "
                    "there is zero, and nothing is stored",
                    what, use.index, fmt::join(use.block, ", "), use.dim, use.extent));
    add_note(warning,
             use.indexed ? "check the data that the index comes from"
                         : "if that is meant, test the index (`if`) before the access, or give it "
                           "a colon and the tile a dimension of extent 1; else check the data that "
                           "it comes from");
  }
}

}  // namespace tilevm::vm
