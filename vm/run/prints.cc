#include "vm/run/prints.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/syntax/literals.h"
#include "isa/type/number.h"
#include "vm/data/tensor.h"
#include "vm/data/value_json.h"

namespace tilevm::vm {
namespace {

/// Numbers of a vector on one line.
constexpr std::int64_t vector_columns = 16;

/// One record, and whose it is.
struct PrintRecord {
  std::size_t launch;
  int kernel;
  std::span<const std::int64_t> block;  ///< index of the block, as many entries as the grid has
  const isa::PrintSite* site;
  const std::uint8_t* elements;

  [[nodiscard]] std::uint64_t code(std::int64_t k) const {
    const auto at = static_cast<std::size_t>(k) * site->element_bytes;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < site->element_bytes; ++i) {
      bits |= std::uint64_t{elements[at + i]} << 8 * i;
    }
    return bits;
  }
  [[nodiscard]] std::string text(std::int64_t k) const {
    if (site->scalar == isa::ScalarKind::boolean) return code(k) != 0 ? "true" : "false";
    return isa::format_value(site->dtype, code(k));
  }

  friend bool operator==(const PrintRecord& a, const PrintRecord& b) {
    return a.launch == b.launch && a.site == b.site && std::ranges::equal(a.block, b.block) &&
           std::equal(a.elements, a.elements + a.site->record_bytes - isa::print_header_bytes,
                      b.elements);
  }
};

std::vector<PrintRecord> records_of(const isa::VerifiedProgram& program, const Prints& prints) {
  std::vector<PrintRecord> all;
  for (std::size_t launch = 0; launch < prints.size(); ++launch) {
    const int kernel = prints[launch].kernel;
    const std::size_t rank = program.kernel(kernel).grid.size();
    for (const auto& [block, records] : prints[launch].blocks) {
      const std::span<const std::int64_t> index = std::span(block).first(rank);
      isa::for_each_record(records, program.info(kernel).prints,
                           [&](const isa::PrintSite& site, const std::uint8_t* elements) {
                             all.push_back({launch, kernel, index, &site, elements});
                           });
    }
  }
  return all;
}

bool is_cut(const isa::PrintSite& site, std::size_t dim) {
  return site.shown[dim] != site.shape[dim];
}

/// The elements of a tile as lines.
class TileText {
 public:
  explicit TileText(const PrintRecord& record) : site_(*record.site) {
    const std::int64_t count = isa::element_count(site_.shown);
    for (std::int64_t k = 0; k < count; ++k) cells_.push_back(record.text(k));
    for (const std::string& cell : cells_) width_ = std::max(width_, cell.size());
  }

  std::string lines() {
    const std::size_t rank = site_.shown.size();
    if (rank <= 1) {
      add_vector();
      return std::move(text_);
    }
    const isa::Shape leading(site_.shown.begin(), site_.shown.end() - 2);
    const std::int64_t slices = isa::element_count(leading);
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      if (rank > 2) add_heading(isa::unravel(slice, leading));
      add_matrix(slice * site_.shown[rank - 2] * site_.shown[rank - 1], rank > 2 ? "    " : "  ");
    }
    return std::move(text_);
  }

 private:
  /// Whether something was left out before index i of a dimension.
  [[nodiscard]] bool gap_before(std::size_t dim, std::int64_t i) const {
    return is_cut(site_, dim) && 2 * i == site_.shown[dim];
  }

  [[nodiscard]] std::string cell(std::int64_t k) const {
    return fmt::format("{:>{}}", cells_[static_cast<std::size_t>(k)], width_);
  }

  void add_vector() {
    const std::int64_t count = isa::element_count(site_.shown);
    for (std::int64_t k = 0; k < count; ++k) {
      const bool begins = k % vector_columns == 0;
      if (begins) text_ += k == 0 ? "  " : "\n  ";
      if (!begins) text_ += "  ";
      if (!site_.shown.empty() && gap_before(0, k)) text_ += "...  ";
      text_ += cell(k);
    }
    text_ += '\n';
  }

  void add_heading(const isa::Index& shown) {
    isa::Index index = shown;
    bool gap = false;
    for (std::size_t d = 0; d < shown.size(); ++d) {
      index[d] = site_.tile_index(d, shown[d]);
      const bool first_of_rest = std::all_of(shown.begin() + static_cast<std::ptrdiff_t>(d) + 1,
                                             shown.end(), [](std::int64_t i) { return i == 0; });
      gap = gap || (gap_before(d, shown[d]) && first_of_rest);
    }
    if (gap) text_ += "  ...\n";
    text_ += fmt::format("  [{}]:\n", fmt::join(index, ", "));
  }

  void add_matrix(std::int64_t first, std::string_view indent) {
    const std::size_t rank = site_.shown.size();
    const std::int64_t rows = site_.shown[rank - 2], columns = site_.shown[rank - 1];
    for (std::int64_t r = 0; r < rows; ++r) {
      if (gap_before(rank - 2, r)) text_ += fmt::format("{}...\n", indent);
      text_ += indent;
      for (std::int64_t c = 0; c < columns; ++c) {
        if (c > 0) text_ += "  ";
        if (gap_before(rank - 1, c)) text_ += "...  ";
        text_ += cell(first + r * columns + c);
      }
      text_ += '\n';
    }
  }

  const isa::PrintSite& site_;
  std::vector<std::string> cells_;
  std::size_t width_ = 0;
  std::string text_;
};

int line_of(const isa::VerifiedProgram& program, const isa::PrintSite& site) {
  return program.source().locate(site.span.begin).line;
}

std::string format_record(const isa::VerifiedProgram& program, const PrintRecord& record) {
  const isa::PrintSite& site = *record.site;
  std::string head = fmt::format("line {}, {} block [{}]", line_of(program, site),
                                 program.kernel(record.kernel).name, fmt::join(record.block, ", "));
  if (!site.label.empty()) head += ", " + frontend::quote(site.label);
  if (site.scalar) {
    return fmt::format("{}: {}: {} = {}\n", head, site.name, isa::to_string(*site.scalar),
                       record.text(0));
  }
  return fmt::format("{}: {}: {}\n{}", head, site.name, format_type(site.dtype, site.shape),
                     TileText(record).lines());
}

std::string format_dropped(const isa::VerifiedProgram& program, const isa::LaunchPrints& launch) {
  if (launch.dropped == 0 && !launch.dropped_unknown) return {};
  const std::string number = launch.dropped_unknown ? "some" : fmt::format("{}", launch.dropped);
  return fmt::format(
      "{} print{} of {} not shown: a block prints {} KiB at most (less where many of more than "
      "1024 blocks print), a launch {} MiB\n",
      number, launch.dropped == 1 ? "" : "s", program.kernel(launch.kernel).name,
      isa::max_block_print_bytes >> 10, isa::max_launch_print_bytes >> 20);
}

Json value_of(const PrintRecord& record, std::int64_t k) {
  if (record.site->scalar == isa::ScalarKind::boolean) return record.code(k) != 0;
  return code_json(record.site->dtype, record.code(k));
}

template <class Range>
Json list_of(const Range& numbers) {
  Json list = Json::array();
  for (const std::int64_t number : numbers) list.push(number);
  return list;
}

Json record_json(const isa::VerifiedProgram& program, const PrintRecord& record) {
  const isa::PrintSite& site = *record.site;
  Json object = Json::object();
  object.set("kernel", program.kernel(record.kernel).name).set("line", line_of(program, site));
  object.set("block", list_of(record.block)).set("name", site.name);
  if (!site.label.empty()) object.set("label", site.label);
  if (site.scalar) {
    object.set("dtype", isa::to_string(*site.scalar)).set("value", value_of(record, 0));
    return object;
  }
  Json values = Json::array();
  const std::int64_t count = isa::element_count(site.shown);
  for (std::int64_t k = 0; k < count; ++k) values.push(value_of(record, k));
  object.set("dtype", isa::to_string(site.dtype)).set("shape", list_of(site.shape));
  object.set("shown", list_of(site.shown)).set("values", std::move(values));
  return object;
}

}  // namespace

std::size_t count_prints(const isa::VerifiedProgram& program, const Prints& prints) {
  return records_of(program, prints).size();
}

std::string format_prints(const isa::VerifiedProgram& program, const Prints& prints) {
  std::string text;
  std::size_t launch = 0;
  const auto end_launches = [&](std::size_t end) {
    for (; launch < end; ++launch) text += format_dropped(program, prints[launch]);
  };
  for (const PrintRecord& record : records_of(program, prints)) {
    end_launches(record.launch);
    text += format_record(program, record);
  }
  end_launches(prints.size());
  return text;
}

Json prints_json(const isa::VerifiedProgram& program, const Prints& prints) {
  Json list = Json::array();
  for (const PrintRecord& record : records_of(program, prints)) {
    list.push(record_json(program, record));
  }
  return list;
}

Json dropped_json(const Prints& prints) {
  std::uint64_t dropped = 0;
  for (const isa::LaunchPrints& launch : prints) {
    if (launch.dropped_unknown) return {};
    dropped += launch.dropped;
  }
  return dropped;
}

std::optional<PrintDifference> compare_prints(const isa::VerifiedProgram& program, const Prints& a,
                                              const Prints& b) {
  const std::vector<PrintRecord> in_a = records_of(program, a), in_b = records_of(program, b);
  const auto [at_a, at_b] = std::ranges::mismatch(in_a, in_b);
  const bool equal = at_a == in_a.end() && at_b == in_b.end();
  if (!equal) {
    return PrintDifference{at_a == in_a.end() ? "nothing\n" : format_record(program, *at_a),
                           at_b == in_b.end() ? "nothing\n" : format_record(program, *at_b)};
  }
  const std::size_t launches = std::max(a.size(), b.size());
  for (std::size_t i = 0; i < launches; ++i) {
    const isa::LaunchPrints none;
    const isa::LaunchPrints &of_a = i < a.size() ? a[i] : none, &of_b = i < b.size() ? b[i] : none;
    if (of_a.dropped == of_b.dropped && of_a.dropped_unknown == of_b.dropped_unknown) continue;
    return PrintDifference{format_dropped(program, of_a), format_dropped(program, of_b)};
  }
  return std::nullopt;
}

}  // namespace tilevm::vm
