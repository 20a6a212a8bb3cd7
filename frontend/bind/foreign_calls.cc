#include "frontend/bind/foreign_calls.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/bind/expressions.h"
#include "frontend/bind/frontend.h"
#include "frontend/syntax/foreign_words.h"
#include "isa/base/enumerators.h"
#include "isa/base/suggest.h"
#include "isa/inst/instruction_set.h"

namespace tilevm::frontend {
namespace {

using Arguments = std::vector<ast::Argument>;

bool is_mnemonic(const std::string& word) {
  const isa::InstructionEntry* const like = instruction_like(word);
  return like != nullptr && like->description->mnemonic == word;
}

std::vector<std::string> mnemonics() {
  std::vector<std::string> names;
  for (const isa::InstructionEntry& entry : isa::instruction_table()) {
    names.emplace_back(entry.description->mnemonic);
  }
  return names;
}

std::string text_of(const ast::Expr& expr, const BindScope& scope, const std::string& otherwise) {
  return scope.emitter != nullptr ? scope.emitter->text(expr.span) : otherwise;
}

/// The rank of a tile that has a name; 0 of others.
std::size_t rank_of(const ast::Expr& tile, const BindScope& scope) {
  const auto* name = std::get_if<ast::Name>(&tile.node);
  if (name == nullptr || scope.variables == nullptr) return 0;
  const auto binding = scope.variables->find(name->text);
  if (!binding || !binding->var.valid()) return 0;
  const auto* type = std::get_if<isa::RegisterType>(&scope.variables->variable(binding->var).type);
  return type == nullptr ? 0 : type->shape().size();
}

/// All dimensions of a tile, `0` or `[0, 1]`.
std::string all_dims(std::size_t rank) {
  std::vector<std::size_t> dims(rank);
  for (std::size_t i = 0; i < rank; ++i) dims[i] = i;
  return rank == 1 ? "0" : fmt::format("[{}]", fmt::join(dims, ", "));
}

/// A dimension as it is counted here: `axis=-1` of a tile of rank 2 is 1.
std::string dimension_of(const ast::Expr& expr, const std::string& text, std::size_t rank) {
  const auto* minus = std::get_if<ast::Unary>(&expr.node);
  if (minus == nullptr || minus->op != ast::UnaryOp::minus || rank == 0) return text;
  const auto* number = std::get_if<ast::Integer>(&minus->operand->node);
  if (number == nullptr || number->value == 0 || number->value > rank) return text;
  return fmt::format("{}", rank - number->value);
}

bool is_dimension(const ast::Expr& expr) {
  const auto* minus = std::get_if<ast::Unary>(&expr.node);
  const ast::Expr& number = minus != nullptr ? *minus->operand : expr;
  return std::holds_alternative<ast::Integer>(number.node) ||
         std::holds_alternative<ast::List>(number.node);
}

bool names_dimension(const ast::Argument& argument) {
  return argument.name && (argument.name->text == "axis" || argument.name->text == "dim" ||
                           argument.name->text == "dims");
}

/// How a call was written: `tile` is its receiver, or the first of its arguments.
ForeignCall as_written(const ast::Expr* tile, const Arguments& args, std::size_t first,
                       const BindScope& scope) {
  ForeignCall call;
  std::size_t rank = 0;
  if (tile != nullptr) {
    call.operand = text_of(*tile, scope, call.operand);
    rank = rank_of(*tile, scope);
    if (rank > 0) call.dims = all_dims(rank);
  }
  std::string values;
  for (std::size_t i = first; i < args.size(); ++i) {
    const std::string text = text_of(args[i].value, scope, "..");
    values += (values.empty() ? "" : ", ") + text;
    if (names_dimension(args[i]) || (i == first && is_dimension(args[i].value))) {
      call.dims = dimension_of(args[i].value, text, rank);
    }
    if (i == first && isa::parse_dtype(text)) call.type = text;
  }
  if (!values.empty()) call.values = values;
  return call;
}

bool is_operation_of_reduce(std::string_view word) {
  for (std::size_t i = 0; i < enumerator_count<isa::ReduceOp>(); ++i) {
    if (to_string(static_cast<isa::ReduceOp>(i)) == word) return true;
  }
  return false;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

/// What our own words do that are not instructions; empty for others.
std::string advice_of_ours(const std::string& word, const ForeignCall& call) {
  if (is_operation_of_reduce(word)) {
    return fmt::format("along a dimension it is `{}({}, {}, dims={})`",
                       isa::Reduce::schema.description.mnemonic, call.operand, word, call.dims);
  }
  if (isa::parse_dtype(word)) {
    return fmt::format("a tile is converted by `{}({}, {})`",
                       isa::Cast::schema.description.mnemonic, call.operand, word);
  }
  if (contains(layout_operations(), word)) {
    return fmt::format("it is an operation on layouts: `{0}({1}, layout=layout_of({1}).{2}({3}))`",
                       isa::View::schema.description.mnemonic, call.operand, word, call.values);
  }
  if (is_builtin(word)) return fmt::format("it is a function: `{}({})`", word, call.operand);
  return {};
}

/// The argument that a call works on: the first tensor, else the first of all.
const ast::Expr* worked_on(const Arguments& args, const BindScope& scope) {
  for (const ast::Argument& each : args) {
    if (classify(each.value, scope) == ValueKind::tensor) return &each.value;
  }
  return args.empty() ? nullptr : &args[0].value;
}

/// Whether a call of `max` is that of a reduction: it has one tensor.
bool is_reduction(const std::string& word, const Arguments& args, const BindScope& scope) {
  return is_operation_of_reduce(word) &&
         std::ranges::count_if(args, [&](const ast::Argument& each) {
           return classify(each.value, scope) == ValueKind::tensor;
         }) == 1;
}

bool report_advice(const ast::Identifier& name, const std::string& advice, const BindScope& scope) {
  scope.diagnostics.error(Code::unknown_name, name.span,
                          fmt::format("tensors have no methods; {}", advice));
  return true;
}

bool report_method_of_tile(const ast::Method& node, const BindScope& scope) {
  const ForeignCall call = as_written(&*node.receiver, node.args, 0, scope);
  const std::string& word = node.method.text;
  std::string advice = advice_for(word, call);
  if (advice.empty()) advice = advice_for_attribute(word, call.operand);
  if (advice.empty()) advice = advice_of_ours(word, call);
  if (advice.empty()) {
    constexpr std::size_t shortest = 3;  // of less, every name is near
    const std::string near = word.size() < shortest ? "" : nearest(word, mnemonics());
    const auto* like = instruction_like(near.empty() ? word : near);
    advice = like != nullptr
                 ? said_of(*like, call)
                 : fmt::format(
                       "what is done to `{}` is an instruction, which takes it as operand "
                       "(`tilevm isa` lists them)",
                       call.operand);
  }
  return report_advice(node.method, advice, scope);
}

bool report_method_of_scalar(const ast::Method& node, const BindScope& scope) {
  const std::string value = text_of(*node.receiver, scope, "x");
  const std::string_view type = foreign_type(node.method.text).value_or(node.method.text);
  const std::string advice = isa::parse_scalar_kind(type)
                                 ? fmt::format("a conversion is `{}({})`", type, value)
                                 : fmt::format("they are combined by operators and by {}",
                                               fmt::join(builtin_names(), ", "));
  scope.diagnostics.error(Code::unknown_name, node.method.span,
                          fmt::format("scalars have no methods; {}", advice));
  return true;
}

bool report_method_of_list(const ast::Method& node, const BindScope& scope) {
  if (std::holds_alternative<ast::List>(node.receiver->node)) return false;  // `[layout].local(2)`
  const std::string list = text_of(*node.receiver, scope, "a");
  scope.diagnostics.error(
      Code::unknown_name, node.method.span,
      fmt::format("lists have no methods; a longer list is `{0} + [x]`, an element `{0}[i]`, the "
                  "length `len({0})`",
                  list));
  return true;
}

}  // namespace

bool report_foreign_method(const ast::Method& node, const BindScope& scope) {
  switch (classify(*node.receiver, scope)) {
    case ValueKind::tensor:
      return report_method_of_tile(node, scope);
    case ValueKind::scalar:
      return report_method_of_scalar(node, scope);
    case ValueKind::list:
      return report_method_of_list(node, scope);
    case ValueKind::dtype:
    case ValueKind::layout:
      return false;
    case ValueKind::unknown:
      break;
  }
  const auto* library = std::get_if<ast::Name>(&node.receiver->node);
  if (library == nullptr || scope.knows(library->text)) return false;
  const ForeignCall call = as_written(worked_on(node.args, scope), node.args, 1, scope);
  if (is_reduction(node.method.text, node.args, scope)) {
    scope.diagnostics.error(Code::unknown_name, node.method.span,
                            fmt::format("there is no `{}.{}` here; {}", library->text,
                                        node.method.text, advice_of_ours(node.method.text, call)));
    return true;
  }
  if (report_foreign_word(node.method, scope.diagnostics, call)) return true;
  if (!is_foreign_module(library->text)) return false;
  std::string advice = advice_of_ours(node.method.text, call);
  if (advice.empty() && is_mnemonic(node.method.text)) {
    advice = fmt::format("write `{}` alone", node.method.text);
  }
  scope.diagnostics.error(
      Code::unknown_name, library->text.empty() ? node.method.span : node.receiver->span,
      fmt::format("there is no `{}` here; {}", library->text,
                  advice.empty() ? "instructions are called by their names alone (`tilevm isa` "
                                   "lists them)"
                                 : advice));
  return true;
}

bool report_foreign_call(const ast::Call& call, const BindScope& scope) {
  const ForeignCall written = as_written(worked_on(call.args, scope), call.args, 1, scope);
  if (report_foreign_word(call.callee, scope.diagnostics, written)) return true;
  const std::string& word = call.callee.text;
  if (is_mnemonic(word) || is_layout_function(word)) return false;
  const std::string advice = advice_of_ours(word, written);
  if (advice.empty()) return false;
  scope.diagnostics.error(Code::unknown_name, call.callee.span,
                          fmt::format("there is no function `{}` here; {}", word, advice));
  return true;
}

void report_lone_strides(const ast::Call& call, const BindScope& scope) {
  std::string numbers;
  for (const ast::Argument& each : call.args) {
    numbers += (numbers.empty() ? "" : ", ") + text_of(each.value, scope, "..");
  }
  auto& error = scope.diagnostics.error(
      Code::wrong_operand_kind, call.callee.span,
      fmt::format("`{0}` has no shape, so it is not a layout by itself; a view gives it one: "
                  "`{1}(x, shape=[..], layout={0}({2}))`",
                  strides_function, isa::ViewGlobal::schema.description.mnemonic, numbers));
  add_note(error, fmt::format("a list of numbers has a name, `S = [{0}]` or `const S = [{0}]`, and "
                              "is used as `layout={1}(S)`",
                              numbers, strides_function));
  add_note(error,
           fmt::format("a layout that has a shape has a name, too: `memory_layout([M, N], [M, N], "
                       "[{}])`",
                       numbers));
}

namespace {

/// The number that an expression is, if it is one.
std::optional<double> number_of(const ast::Expr& expr) {
  if (const auto* integer = std::get_if<ast::Integer>(&expr.node)) {
    return static_cast<double>(integer->value);
  }
  if (const auto* real = std::get_if<ast::Float>(&expr.node)) return real->value;
  const auto* word = std::get_if<ast::Bool>(&expr.node);
  return word != nullptr ? std::optional(word->value ? 1.0 : 0.0) : std::nullopt;
}

}  // namespace

void report_no_tile_to_choose(const ast::Expr& condition, const ast::Expr& value,
                              const ast::Expr& otherwise, Span span, const BindScope& scope) {
  const std::string mask = text_of(condition, scope, "mask");
  const bool is_float = std::holds_alternative<ast::Float>(value.node) ||
                        std::holds_alternative<ast::Float>(otherwise.node);
  const std::string_view type = is_float ? "f32" : "i32";
  const auto yes = number_of(value), no = number_of(otherwise);
  auto& error = scope.diagnostics.error(
      Code::wrong_operand_kind, span,
      "one of the two values must be a tile, from which the other takes its type");
  const std::string_view cast = isa::Cast::schema.description.mnemonic;
  if (yes == 1.0 && no == 0.0) {
    add_note(error,
             fmt::format("1 where it holds and 0 elsewhere is `{}({}, {})`", cast, mask, type));
  } else if (yes == 0.0 && no == 1.0) {
    add_note(error,
             fmt::format("0 where it holds and 1 elsewhere is `{}(~({}), {})`", cast, mask, type));
  } else {
    add_note(error, fmt::format("a tile of one value is `{}({}, layout=layout_of({}), init={})`",
                                isa::AllocateRegister::schema.description.mnemonic, type, mask,
                                text_of(value, scope, "value")));
  }
}

}  // namespace tilevm::frontend
