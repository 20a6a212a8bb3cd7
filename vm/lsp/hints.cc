#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "isa/access/access_plan.h"
#include "isa/dot/dot_plan.h"
#include "isa/program/tile_move.h"
#include "vm/lsp/features.h"

namespace tilevm::vm {

namespace {

/// "f32[16, 8]"; empty for what is not a tensor.
std::string short_type(const isa::Type& type) {
  struct Short {
    std::string operator()(const isa::RegisterType& tile) const {
      return isa::to_string(tile.dtype) + isa::to_string(tile.shape());
    }
    std::string operator()(const isa::SharedType& tile) const {
      return "shared " + isa::to_string(tile.dtype) + isa::to_string(tile.shape());
    }
    std::string operator()(const isa::GlobalType& view) const {
      const auto shape = view.static_shape();
      return "view " + isa::to_string(view.dtype) + (shape ? isa::to_string(*shape) : "");
    }
    std::string operator()(const isa::BarrierType& barrier) const {
      return fmt::format("barrier[{}]", barrier.stages);
    }
    std::string operator()(const isa::ScalarType& /*scalar*/) const { return ""; }
    std::string operator()(const isa::PointerType& /*pointer*/) const { return ""; }
  };
  return std::visit(Short{}, type);
}

/// What a statement costs, in the words of reports; empty if there is nothing to say.
std::string cost_of(const isa::VerifiedProgram& program, int kernel, const isa::InstStmt& stmt) {
  const isa::KernelInfo& info = program.info(kernel);
  if (const isa::DotPlan* plan = info.find_dot_plan(stmt)) {
    if (plan->shape == nullptr) return "multiply-adds without tensor cores";
    if (plan->shape->family == isa::MmaFamily::wgmma) {
      return fmt::format("{} x {} a warp group", plan->steps.size(), plan->shape->label());
    }
    return fmt::format("{} x mma.{} a warp", isa::count_instructions(*plan), plan->shape->label());
  }
  if (isa::tile_move(stmt)) return isa::describe(info.access_plan(stmt)) + " a thread";
  return "";
}

Json lens(const DocumentView& view, Span span, std::string_view title, std::string_view command,
          Json arguments) {
  Json call = Json::object();
  call.set("title", title).set("command", command).set("arguments", std::move(arguments));
  Json item = Json::object();
  return item.set("range", view.range(span)).set("command", std::move(call));
}

/// By NameKind: the number of its token type, or -1 for what has no colour of its own.
struct TokenType {
  NameKind kind;
  std::string_view name;
};
constexpr std::array<TokenType, 12> token_types{{
    {NameKind::keyword, "keyword"},
    {NameKind::constant, "enumMember"},
    {NameKind::kernel, "method"},
    {NameKind::pipeline, "interface"},
    {NameKind::parameter, "parameter"},
    {NameKind::variable, "variable"},
    {NameKind::instruction, "function"},
    {NameKind::layout, "macro"},
    {NameKind::type, "type"},
    {NameKind::operand, "property"},
    {NameKind::decorator, "decorator"},
    {NameKind::number, "number"},
}};
constexpr std::array<std::string_view, 2> more_token_types{"string", "comment"};

int token_type(NameKind kind) {
  if (kind == NameKind::function) return token_type(NameKind::kernel);
  if (kind == NameKind::string) return static_cast<int>(token_types.size());
  if (kind == NameKind::comment) return static_cast<int>(token_types.size()) + 1;
  for (std::size_t i = 0; i < token_types.size(); ++i) {
    if (token_types[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

Json inlay_hints(const DocumentView& view, Span span) {
  Json list = Json::array();
  for (const Occurrence& one : view.analysis().names.own()) {
    if (!one.defines || one.kind != NameKind::variable) continue;
    if (one.span.end < span.begin || one.span.begin > span.end) continue;
    const isa::Type* type = view.analysis().type_of(one);
    if (type == nullptr) continue;
    const std::string label = short_type(*type);
    if (label.empty()) continue;
    Json hint = Json::object();
    hint.set("position", view.place(one.span.end)).set("label", ": " + label).set("kind", 1);
    list.push(hint.set("tooltip", to_string(*type)));
  }
  return list;
}

Json code_lenses(const DocumentView& view) {
  Json list = Json::array();
  for (const Symbol& symbol : view.analysis().names.symbols) {
    if (symbol.kind != NameKind::kernel && symbol.kind != NameKind::pipeline) continue;
    if (!view.analysis().names.is_own(symbol.definition)) continue;
    const auto arguments = [&] {
      Json both = Json::array();
      both.push(view.uri());
      both.push(symbol.name);
      return both;
    };
    list.push(lens(view, symbol.definition, "run", "tilevm.run", arguments()));
    list.push(lens(view, symbol.definition, "debug", "tilevm.debug", arguments()));
  }
  const auto& program = view.analysis().program;
  if (!program) return list;
  for (std::size_t k = 0; k < program->program().kernels.size(); ++k) {
    const int kernel = static_cast<int>(k);
    isa::for_each_statement(program->kernel(kernel).body, [&](const isa::Stmt& stmt) {
      const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
      if (inst == nullptr || !view.analysis().names.is_own(stmt.span)) return;
      const std::string cost = cost_of(*program, kernel, *inst);
      if (!cost.empty()) list.push(lens(view, stmt.span, cost, "", Json::array()));
    });
  }
  return list;
}

Json token_legend() {
  Json types = Json::array();
  for (const TokenType& type : token_types) types.push(type.name);
  for (const std::string_view name : more_token_types) types.push(name);
  Json legend = Json::object();
  return legend.set("tokenTypes", std::move(types)).set("tokenModifiers", Json::array());
}

Json semantic_tokens(const DocumentView& view) {
  Json data = Json::array();
  Position last;
  for (const Occurrence& one : view.analysis().names.own()) {
    const int type = token_type(one.kind);
    if (type < 0 || one.span.end <= one.span.begin) continue;
    const Position at = view.position(one.span.begin);
    data.push(at.line - last.line);
    data.push(at.line == last.line ? at.character - last.character : at.character);
    data.push(view.length(one.span));
    data.push(type);
    data.push(0);
    last = at;
  }
  Json result = Json::object();
  return result.set("data", std::move(data));
}

}  // namespace tilevm::vm
