#include "vm/fidelity/mma_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/dot/mma_shapes.h"

namespace tilevm::vm::fidelity {

namespace {

using isa::DType;
using isa::MmaClass;
using isa::MmaMethod;
using isa::MmaRounding;
using isa::MmaRule;
using isa::MmaScaling;
using isa::Target;

bool is_of_dot(const MmaClass& each) {
  return each.family == isa::MmaFamily::mma && !each.sparse && each.scaling == MmaScaling::none &&
         !isa::mma_shapes(each.target, each.a, each.b, each.accumulator).empty();
}

std::vector<MmaClass> classes_of(bool of_dot) {
  std::vector<MmaClass> classes = isa::mma_classes();
  std::erase_if(classes, [&](const MmaClass& each) { return is_of_dot(each) != of_dot; });
  return classes;
}

template <class T>
void add_once(std::vector<T>& list, const T& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

std::string code(const DType& type) { return fmt::format("`{}`", to_string(type)); }

/// Operands that may meet, and what they are added to.
struct Operands {
  std::vector<DType> types;
  std::vector<std::string> accumulators;

  [[nodiscard]] bool has(const DType& type) const {
    return std::find(types.begin(), types.end(), type) != types.end();
  }

  [[nodiscard]] std::string text() const {
    std::vector<std::string> names;
    for (const DType& type : types) names.push_back(code(type));
    return fmt::format("{}{} + {}", types.size() > 1 ? "any of " : "", fmt::join(names, ", "),
                       fmt::join(accumulators, " or "));
  }
};

/// "`f16` + `f32` or `f16`; any of `f8e4m3`, `f8e5m2` + `f32`"
std::string types_text(const std::vector<MmaClass>& classes) {
  std::vector<Operands> groups;
  for (const MmaClass& each : classes) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Operands& other) {
      return other.has(each.a) || other.has(each.b);
    });
    if (group == groups.end()) group = groups.insert(group, Operands{});
    add_once(group->types, each.a);
    add_once(group->types, each.b);
    add_once(group->accumulators, code(each.accumulator));
  }
  std::vector<std::string> texts;
  for (const Operands& group : groups) texts.push_back(group.text());
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// With the suffix where one of the classes needs it.
std::string architecture(const std::vector<MmaClass>& classes) {
  const Target target = classes.front().target;
  const bool needs_suffix = std::any_of(classes.begin(), classes.end(), [&](const MmaClass& each) {
    MmaClass plain = each;
    plain.target = {each.target.sm, false};
    return each.family != isa::MmaFamily::mma || !mma_rule(plain);
  });
  return to_string(Target{target.sm, needs_suffix});
}

using Key = std::string (*)(const MmaRule&);

/// Classes of one architecture and key share a row. Architectures with the same types share a row,
/// too.
std::vector<MmaRow> make_rows(const std::vector<MmaClass>& classes, Key key) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<MmaClass>> by_key;
  for (const MmaClass& each : classes) {
    const std::string text = instruction_name(each) + to_string(each.target) + key(*mma_rule(each));
    add_once(order, text);
    by_key[text].push_back(each);
  }
  std::vector<std::pair<std::string, MmaRow>> rows;
  for (const std::string& text : order) {
    const std::vector<MmaClass>& group = by_key[text];
    const MmaClass& first = group.front();
    const MmaRule rule = *mma_rule(first);
    const MmaRow row{fmt::format("`{}`", instruction_name(first)), types_text(group),
                     architecture(group), rule};
    const std::string same = row.instruction + row.types + key(rule);
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const auto& other) { return other.first == same; });
    if (found == rows.end()) {
      rows.emplace_back(same, row);
    } else {
      found->second.architectures += ", " + row.architectures;
    }
  }
  std::vector<MmaRow> result;
  for (const auto& [same, row] : rows) result.push_back(row);
  return result;
}

/// The floor for f32 results; the floor for f16 results is higher by the difference of the least
/// exponents.
int f32_floor(const MmaRule& rule) {
  return rule.min_exponent - (rule.output == MmaRounding::f16_nearest_even ? 126 - 14 : 0);
}

std::string block_text(const MmaRule& rule) {
  if (rule.method == MmaMethod::fp8_split) return "in two halves";
  if (rule.group != 0) return fmt::format("{}, groups of {}", rule.block, rule.group);
  return std::to_string(rule.block);
}

std::string fraction_text(const MmaRule& rule) {
  const bool is_kept = rule.output == MmaRounding::e8m13_toward_zero;
  return fmt::format("{}{}", rule.fraction_bits, is_kept ? ", as the result" : "");
}

std::string parameters(const MmaRule& rule) {
  const int floor = f32_floor(rule);
  return fmt::format("{} | {} | {}, {}", block_text(rule), fraction_text(rule), floor,
                     floor + 126 - 14);
}

}  // namespace

std::vector<MmaRow> mma_rows_by_source() {
  return make_rows(classes_of(false), [](const MmaRule& rule) { return std::string(rule.source); });
}

std::string mma_rules_table(bool of_dot) {
  std::vector<MmaClass> classes = classes_of(of_dot);
  std::erase_if(classes, [](const MmaClass& each) {
    return each.sparse || mma_rule(each)->output == MmaRounding::none;
  });
  std::string table =
      "| instruction | a, b + c | architectures | products of a block | F | floor |\n"
      "|---|---|---|---|---|---|\n";
  for (const MmaRow& row : make_rows(classes, parameters)) {
    table += fmt::format("| {} | {} | {} | {} |\n", row.instruction, row.types, row.architectures,
                         parameters(row.rule));
  }
  return table;
}

}  // namespace tilevm::vm::fidelity
