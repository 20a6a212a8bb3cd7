// What `tilevm prove --batch-invariant` takes and says.
#include <charconv>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/ring/batch.h"

namespace tilevm::vm {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

std::string list(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string difference_text(const BatchRange& range, const BatchDifference& difference) {
  std::string text = fmt::format(
      "row {} of `{}` depends on the batch: for {}={} it is computed otherwise than for {}={}; "
      "here {} and {}\n",
      difference.row, difference.output, range.name, difference.size, range.name, range.first,
      difference.is, difference.was);
  if (difference.location) {
    text += fmt::format("  {}: `{}` is the first statement that gives what {}={} does not\n",
                        *difference.location, difference.statement.value_or("statement"),
                        range.name, range.first);
  }
  return text;
}

Json names_json(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push(name);
  return list;
}

Json decision_json(const Decision& decision) {
  return Json::object().set("location", decision.location).set("text", decision.text);
}

Json difference_json(const BatchDifference& difference) {
  Json found = Json::object();
  found.set("size", difference.size).set("row", difference.row);
  found.set("output", difference.output).set("element", difference.element);
  found.set("statement", difference.statement ? Json(*difference.statement) : Json());
  found.set("location", difference.location ? Json(*difference.location) : Json());
  return found;
}

}  // namespace

Result<BatchRange> parse_batch(const std::string& text) {
  constexpr std::int64_t most = 4096;
  const std::size_t sign = text.find('='), dots = text.find("..");
  if (sign != std::string::npos && sign > 0 && dots != std::string::npos && dots > sign) {
    const auto first = number(std::string_view(text).substr(sign + 1, dots - sign - 1));
    const auto last = number(std::string_view(text).substr(dots + 2));
    if (first && last && *first >= 1 && *first < *last && *last <= most) {
      return BatchRange{text.substr(0, sign), *first, *last};
    }
  }
  return Error{ErrorKind::usage,
               fmt::format("--batch-invariant `{}`: write M=1..64, the constant that counts rows "
                           "and two sizes up to {}, the smaller one first",
                           text, most)};
}

std::string batch_text(const BatchRange& range, const BatchProof& proof) {
  std::string text;
  if (proof.unordered) {
    text = fmt::format("rows depend on more than their numbers:\n  {}: {}\n",
                       proof.unordered->location, proof.unordered->text);
  } else if (proof.difference) {
    text = difference_text(range, *proof.difference);
  } else {
    text = fmt::format(
        "batch-invariant: for {}={}..{} each row has the bits that it has for "
        "{}={}, {}; {} elements of {} sizes compared as expressions\n",
        range.name, range.first, range.last, range.name, range.first,
        proof.decisions.empty() ? "whatever the numbers are" : "for the numbers that ran",
        proof.elements, proof.sizes);
  }
  text += fmt::format("rows: {}; shared by all rows: {}\n", list(proof.by_row), list(proof.shared));
  if (!proof.without_rows.empty()) {
    text += fmt::format("outputs without rows, not compared: {}\n", list(proof.without_rows));
  }
  if (proof.decisions.empty()) return text;
  return text + "data decide what runs here:\n" + decision_lines(proof.decisions);
}

Json batch_json(const BatchRange& range, const BatchProof& proof) {
  Json object = Json::object(), decisions = Json::array();
  for (const Decision& decision : proof.decisions) decisions.push(decision_json(decision));
  object.set("name", range.name).set("first", range.first).set("last", range.last);
  object.set("invariant", proof.holds()).set("sizes", proof.sizes);
  object.set("elements", proof.elements);
  object.set("rows", names_json(proof.by_row)).set("shared", names_json(proof.shared));
  object.set("outputs_without_rows", names_json(proof.without_rows));
  object.set("data_decide", std::move(decisions));
  if (proof.unordered) object.set("unordered", decision_json(*proof.unordered));
  if (proof.difference) object.set("difference", difference_json(*proof.difference));
  return object;
}

}  // namespace tilevm::vm
