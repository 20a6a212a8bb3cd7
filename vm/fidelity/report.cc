#include "vm/fidelity/report.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/numeric/approximation_evidence.h"
#include "isa/numeric/mma_rules.h"
#include "vm/fidelity/case.h"
#include "vm/fidelity/mma_table.h"
#include "vm/fidelity/page_text.h"

namespace tilevm::vm::fidelity {

namespace {

using isa::DType;

constexpr std::string_view opening = R"(# Fidelity

What the simulator and GPUs agree on, bit for bit, and how that is known. This page is generated from
records of runs: `tilevm record --report tests/data/fidelity_*.jsonl > docs/results/fidelity.md`. A record is
made by `tilevm record --size exhaustive -o FILE` on a machine with a GPU: each case draws operands
that meet the corners of arithmetic (exponents at the limits of alignment, sums that cancel, ties,
subnormals, Inf, NaN, both zeros, ends of integers), runs them on the GPU and in the simulator, and
compares every bit of every output; there is no tolerance. The hashes of what the GPU gave for the first
blocks of each case are kept, and a test repeats them without a GPU (`unit/vm/fidelity_test.cc`).

- *verified, N*: exact, verified on the device of that architecture with N outputs.
- *standard*: exact by standard. The emitted code consists of operations that IEEE 754 or the
  arithmetic of integers defines to the bit, the same on every architecture.
- *measured [n]*: modelled; single vectors agree that were run on a GPU of that architecture.
- *published [n]*: modelled; agrees with what others published of GPUs of that architecture.
- *modelled [n]*: modelled, not verified on hardware. The sources [n] are below the tables.
- *differs*: a run found outputs that are not equal.

No results of sm_88, sm_103, sm_107, sm_110 and sm_121 are published. What is *modelled*, *published* or *verified* of sm_80, sm_100 and
sm_120 is only *modelled* of sm_88, of sm_103, sm_107 and sm_110, and of sm_121 ([targets](../reference/targets.md)).

)";

/// Types that a table shows in one column or row.
std::string group_of(const DType& type) {
  if (type.is_bipolar()) return "bipolar";
  if (type.is_integer()) {
    return type.bits <= 8 ? "`i1`..`u8`" : fmt::format("`i{0}` `u{0}`", type.bits);
  }
  return type.bits <= 8 ? "small floats" : fmt::format("`{}`", to_string(type));
}

std::vector<std::string> type_groups() {
  std::vector<std::string> groups;
  for (const DType& type : measured_types()) {
    const std::string group = group_of(type);
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

/// What was compared of one row and column.
struct Evidence {
  bool all = true;    ///< every case has a record
  bool exact = true;  ///< whether every record is exact
  std::uint64_t least = 0, total = 0;

  void add(std::optional<std::uint64_t> outputs, bool is_exact) {
    all = all && outputs.has_value();
    exact = exact && is_exact;
    if (!outputs) return;
    least = total == 0 ? *outputs : std::min(least, *outputs);
    total += *outputs;
  }
};

class Report {
 public:
  explicit Report(const std::vector<CaseRecord>& records) {
    for (const CaseRecord& record : records) {
      if (record.backend != "sim") by_target_[sm_of(record)][record.name] = &record;
    }
  }

  std::string text() {
    std::string page(opening);
    page += devices();
    page += products();
    page += other_instructions();
    page += approximations();
    page += notes();  // of both tables above
    for (const auto& [sm, records] : by_target_) page += elements(sm);
    return page;
  }

 private:
  using Records = std::map<std::string, const CaseRecord*>;

  static int sm_of(const CaseRecord& record) {
    const Result<isa::Target> target = isa::parse_target(record.target);
    return target ? target->sm : 0;
  }

  [[nodiscard]] const CaseRecord* find(int sm, const Case& each) const {
    const auto records = by_target_.find(sm);
    if (records == by_target_.end()) return nullptr;
    const auto record = records->second.find(each.name);
    return record == records->second.end() ? nullptr : record->second;
  }

  [[nodiscard]] std::string devices() const {
    std::string text = head_text("architecture",
                                 {"device", "driver", "compiler", "cases", "outputs", "different"});
    for (const auto& [sm, records] : by_target_) {
      // Records of several devices of one architecture: one line each.
      std::map<std::vector<std::string>, std::array<std::uint64_t, 3>> lines;
      for (const auto& [name, record] : records) {
        auto& [cases, outputs, different] =
            lines[{record->device, record->driver, record->compiler}];
        ++cases;
        outputs += record->outputs * record->outcomes.size();
        for (const Outcome& outcome : record->outcomes) different += outcome.different;
      }
      for (const auto& [device, counts] : lines) {
        std::vector<std::string> cells = device;
        for (const std::uint64_t count : counts) cells.push_back(grouped(count));
        text += row_text(fmt::format("sm_{}", sm), cells);
      }
    }
    return text + "\n";
  }

  // --- Dot -------------------------------------------------------------------------------------

  static std::vector<int> architectures() {
    std::vector<int> all;
    for (const isa::Target& target : isa::known_targets()) {
      if (isa::modelled_after(target.sm) != target.sm) continue;  // the opening says so
      if (all.empty() || all.back() != target.sm) all.push_back(target.sm);
    }
    return all;
  }

  static std::string product_text(const Case& each) {
    const std::size_t count = each.operands.size();
    const DType &a = each.operands[0].type, &b = each.operands[count - 2].type,
                &c = each.operands[count - 1].type;
    if (each.family == Family::tensor_core && a.is_bipolar()) return "bipolar";
    return fmt::format("`{}` x `{}` + `{}`", to_string(a), to_string(b), to_string(c));
  }

  static std::string shape_of(const Case& each) {
    if (each.family == Family::chain) return "multiply-adds";
    return each.name.substr(each.name.rfind(' ') + 1);
  }

  /// The number of a source in the list below the tables.
  std::size_t note(std::string_view source) {
    auto found = std::find(sources_.begin(), sources_.end(), source);
    if (found == sources_.end()) found = sources_.insert(found, source);
    return static_cast<std::size_t>(found - sources_.begin()) + 1;
  }

  /// What is known without a record.
  std::string unverified(const Case& each, int sm) {
    if (is_approximation(each)) {
      const isa::Target target{sm, false};
      const auto [evidence, source] = each.family == Family::quotient
                                          ? isa::quotient_evidence(target)
                                          : isa::approximation_evidence(target);
      return known(evidence, source);
    }
    const bool sparse = each.family == Family::sparse,
               warp_group = each.family == Family::warp_group;
    if (!sparse && !warp_group && each.family != Family::tensor_core) return "standard";
    if (each.operands[0].type.is_bipolar()) return "standard";
    const std::size_t count = each.operands.size();
    const auto rule =
        isa::mma_rule({.target = isa::fullest_target(sm),
                       .a = each.operands[0].type,
                       .b = each.operands[count - 2].type,
                       .accumulator = each.operands[count - 1].type,
                       .family = warp_group ? isa::MmaFamily::wgmma : isa::MmaFamily::mma,
                       .sparse = sparse});
    if (!rule) return "none";
    return known(*rule);
  }

  std::string known(const isa::MmaRule& rule) { return known(rule.evidence, rule.source); }
  std::string known(isa::Evidence evidence, std::string_view source) {
    switch (evidence) {
      case isa::Evidence::by_definition:
        return "standard";
      case isa::Evidence::measured:
        return fmt::format("measured [{}]", note(source));
      case isa::Evidence::published:
        return fmt::format("published [{}]", note(source));
      case isa::Evidence::claimed:
        break;
    }
    return fmt::format("modelled [{}]", note(source));
  }

  /// Cases of the same types in one row.
  std::string product_row(const std::string& types, const std::vector<const Case*>& cases) {
    std::vector<std::string> shapes, cells;
    for (const Case* each : cases) {
      const std::string shape = shape_of(*each);
      if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
    }
    cells.push_back(fmt::format("{}", fmt::join(shapes, ", ")));
    for (const int sm : architectures()) {
      Evidence evidence;
      const Case* last = nullptr;
      for (const Case* each : cases) {
        if (each->min_sm > sm) continue;
        last = each;
        const CaseRecord* record = find(sm, *each);
        evidence.add(record ? std::optional(record->outputs) : std::nullopt,
                     record == nullptr || record->exact());
      }
      cells.push_back(last == nullptr   ? "none"
                      : !evidence.exact ? "**differs**"
                      : evidence.all    ? "verified, " + grouped(evidence.total)
                                        : unverified(*last, sm));
    }
    return row_text(types, cells);
  }

  std::string products() {
    std::vector<std::pair<std::string, std::vector<const Case*>>> rows;
    std::vector<Case> cases = dot_cases();
    std::ranges::move(async_dot_cases(), std::back_inserter(cases));
    for (const Case& each : cases) {
      const std::string types =
          product_text(each) + (each.family == Family::chain        ? ", chain"
                                : each.family == Family::sparse     ? ", sparse"
                                : each.family == Family::warp_group ? ", of warp groups"
                                                                    : "");
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const auto& other) { return other.first == types; });
      if (row == rows.end()) {
        rows.push_back({types, {&each}});
      } else {
        row->second.push_back(&each);
      }
    }
    std::vector<std::string> columns{"instructions"};
    for (const int sm : architectures()) columns.push_back(fmt::format("sm_{}", sm));
    std::string text = "## Dot\n\n" + head_text("types", columns);
    for (const auto& [types, row] : rows) text += product_row(types, row);
    return text + "\n*none*: there is no such instruction.\n\n";
  }

  // --- Approximate instructions ----------------------------------------------------------------

  static bool is_approximation(const Case& each) {
    return each.family == Family::approximation || each.family == Family::quotient;
  }

  std::string approximations() {
    std::vector<std::string> columns{"type"};
    for (const int sm : architectures()) columns.push_back(fmt::format("sm_{}", sm));
    std::string text =
        "## Approximate instructions\n\nThe bits of PTX's instructions "
        "([approximations.md](../reference/approximations.md)).\n\n" +
        head_text("instructions", columns);
    for (const Case& each : element_cases()) {
      if (!is_approximation(each)) continue;
      std::vector<std::string> names, cells{fmt::format("`{}`", to_string(each.operands[0].type))};
      for (const Part& result : each.results) {
        names.push_back(fmt::format("`{}`", result.instruction));
      }
      for (const int sm : architectures()) {
        const CaseRecord* record = find(sm, each);
        cells.push_back(record == nullptr ? unverified(each, sm)
                        : record->exact() ? "verified, " + grouped(record->outputs)
                                          : "**differs**");
      }
      text += row_text(fmt::format("{}", fmt::join(names, ", ")), cells);
    }
    return text + "\n";
  }

  std::string other_instructions() {
    std::string text =
        "## Instructions that no Dot uses\n\n`DotScaled` uses `mma` with scales, but for "
        "`mxf4nvf4, "
        "ue8m0`; no program reaches the others. `sim/mma/mma_model.h` computes them.\n\n" +
        head_text("instruction", {"a, b + c", "architectures", "known"});
    for (const MmaRow& row : mma_rows_by_source()) {
      text += row_text(row.instruction, {row.types, row.architectures, known(row.rule)});
    }
    return text + "\n";
  }

  [[nodiscard]] std::string notes() const {
    std::string text;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      text += fmt::format("- [{}]: {}.\n", i + 1, sources_[i]);
    }
    return text;
  }

  // --- Element by element ----------------------------------------------------------------------

  /// The row of a result: of casts the destination.
  static std::string label_of(const Case& each, const Part& result) {
    return each.family == Family::cast ? group_of(result.type)
                                       : fmt::format("`{}`", result.instruction);
  }

  /// What rows that say the same are called together.
  static std::string head_of(const std::vector<std::string>& labels) {
    const std::vector<std::string> groups = type_groups();
    if (labels == groups) return "`Cast` to any type";
    const bool casts = std::find(groups.begin(), groups.end(), labels[0]) != groups.end();
    return fmt::format("{}{}", casts ? "`Cast` to " : "", fmt::join(labels, ", "));
  }

  [[nodiscard]] std::string elements(int sm) const {
    std::vector<std::string> labels;
    std::map<std::string, std::map<std::string, Evidence>> table;  // by label, by column
    for (const Case& each : element_cases()) {
      if (is_approximation(each)) continue;
      const CaseRecord* record = find(sm, each);
      for (const Part& result : each.results) {
        const std::string label = label_of(each, result);
        if (!table.contains(label)) labels.push_back(label);
        Evidence& evidence = table[label][group_of(each.operands[0].type)];
        evidence.add(outputs_of(record, result.name), is_exact(record, result.name));
      }
    }
    std::string text = fmt::format(
        "\n## Element by element, sm_{}\n\nOutputs of each pair of types, of each instruction and "
        "type: the smallest number of those that share a\ncell. Types are those of the operands. "
        "{} pairs of types are cast, without those of scales: standard. On all other "
        "architectures, and where a\ncell says so: "
        "standard. The functions are fixed sequences of IEEE 754 operations "
        "([arithmetic.md](../reference/arithmetic.md)).\n\n",
        sm, grouped(measured_types().size() * measured_types().size()));
    const std::vector<std::string> columns = type_groups();
    text += head_text("instruction", columns);
    // Neighbours that say the same share a row.
    for (std::size_t i = 0; i < labels.size();) {
      const std::vector<std::string> cells = cells_of(table[labels[i]], columns);
      std::vector<std::string> names;
      while (i < labels.size() && cells_of(table[labels[i]], columns) == cells) {
        names.push_back(labels[i++]);
      }
      text += row_text(head_of(names), cells);
    }
    return text;
  }

  static const Outcome* outcome_of(const CaseRecord* record, const std::string& name) {
    if (record == nullptr) return nullptr;
    const auto found = std::find_if(record->outcomes.begin(), record->outcomes.end(),
                                    [&](const Outcome& outcome) { return outcome.name == name; });
    return found == record->outcomes.end() ? nullptr : &*found;
  }

  static std::optional<std::uint64_t> outputs_of(const CaseRecord* record,
                                                 const std::string& name) {
    if (outcome_of(record, name) == nullptr) return std::nullopt;
    return record->outputs;
  }

  static bool is_exact(const CaseRecord* record, const std::string& name) {
    const Outcome* const outcome = outcome_of(record, name);
    return outcome == nullptr || outcome->different == 0;
  }

  static std::vector<std::string> cells_of(const std::map<std::string, Evidence>& row,
                                           const std::vector<std::string>& columns) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) {
      const auto found = row.find(column);
      cells.push_back(found == row.end()     ? "undefined"
                      : !found->second.exact ? "**differs**"
                      : found->second.all    ? grouped(found->second.least)
                                             : "standard");
    }
    return cells;
  }

  std::map<int, Records> by_target_;
  std::vector<std::string_view> sources_;
};

}  // namespace

std::string markdown_report(const std::vector<CaseRecord>& records) {
  return Report(records).text();
}

}  // namespace tilevm::vm::fidelity
