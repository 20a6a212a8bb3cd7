#include "vm/ring/formula.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "isa/base/hash.h"
#include "isa/type/number.h"
#include "vm/naive/naive_engine.h"
#include "vm/text/table.h"

namespace tilevm::vm {
namespace {

const OutputFormula* find_output(const FormulaRun& run, const std::string& name) {
  const auto found = std::find_if(run.outputs.begin(), run.outputs.end(),
                                  [&](const OutputFormula& output) { return output.name == name; });
  return found == run.outputs.end() ? nullptr : &*found;
}

Error no_partner(const OutputFormula& output, const FormulaRun& other) {
  std::string names;
  for (const OutputFormula& each : other.outputs) {
    names += (names.empty() ? "`" : ", `") + each.name + "`";
  }
  return {ErrorKind::usage,
          fmt::format("output `{}` has no partner: the other program has {}; outputs are compared "
                      "by their names",
                      output.name, names.empty() ? "none" : names)};
}

FormulaDifference compare_outputs(const OutputFormula& a, const OutputFormula& b) {
  FormulaDifference difference{a.name, b.name, a.residues.size()};
  for (std::size_t k = a.residues.size(); k-- > 0;) {
    if (a.residues[k].modulo_p() == b.residues[k].modulo_p()) continue;
    ++difference.different;
    difference.first = k;
  }
  return difference;
}

const OutputFormula& partner(const FormulaDifference& difference, const FormulaRun& b) {
  return *find_output(b, difference.other_name);
}

}  // namespace

Result<naive::Ring> parse_ring(const std::string& text) {
  if (text == "default") return naive::Ring::make(naive::Ring::default_modulus);
  std::uint64_t modulus = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), modulus);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return Error{ErrorKind::usage,
                 fmt::format("--ring `{}`: write a prime below 2^32, or `default` for {}", text,
                             naive::Ring::default_modulus)};
  }
  return naive::Ring::make(modulus);
}

std::uint64_t OutputFormula::hash() const {
  std::vector<std::uint8_t> bytes;
  for (const naive::Residue residue : residues) {
    for (int i = 0; i < 4; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(residue.modulo_p() >> 8 * i));
    }
  }
  std::string shape;
  for (const std::int64_t extent : tensor.shape) shape += fmt::format("{},", extent);
  return xxh64(std::span<const std::uint8_t>(bytes), xxh64(shape));
}

FormulaResult run_formulas(const isa::VerifiedProgram& program, const Entry& entry,
                           const naive::Ring& ring, std::vector<HostTensor> tensors) {
  FormulaResult result;
  result.run.entry = entry.name;
  naive::TensorResidues residues;
  BitUses bits;
  result.failure = naive::run_in_ring(program, entry, ring, tensors, residues, &bits);
  if (result.failure) return result;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!entry.tensors[i].output) continue;
    result.run.outputs.push_back(
        {entry.tensors[i].name, std::move(tensors[i]), std::move(residues[i])});
  }
  result.run.decisions = decisions_of(program, entry);
  for (Decision& decision : bits.in_words(program)) {
    result.run.decisions.push_back(std::move(decision));
  }
  result.run.casts = rounding_casts_of(program, entry);
  return result;
}

Result<std::vector<FormulaDifference>> compare_formulas(const FormulaRun& a, const FormulaRun& b) {
  std::vector<FormulaDifference> differences;
  const bool single = a.outputs.size() == 1 && b.outputs.size() == 1;
  for (const OutputFormula& output : a.outputs) {
    const OutputFormula* other = single ? &b.outputs.front() : find_output(b, output.name);
    if (other == nullptr) return no_partner(output, b);
    if (output.tensor.shape != other->tensor.shape) {
      return Error{ErrorKind::usage,
                   fmt::format("output `{}` is {}, its partner is {}: shapes must be equal",
                               output.name, format_type(output.tensor.dtype, output.tensor.shape),
                               format_type(other->tensor.dtype, other->tensor.shape))};
    }
    differences.push_back(compare_outputs(output, *other));
  }
  for (const OutputFormula& output : b.outputs) {
    if (!single && find_output(a, output.name) == nullptr) return no_partner(output, a);
  }
  return differences;
}

Result<std::vector<HostTensor>> inputs_from(const NamedEntry& from,
                                            const std::vector<HostTensor>& tensors,
                                            const NamedEntry& to) {
  std::vector<HostTensor> result;
  for (const Entry::Tensor& tensor : to.entry.tensors) {
    Result<HostTensor> empty = make_tensor(tensor.dtype, tensor.shape, {});
    if (!empty) return empty.error();
    result.push_back(*std::move(empty));
    if (!tensor.input) continue;
    const auto& givers = from.entry.tensors;
    const auto same = std::find_if(givers.begin(), givers.end(), [&](const Entry::Tensor& each) {
      return each.input && each.name == tensor.name;
    });
    if (same == givers.end()) {
      return Error{ErrorKind::usage,
                   fmt::format("input `{}` of `{}` is not an input of `{}`: both must be given the "
                               "same numbers",
                               tensor.name, to.name, from.name)};
    }
    if (same->dtype != tensor.dtype || same->shape != tensor.shape) {
      return Error{ErrorKind::usage,
                   fmt::format("input `{}` is {} in `{}` and {} in `{}`: types and shapes must be "
                               "equal; --against-define NAME=VALUE sets constants of the other "
                               "program",
                               tensor.name, format_type(same->dtype, same->shape), from.name,
                               format_type(tensor.dtype, tensor.shape), to.name)};
    }
    result.back() = tensors[static_cast<std::size_t>(same - givers.begin())];
  }
  return result;
}

std::string formulas_text(const FormulaRun& run, const naive::Ring& ring) {
  std::string text;
  for (const OutputFormula& output : run.outputs) {
    text += fmt::format("{}: {}, formula {} modulo {}\n", output.name,
                        format_type(output.tensor.dtype, output.tensor.shape),
                        format_hash(output.hash()), ring.p());
  }
  return text + decisions_text(run);
}

std::string decisions_text(const FormulaRun& run) {
  std::string text;
  if (!run.decisions.empty()) {
    text = fmt::format("rounding decides in `{}`, which formulas do not show:\n{}", run.entry,
                       decision_lines(run.decisions));
  }
  if (!run.casts.empty()) {
    text += fmt::format("casts in `{}` that formulas take as exact:\n{}", run.entry,
                        decision_lines(run.casts));
  }
  return text;
}

std::string difference_text(const FormulaDifference& difference, const FormulaRun& a,
                            const FormulaRun& b, const naive::Ring& ring) {
  const OutputFormula& first = *find_output(a, difference.name);
  if (difference.different == 0) {
    return fmt::format("{}: one formula in all {} elements, modulo {}\n", difference.name,
                       difference.elements, ring.p());
  }
  const OutputFormula& second = partner(difference, b);
  const std::size_t k = difference.first;
  return fmt::format(
      "{}: another formula in {} of {} elements, modulo {}; first {}: {} and {}, rounded {} and "
      "{}\n",
      difference.name, difference.different, difference.elements, ring.p(),
      format_index(first.tensor.shape, k), first.residues[k].modulo_p(),
      second.residues[k].modulo_p(), isa::format_value(first.tensor.dtype, first.tensor.code(k)),
      isa::format_value(second.tensor.dtype, second.tensor.code(k)));
}

Json decisions_json(const std::vector<Decision>& decisions) {
  Json list = Json::array();
  for (const Decision& decision : decisions) {
    list.push(Json::object().set("location", decision.location).set("text", decision.text));
  }
  return list;
}

Json formulas_json(const FormulaRun& run, const naive::Ring& ring) {
  Json outputs = Json::array();
  for (const OutputFormula& output : run.outputs) {
    Json object = Json::object();
    object.set("name", output.name).set("dtype", isa::to_string(output.tensor.dtype));
    object.set("formula", format_hash(output.hash()));
    outputs.push(std::move(object));
  }
  Json json = Json::object();
  json.set("modulus", ring.p()).set("exponents", ring.q()).set("outputs", std::move(outputs));
  json.set("rounding_decides", decisions_json(run.decisions));
  return std::move(json.set("rounding_casts", decisions_json(run.casts)));
}

Json difference_json(const FormulaDifference& difference, const FormulaRun& a,
                     const FormulaRun& b) {
  Json object = Json::object();
  object.set("name", difference.name).set("other", difference.other_name);
  object.set("elements", difference.elements).set("different", difference.different);
  if (difference.different == 0) return object;
  const OutputFormula &first = *find_output(a, difference.name), &second = partner(difference, b);
  Json index = Json::array();
  for (const std::int64_t i :
       isa::unravel(static_cast<std::int64_t>(difference.first), first.tensor.shape)) {
    index.push(i);
  }
  object.set("index", std::move(index));
  object.set("residues", Json::array()
                             .push(first.residues[difference.first].modulo_p())
                             .push(second.residues[difference.first].modulo_p()));
  return object;
}

}  // namespace tilevm::vm
