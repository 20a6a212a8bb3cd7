#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/inst/slot_table.h"
#include "isa/layout/draw.h"
#include "isa/type/dtype.h"
#include "vm/lsp/features.h"
#include "vm/picture/bit_rows.h"
#include "vm/text/isa_reference.h"

namespace tilevm::vm {

namespace {

constexpr std::int64_t most_cells = 512;

std::string code_block(std::string_view text) {
  return fmt::format("```text\n{}{}```\n", text, text.ends_with('\n') ? "" : "\n");
}

std::string with_layout(const isa::RegisterLayout& layout) {
  return fmt::format("{}\n\n{}", isa::describe(layout),
                     code_block(draw_text(layout, false, most_cells)));
}

std::string type_page(const std::string& name, const isa::Type& type) {
  std::string text = fmt::format("```tilevm\n{}: {}\n```\n", name, to_string(type));
  if (const auto* tile = std::get_if<isa::RegisterType>(&type)) {
    text += with_layout(tile->layout);
    const TypedLayout typed{tile->dtype, tile->layout, {}};
    text += code_block(draw_bits({typed}, 0));
  } else if (const auto* shared = std::get_if<isa::SharedType>(&type)) {
    if (isa::element_count(shared->shape()) <= most_cells) {
      text += code_block(draw_text(shared->layout, shared->dtype.bits)) + "offset@bank\n";
    }
  }
  return text;
}

std::string dtype_page(std::string_view name, const isa::DType& type) {
  std::string text = fmt::format("`{}`: {} bits", name, type.bits);
  if (type.is_float()) {
    text += fmt::format(", a float {}of {} exponent and {} mantissa bits, bias {}",
                        type.has_sign() ? "" : "without a sign ", type.exponent_bits,
                        type.mantissa_bits, type.bias());
  } else if (type.is_bipolar()) {
    text += ", a bipolar integer: each bit is -1 or +1";
  } else {
    text += type.is_signed_int() ? ", a two's complement integer" : ", an unsigned integer";
  }
  if (type.is_subbyte()) text += "; elements are packed without gaps";
  return text;
}

const InstructionInfo* find_instruction(const std::vector<InstructionInfo>& all,
                                        std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const InstructionInfo& one) {
    return one.description.mnemonic == name;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string instruction_page(const InstructionInfo& info) {
  std::string text = fmt::format("```tilevm\n{}\n```\n{}\n\n{}\n", signature(info),
                                 info.description.summary, info.description.detail);
  for (const OperandInfo& operand : info.operands) {
    text += fmt::format("- `{}`: {}{}. {}\n", operand.name, operand.type,
                        operand.optional ? ", optional" : "", operand.doc);
  }
  return text;
}

std::string operand_page(const std::string& callee, const std::string& name) {
  if (name == "out") return "`out`: the tile that the result is written to";
  const std::vector<InstructionInfo> all = all_instructions();
  const InstructionInfo* info = find_instruction(all, callee);
  if (info == nullptr) return "";
  for (const OperandInfo& operand : info->operands) {
    if (operand.name == name) {
      return fmt::format("`{}` of `{}`: {}{}. {}", name, callee, operand.type,
                         operand.optional ? ", optional" : "", operand.doc);
    }
  }
  return "";
}

/// The layout operand at a place, drawn; empty if there is none.
std::string layout_page(const Analysis& analysis, std::uint32_t offset) {
  const Analysis::Found found = analysis.instruction_at(offset);
  if (found.stmt == nullptr) return "";
  std::string page;
  std::size_t slot = 0;
  isa::for_each_slot_of(found.stmt->inst, [&]<class Slot>(isa::Access, const Slot& value) {
    const std::size_t at = slot++;
    if (at >= found.stmt->slot_spans.size()) return;
    const Span span = found.stmt->slot_spans[at];
    if (span == Span{} || offset < span.begin || offset > span.end) return;
    if constexpr (std::is_same_v<Slot, isa::RegisterLayout>) {
      page = with_layout(value);
    } else if constexpr (std::is_same_v<Slot, std::optional<isa::RegisterLayout>>) {
      if (value) page = with_layout(*value);
    }
  });
  return page;
}

/// The line of a definition, the comment above it, and its file if it is another one.
std::string definition_page(const Analysis& analysis, const Symbol& symbol) {
  const SourceFile& bound = *analysis.bound;
  const std::uint32_t at = symbol.definition.begin;
  std::string text = fmt::format("```tilevm\n{}\n```\n", bound.line_at(at));
  if (!is_of_file(symbol.kind)) return text;
  // Lines that begin with `#`, right above.
  std::vector<std::string_view> comment;
  const auto* const begin_of_text = bound.text().data();
  const auto place = static_cast<std::size_t>(bound.line_at(at).data() - begin_of_text);
  for (std::size_t end = place; end > 1 && comment.size() < 16;) {
    const std::string_view line = bound.line_at(end - 1);
    if (!line.starts_with('#')) break;
    comment.push_back(line.substr(std::min(line.find_first_not_of("# "), line.size())));
    end = static_cast<std::size_t>(line.data() - begin_of_text);
  }
  for (auto line = comment.rbegin(); line != comment.rend(); ++line) {
    text += fmt::format("{}\n", *line);
  }
  if (!analysis.names.is_own(symbol.definition)) {
    text += fmt::format("\nfrom `{}`\n", bound.name_at(at));
  }
  return text;
}

std::string symbol_page(const Analysis& analysis, const Occurrence& occurrence) {
  const Symbol& symbol = analysis.names.symbols[static_cast<std::size_t>(occurrence.symbol)];
  if (const isa::Type* type = analysis.type_of(occurrence)) return type_page(symbol.name, *type);
  switch (symbol.kind) {
    case NameKind::constant: {
      std::string text = fmt::format("```tilevm\nconst {} = {}\n```\n", symbol.name, symbol.text);
      if (!analysis.names.is_own(symbol.definition)) {
        text += fmt::format("from `{}`\n", analysis.bound->name_at(symbol.definition.begin));
      }
      for (const isa::Tunable& tunable : analysis.partial.tunables) {
        if (tunable.name != symbol.name) continue;
        text += fmt::format("a tunable: {}\n", fmt::join(tunable.choices, ", "));
      }
      return text;
    }
    case NameKind::kernel:
    case NameKind::pipeline:
    case NameKind::function:
    case NameKind::parameter:
    case NameKind::variable: {
      return definition_page(analysis, symbol);
    }
    case NameKind::keyword:
    case NameKind::instruction:
    case NameKind::layout:
    case NameKind::type:
    case NameKind::operand:
    case NameKind::decorator:
    case NameKind::number:
    case NameKind::string:
    case NameKind::comment:
    case NameKind::unknown:
      return "";
  }
  return "";
}

std::string page_at(const Analysis& analysis, const Occurrence& occurrence, std::uint32_t offset) {
  const std::string name(analysis.source->text(occurrence.span));
  if (occurrence.symbol >= 0) {
    const std::string page = symbol_page(analysis, occurrence);
    if (occurrence.kind != NameKind::constant) return page;
    const std::string drawn = layout_page(analysis, offset);
    return drawn.empty() ? page : page + drawn;
  }
  switch (occurrence.kind) {
    case NameKind::instruction: {
      const std::vector<InstructionInfo> all = all_instructions();
      const InstructionInfo* info = find_instruction(all, name);
      return info == nullptr ? "" : instruction_page(*info);
    }
    case NameKind::operand:
      return operand_page(occurrence.callee, name);
    case NameKind::type:
      if (const auto type = isa::parse_dtype(name)) return dtype_page(name, *type);
      return "";
    case NameKind::layout:
    case NameKind::number:
      return layout_page(analysis, offset);
    case NameKind::keyword:
    case NameKind::constant:
    case NameKind::kernel:
    case NameKind::pipeline:
    case NameKind::function:
    case NameKind::parameter:
    case NameKind::variable:
    case NameKind::decorator:
    case NameKind::string:
    case NameKind::comment:
    case NameKind::unknown:
      return "";
  }
  return "";
}

}  // namespace

Json hover(const DocumentView& view, std::uint32_t offset) {
  const Occurrence* occurrence = view.analysis().names.at(offset);
  if (occurrence == nullptr) return {};
  const std::string page = page_at(view.analysis(), *occurrence, offset);
  if (page.empty()) return {};
  Json contents = Json::object();
  contents.set("kind", "markdown").set("value", page);
  Json result = Json::object();
  return result.set("contents", std::move(contents)).set("range", view.range(occurrence->span));
}

Json signature_help(const DocumentView& view, std::uint32_t offset) {
  const std::optional<OpenCall> call = open_call(view.source(), offset);
  if (!call) return {};
  const std::vector<InstructionInfo> all = all_instructions();
  const InstructionInfo* info = find_instruction(all, call->callee);
  if (info == nullptr) return {};
  Json parameters = Json::array();
  std::int64_t active = call->operand;
  for (std::size_t i = 0; i < info->operands.size(); ++i) {
    const OperandInfo& operand = info->operands[i];
    if (operand.name == call->name) active = static_cast<std::int64_t>(i);
    Json parameter = Json::object();
    parameter.set("label", operand.name);
    parameter.set("documentation", fmt::format("{}: {}", operand.type, operand.doc));
    parameters.push(std::move(parameter));
  }
  Json one = Json::object();
  one.set("label", signature(*info)).set("documentation", info->description.summary);
  one.set("parameters", std::move(parameters));
  Json signatures = Json::array();
  signatures.push(std::move(one));
  Json result = Json::object();
  result.set("signatures", std::move(signatures)).set("activeSignature", 0);
  return result.set("activeParameter", active);
}

}  // namespace tilevm::vm
