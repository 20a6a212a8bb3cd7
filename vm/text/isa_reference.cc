#include "vm/text/isa_reference.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isa/inst/slot_table.h"

namespace tilevm::vm {

namespace {

/// How each type of slot is called; a new one does not compile without its line here.
struct SlotName {
  constexpr std::string_view operator()(const isa::RegisterOperand*) const {
    return "register tile";
  }
  constexpr std::string_view operator()(const isa::SharedOperand*) const { return "shared tensor"; }
  constexpr std::string_view operator()(const isa::GlobalOperand*) const { return "global view"; }
  constexpr std::string_view operator()(const isa::PointerOperand*) const { return "pointer"; }
  constexpr std::string_view operator()(const isa::BarrierOperand*) const { return "barrier"; }
  constexpr std::string_view operator()(const isa::DType*) const { return "element type"; }
  constexpr std::string_view operator()(const isa::RegisterLayout*) const {
    return "register layout";
  }
  constexpr std::string_view operator()(const isa::ViewLayout*) const { return "memory layout"; }
  constexpr std::string_view operator()(const isa::TileShape*) const { return "constant extents"; }
  constexpr std::string_view operator()(const isa::ExtentList*) const { return "extents"; }
  constexpr std::string_view operator()(const isa::OffsetList*) const { return "offsets"; }
  constexpr std::string_view operator()(const isa::ScalarOperand*) const { return "scalar"; }
  constexpr std::string_view operator()(const isa::ElementValues*) const {
    return "scalar or scalars";
  }
  constexpr std::string_view operator()(const isa::ValueOperand*) const {
    return "register tile or scalar";
  }
  constexpr std::string_view operator()(const isa::TensorOperand*) const { return "tile or view"; }
  constexpr std::string_view operator()(const isa::ReduceOp*) const { return "operation"; }
  constexpr std::string_view operator()(const isa::CacheHint*) const { return "cache hint"; }
  constexpr std::string_view operator()(const isa::DimList*) const { return "dimensions"; }
  constexpr std::string_view operator()(const isa::Text*) const { return "text"; }
  template <class Slot>
  constexpr std::string_view operator()(const std::optional<Slot>*) const {
    return (*this)(static_cast<const Slot*>(nullptr));
  }
};

std::string_view result_name(isa::ResultKind kind) {
  switch (kind) {
    case isa::ResultKind::none:
      return "";
    case isa::ResultKind::indices:
      return "block indices";
    case isa::ResultKind::scalar:
      return "scalar";
    case isa::ResultKind::register_tile:
      return "register tile";
    case isa::ResultKind::shared_tile:
      return "shared tensor";
    case isa::ResultKind::global_view:
      return "global view";
    case isa::ResultKind::barrier:
      return "barrier";
  }
  return "";
}

std::string_view where_allowed(const isa::Description& description) {
  if (description.in_pipeline && description.in_kernel) return "in kernels and pipelines";
  return description.in_pipeline ? "in pipelines" : "in kernels";
}

std::string_view effect(isa::Access access) {
  switch (access) {
    case isa::Access::none:
      return "";
    case isa::Access::read:
      return "; its memory is read";
    case isa::Access::write:
      return "; its memory is written";
    case isa::Access::update:
      return "; its memory is read and written";
  }
  return "";
}

/// Words of `text` in lines of at most `width` columns, each begun by `indent`.
std::string wrap(std::string_view text, std::string_view indent, std::size_t width) {
  std::string out;
  std::string line(indent);
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (line.size() > indent.size() && line.size() + 1 + word.size() > width) {
      out += line + '\n';
      line = indent;
    }
    if (line.size() > indent.size()) line += ' ';
    line += word;
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  return out + line + '\n';
}

void write_markdown(const InstructionInfo& info, std::string& out) {
  out += fmt::format("### {}\n\n", info.description.mnemonic);
  out += fmt::format("`{}`\n\n{}", signature(info), wrap(info.description.summary, "", 100));
  if (!info.description.detail.empty()) out += '\n' + wrap(info.description.detail, "", 100);
  if (!info.operands.empty()) {
    out += "\n| operand | is | meaning |\n|---|---|---|\n";
  }
  for (const OperandInfo& operand : info.operands) {
    out += fmt::format("| `{}` | {}{} | {}{} |\n", operand.name, operand.type,
                       operand.optional ? ", optional" : "", operand.doc, effect(operand.access));
  }
  out += fmt::format("\nAllowed {}.\n\n", where_allowed(info.description));
}

}  // namespace

std::vector<InstructionInfo> all_instructions() {
  std::vector<InstructionInfo> infos;
  for (const isa::InstructionEntry& entry : isa::instruction_table()) {
    InstructionInfo info{*entry.description, {}};
    const isa::Instruction empty = entry.make();
    isa::for_each_entry_of(
        empty, [&]<class Slot>(const isa::SlotEntry& slot, std::size_t, const Slot&) {
          info.operands.push_back({slot.name, SlotName{}(static_cast<const Slot*>(nullptr)),
                                   slot.doc, slot.is_optional, slot.access});
        });
    infos.push_back(std::move(info));
  }
  return infos;
}

std::string signature(const InstructionInfo& instruction) {
  std::string operands;
  for (const OperandInfo& operand : instruction.operands) {
    const std::string_view comma = operands.empty() ? "" : ", ";
    operands += operand.optional ? fmt::format("[{}{}=]", comma, operand.name)
                                 : fmt::format("{}{}", comma, operand.name);
  }
  const isa::Description& description = instruction.description;
  if (description.result == isa::ResultKind::register_tile) {
    operands += operands.empty() ? "[out=]" : "[, out=]";
  }
  std::string text = fmt::format("{}({})", description.mnemonic, operands);
  if (description.result != isa::ResultKind::none) {
    text += fmt::format(" -> {}", result_name(description.result));
  }
  return text;
}

std::string terminal_page(const InstructionInfo& instruction) {
  const isa::Description& description = instruction.description;
  std::string out = signature(instruction) + "\n\n" + wrap(description.summary, "  ", 80);
  if (!description.detail.empty()) out += wrap(description.detail, "  ", 80);
  if (!instruction.operands.empty()) out += '\n';
  for (const OperandInfo& operand : instruction.operands) {
    out += fmt::format("  {:<8} {}{}: {}{}\n", operand.name, operand.type,
                       operand.optional ? ", optional" : "", operand.doc, effect(operand.access));
  }
  out += fmt::format("\n  {}, allowed {}\n", isa::to_string(description.category),
                     where_allowed(description));
  return out;
}

Json reference_json(const InstructionInfo& instruction) {
  const isa::Description& description = instruction.description;
  Json operands = Json::array();
  for (const OperandInfo& operand : instruction.operands) {
    Json item = Json::object();
    item.set("name", operand.name).set("type", operand.type).set("optional", operand.optional);
    operands.push(std::move(item.set("doc", operand.doc)));
  }
  Json object = Json::object();
  object.set("mnemonic", description.mnemonic)
      .set("category", isa::to_string(description.category));
  object.set("signature", signature(instruction)).set("summary", description.summary);
  object.set("detail", description.detail).set("operands", std::move(operands));
  object.set("result", result_name(description.result));
  object.set("in_kernels", description.in_kernel);
  return std::move(object.set("in_pipelines", description.in_pipeline));
}

std::string markdown_reference() {
  std::string out =
      "# Instructions\n\n"
      "This page is generated from the definitions in `isa/inst/`: `tilevm isa --markdown`. "
      "`tilevm isa NAME`\nshows one entry in the terminal. Operands in brackets may be left out; "
      "`out=` writes into an existing\ntile instead of making one.\n";
  const std::vector<InstructionInfo> infos = all_instructions();
  std::vector<isa::Category> categories;
  for (const InstructionInfo& info : infos) {
    const isa::Category category = info.description.category;
    if (std::find(categories.begin(), categories.end(), category) == categories.end()) {
      categories.push_back(category);
    }
  }
  for (const isa::Category category : categories) {
    out += fmt::format("\n## {}\n\n", isa::to_string(category));
    for (const InstructionInfo& info : infos) {
      if (info.description.category == category) write_markdown(info, out);
    }
    out.pop_back();
  }
  return out;
}

}  // namespace tilevm::vm
