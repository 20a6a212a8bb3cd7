#include "frontend/syntax/foreign_words.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "frontend/syntax/foreign_table.h"
#include "isa/inst/instruction_set.h"

namespace tilevm::frontend {
namespace {

/// A word as names are compared: without case and underscores.
std::string plain(std::string_view word) {
  std::string result;
  for (const char c : word) {
    if (c != '_') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

/// Whether a word is written as instructions are, such as `ReduceSum`: people who saw ours write
/// other libraries' words so.
bool is_written_as_instruction(std::string_view word) {
  const auto is_lower = [](unsigned char c) { return std::islower(c) != 0; };
  return !word.empty() && std::isupper(static_cast<unsigned char>(word.front())) != 0 &&
         std::ranges::any_of(word, is_lower);
}

/// Advice with `$x`, `$d`, `$t` and `$v` replaced by the call's operand, dimension, type and
/// values.
std::string filled(std::string_view advice, const ForeignCall& call) {
  std::string text;
  for (std::size_t i = 0; i < advice.size(); ++i) {
    const char next = i + 1 < advice.size() ? advice[i + 1] : ' ';
    const bool is_place =
        advice[i] == '$' && std::string_view("xdtv").find(next) != std::string_view::npos;
    if (!is_place) {
      text += advice[i];
      continue;
    }
    text += next == 'x'   ? call.operand
            : next == 'd' ? call.dims
            : next == 't' ? call.type
                          : call.values;
    ++i;
  }
  return text;
}

/// What is said of an instruction where its summary is not enough; empty of others.
std::string_view usage_of(std::string_view mnemonic) {
  const auto& usages = instruction_usages();
  const auto found = std::ranges::find(usages, mnemonic, &ForeignWord::word);
  return found == usages.end() ? std::string_view{} : std::string_view(found->advice);
}

}  // namespace

std::string advice_for(std::string_view word, const ForeignCall& call) {
  const auto& words = foreign_table();
  auto found = std::ranges::find(words, word, &ForeignWord::word);
  const isa::InstructionEntry* const like = instruction_like(word);
  const bool is_ours = like != nullptr && like->description->mnemonic == word;
  if (found == words.end() && is_written_as_instruction(word) && !is_ours) {
    const std::string wanted = plain(word);
    found = std::ranges::find_if(
        words, [&](const ForeignWord& each) { return plain(each.word) == wanted; });
  }
  return found == words.end() ? std::string() : filled(found->advice, call);
}

const isa::InstructionEntry* instruction_like(std::string_view word) {
  const std::string wanted = plain(word);
  const auto& table = isa::instruction_table();
  const auto found = std::ranges::find_if(table, [&](const isa::InstructionEntry& entry) {
    return plain(entry.description->mnemonic) == wanted;
  });
  return found == table.end() ? nullptr : &*found;
}

std::string said_of(const isa::InstructionEntry& entry, const ForeignCall& call) {
  if (const auto usage = usage_of(entry.description->mnemonic); !usage.empty()) {
    return filled(usage, call);
  }
  std::string operands;
  for (const isa::SlotEntry& slot : entry.slots) {
    if (slot.is_optional) continue;
    const bool is_first = operands.empty() && call.operand != ForeignCall{}.operand;
    operands += (operands.empty() ? "" : ", ") + (is_first ? call.operand : std::string(slot.name));
  }
  std::string summary(entry.description->summary);
  if (summary.ends_with('.')) summary.pop_back();
  const bool is_verb = summary.substr(0, summary.find(' ')).ends_with('s');
  summary[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(summary[0])));
  return fmt::format("`{}({})`{} {}", entry.description->mnemonic, operands, is_verb ? "" : ":",
                     summary);
}

std::optional<std::string_view> foreign_type(std::string_view word) {
  const auto& types = foreign_types();
  const auto found = std::ranges::find(types, word, &ForeignType::word);
  return found == types.end() ? std::nullopt : std::optional(found->ours);
}

std::string advice_for_attribute(std::string_view word, const std::string& operand) {
  const auto& words = foreign_attributes();
  const auto found = std::ranges::find(words, word, &ForeignWord::word);
  return found == words.end() ? std::string() : filled(found->advice, {.operand = operand});
}

bool is_foreign_module(std::string_view name) {
  constexpr std::array<std::string_view, 18> modules{
      "np",   "numpy",   "tl", "triton", "torch", "F",    "math", "jnp",       "jax",
      "cute", "cutlass", "cp", "cupy",   "numba", "cuda", "wp",   "libdevice", "std"};
  return std::ranges::find(modules, name) != modules.end();
}

std::string advice_for_line(std::string_view word) {
  const auto& words = foreign_lines();
  const auto found = std::ranges::find(words, word, &ForeignWord::word);
  return found == words.end() ? std::string() : std::string(found->advice);
}

std::string_view operation_like(std::string_view word) {
  struct Operation {
    std::string_view word, ours;
  };
  constexpr std::array<Operation, 14> operations{{{"sum", "add"},
                                                  {"plus", "add"},
                                                  {"prod", "mul"},
                                                  {"product", "mul"},
                                                  {"multiply", "mul"},
                                                  {"maximum", "max"},
                                                  {"amax", "max"},
                                                  {"minimum", "min"},
                                                  {"amin", "min"},
                                                  {"all", "bit_and"},
                                                  {"any", "bit_or"},
                                                  {"xor", "bit_xor"},
                                                  {"xor_sum", "bit_xor"},
                                                  {"bitwise_or", "bit_or"}}};
  const std::string wanted = plain(word);
  for (const Operation& each : operations) {
    if (plain(each.word) == wanted) return each.ours;
  }
  return {};
}

std::string_view operand_like(std::string_view word, std::span<const isa::SlotEntry> operands) {
  struct Name {
    std::string_view word, ours;
  };
  constexpr std::array<Name, 18> names{{{"axis", "dims"},
                                        {"axis", "dim"},
                                        {"axes", "dims"},
                                        {"dim", "dims"},
                                        {"dims", "dim"},
                                        {"keepdim", "keep_dims"},
                                        {"keepdims", "keep_dims"},
                                        {"type", "dtype"},
                                        {"to", "dtype"},
                                        {"value", "init"},
                                        {"fill_value", "init"},
                                        {"fill", "init"},
                                        {"size", "shape"},
                                        {"stride", "layout"},
                                        {"strides", "layout"},
                                        {"offsets", "offset"},
                                        {"acc", "c"},
                                        {"combine_fn", "op"}}};
  for (const Name& each : names) {
    if (each.word != word) continue;
    for (const isa::SlotEntry& slot : operands) {
      if (slot.name == each.ours) return slot.name;
    }
  }
  return {};
}

bool report_foreign_word(const ast::Identifier& name, Diagnostics& diagnostics,
                         const ForeignCall& call) {
  std::string advice = advice_for(name.text, call);
  std::string fix;
  if (const auto* like = advice.empty() ? instruction_like(name.text) : nullptr) {
    if (like->description->mnemonic == name.text) return false;
    advice = said_of(*like, call);
    fix = like->description->mnemonic;
  }
  if (advice.empty()) return false;
  diagnostics
      .error(Code::unknown_name, name.span,
             fmt::format("there is no `{}` here; {}", name.text, advice))
      .fix = std::move(fix);
  return true;
}

std::vector<std::string_view> foreign_words() {
  std::vector<std::string_view> words;
  for (const ForeignWord& each : foreign_table()) words.push_back(each.word);
  return words;
}

}  // namespace tilevm::frontend
