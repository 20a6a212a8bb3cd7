// The grammar, in Boost.Spirit X3: the only file that includes it, because it is slow to compile.
//
// Rules build the tree by semantic actions. A mismatch in `must[rule]` is a fault of the user's,
// and the rule's name is what the message says was expected; otherwise the next alternative is
// tried. The input is one logical line, whose brackets are known to pair and to nest at most
// max_depth deep, which bounds the recursion of the rules.
// More than 400 lines: rules that use one another must be seen by one compilation.
#include <fmt/format.h>

#include <algorithm>
#include <boost/spirit/home/x3.hpp>
#include <string>
#include <utility>

#include "frontend/syntax/foreign_words.h"
#include "frontend/syntax/line_grammar.h"
#include "frontend/syntax/literals.h"
#include "frontend/syntax/precedence.h"
#include "frontend/syntax/syntax_error.h"

namespace tilevm::frontend {
namespace x3 = boost::spirit::x3;

namespace {

using Iterator = const char*;

struct BaseTag;  // the start of the file's text, from which spans count

template <class Context>
Span span_between(const Context& context, Iterator first, Iterator last) {
  const Iterator base = x3::get<BaseTag>(context);
  return {static_cast<std::uint32_t>(first - base), static_cast<std::uint32_t>(last - base)};
}

/// The span of the range that raw[] gave to an action.
template <class Context>
Span span_of(const Context& context) {
  const auto& range = x3::_attr(context);
  return span_between(context, range.begin(), range.end());
}

template <class Context>
std::string text_of(const Context& context) {
  const auto& range = x3::_attr(context);
  return std::string(range.begin(), range.end());
}

// ---------------------------------------------------------------------------------------------
// What rules make on the way

struct Arguments {
  std::vector<ast::Argument> list;
  int height = 0;  // of the highest
};

struct ArgumentNode {
  ast::Argument argument;
  int height = 0;
};

struct EntryNode {
  ast::ListEntry entry;
  int height = 0;
};

struct ComprehensionTail {
  ast::Identifier variable;
  Node values;
  std::optional<Node> condition;
};

struct ListNode {
  ast::List list;
  int height = 0;
  std::optional<ComprehensionTail> comprehension;  // of the one entry
};

struct SubscriptNode {
  ListNode node;
  Span span{};
};

struct ConditionalTail {
  Node condition;
  Node otherwise;
};

struct CallNode {
  ast::Identifier name;
  std::optional<Arguments> arguments;
};

struct MethodTail {
  ast::Identifier name;
  Arguments arguments;
  Span span{};
};

/// `a, b = value` or a lone expression; which of the two is decided when the line is complete.
struct SimpleLine {
  std::vector<Node> left;
  std::optional<ast::Expr> value;
};

// Where a rule's text goes, once it has matched.
void set_span(Node& node, Span span) { node.expr.span = node.outer = span; }
void set_span(ArgumentNode& node, Span span) { node.argument.span = span; }
void set_span(EntryNode& node, Span span) { node.entry.span = span; }
void set_span(SubscriptNode& node, Span span) { node.span = span; }
void set_span(MethodTail& node, Span span) { node.span = span; }
void set_span(ast::Param& node, Span span) { node.span = span; }
void set_span(ast::FunctionParam& node, Span span) { node.span = span; }
void set_span(ast::PipelineParam& node, Span span) { node.span = span; }
void set_span(ast::Decorator& node, Span span) { node.span = span; }

/// The action of `raw[rule's whole right side]`.
const auto spanned = [](auto& context) { set_span(x3::_val(context), span_of(context)); };

// ---------------------------------------------------------------------------------------------
// Tokens

const auto word_byte = x3::char_("a-zA-Z0-9_");
const auto skipper =
    x3::char_(" \t\r\n") | ('#' >> *(x3::char_ - '\n')) | ('\\' >> -x3::lit('\r') >> '\n');

const auto& must = x3::expect;

auto keyword(const char* word) { return x3::lexeme[x3::lit(word) >> !word_byte]; }

// A name in X3 is what a message says was expected.
template <class Tag, class Attribute>
using Rule = x3::rule<Tag, Attribute>;

const Rule<struct NameTag, ast::Identifier> name = "a name";
const auto name_def = x3::raw[x3::lexeme[x3::char_("a-zA-Z_") >> *word_byte]][([](auto& context) {
  const std::string text = text_of(context);
  x3::_pass(context) = !is_keyword(text);
  x3::_val(context) = {text, span_of(context)};
})];

const Rule<struct NumberTag, Node> number = "a number";
// Letters and digits after a number belong to it, so that `12ab` is one bad number.
const auto exponent = x3::char_("eE") >> -x3::char_("+-") >> x3::digit;
const auto number_def = x3::raw[x3::lexeme[&(-x3::lit('.') >> x3::digit) >>
                                           (('0' >> x3::char_("xXbBoO") >> *word_byte) |
                                            (*x3::char_("0-9_") >> -('.' >> *x3::char_("0-9_")) >>
                                             -exponent >> *word_byte))]][([](auto& context) {
  auto literal = read_number(text_of(context));
  const Span span = span_of(context);
  if (auto* fault = std::get_if<LiteralFault>(&literal)) {
    throw_fault(Code::bad_number, span, fault->message);
  }
  Node& node = x3::_val(context);
  if (auto* integer = std::get_if<ast::Integer>(&literal)) node.expr.node = *integer;
  if (auto* real = std::get_if<ast::Float>(&literal)) node.expr.node = *real;
  node.expr.span = node.outer = span;
})];

const Rule<struct StringTag, Node> string = "a string";
auto quoted(char quote) { return quote >> *(('\\' >> x3::char_) | (x3::char_ - quote)) >> quote; }
const auto string_def = x3::raw[x3::lexeme[quoted('"') | quoted('\'')]][([](auto& context) {
  auto literal = read_string(text_of(context));
  const Span span = span_of(context);
  if (auto* fault = std::get_if<LiteralFault>(&literal)) {
    throw_fault(Code::syntax_error, span, fault->message);
  }
  x3::_val(context) = {{*std::get_if<ast::String>(&literal), span}, 1, span};
})];

const Rule<struct BooleanTag, Node> boolean = "`true` or `false`";
const auto boolean_def = x3::raw[keyword("true") | keyword("True") | keyword("false") |
                                 keyword("False")][([](auto& context) {
  const Span span = span_of(context);
  const char first = *x3::_attr(context).begin();
  x3::_val(context) = {{ast::Bool{first == 't' || first == 'T'}, span}, 1, span};
})];

/// A table of operators; X3 takes the longest that fits.
struct SymbolOperators : x3::symbols<ast::BinaryOp> {
  explicit SymbolOperators(bool with_greater) {
    using Op = ast::BinaryOp;
    add("||", Op::logical_or)("&&", Op::logical_and)("==", Op::equal)("!=", Op::not_equal);
    add("<", Op::less)("<=", Op::less_equal)("<<", Op::shift_left);
    add("|", Op::bit_or)("^", Op::bit_xor)("&", Op::bit_and)("+", Op::add)("-", Op::sub);
    add("*", Op::mul)("/", Op::div)("//", Op::div)("%", Op::mod);
    if (with_greater) add(">", Op::greater)(">=", Op::greater_equal)(">>", Op::shift_right);
  }
};
const SymbolOperators any_symbol(true);
const SymbolOperators symbol_but_greater(false);  // in `<M / BM, N / BN>`

struct WordOperators : x3::symbols<ast::BinaryOp> {
  WordOperators() { add("or", ast::BinaryOp::logical_or)("and", ast::BinaryOp::logical_and); }
};
const WordOperators word_operator;

// Closing brackets; the names say what else is possible there.
#define TILEVM_TOKEN(id, parser, text)                      \
  const Rule<struct id##_token, x3::unused_type> id = text; \
  const auto id##_def = parser;                             \
  BOOST_SPIRIT_DEFINE(id)

TILEVM_TOKEN(close_paren, x3::lit(')'), "`)`")
TILEVM_TOKEN(close_list, x3::lit(']'), "`,` or `]`")
TILEVM_TOKEN(close_args, x3::lit(')'), "`,` or `)`")
TILEVM_TOKEN(close_grid, x3::lit('>'), "`,` or `>` after the grid")
TILEVM_TOKEN(open_def, x3::lit('('),
             "`<` and the grid of a kernel, as in `def name<extent>(...)`, or `(` and the "
             "parameters of a function")
TILEVM_TOKEN(open_paren, x3::lit('('), "`(`")
TILEVM_TOKEN(open_bracket, x3::lit('['), "`[`")
TILEVM_TOKEN(equals, x3::lit('='), "`=`")
TILEVM_TOKEN(type_colon, x3::lit(':'), "`:` and a type")
TILEVM_TOKEN(colon, x3::lit(':'), "`:` at the end of the line")
TILEVM_TOKEN(in_word, keyword("in"), "`in`")
TILEVM_TOKEN(else_word, keyword("else"), "`else` and the other value")
TILEVM_TOKEN(end, x3::eoi, "the end of the line")

// ---------------------------------------------------------------------------------------------
// Expressions

/// Items between commas, each for `action`; one comma may follow the last, before `close`.
/// `first` and `next` are the same rule, but the name of `first` may say what else is possible.
template <class First, class Next, class Action>
auto comma_list(const First& first, const Next& next, char close, const Action& action) {
  return must[first][action] >> *(',' >> !x3::lit(close) >> must[next][action]) >> -x3::lit(',');
}

const Rule<struct ExpressionTag, Node> expression = "an expression";
const Rule<struct GridExtentTag, Node> grid_extent = "a grid extent";

const auto add_operand = [](auto& context) {
  x3::_val(context).operands.push_back(std::move(x3::_attr(context)));
};
const auto add_operator = [](auto& context) {
  x3::_val(context).operators.push_back(x3::_attr(context));
};
const auto finish_chain = [](auto& context) {
  x3::_val(context) = fold(std::move(x3::_attr(context)));
};

const Rule<struct PrefixTag, PrefixOperator> prefix = "an operator";
const auto set_prefix = [](auto& context) {
  const Span span = span_of(context);
  switch (*x3::_attr(context).begin()) {
    case '-':
      x3::_val(context) = {ast::UnaryOp::minus, span, false};
      break;
    case '+':
      x3::_val(context) = {ast::UnaryOp::plus, span, false};
      break;
    case '~':
      x3::_val(context) = {ast::UnaryOp::bit_not, span, false};
      break;
    default: {
      const bool is_word = span.end - span.begin > 1;
      x3::_val(context) = {ast::UnaryOp::logical_not, span, is_word};
    }
  }
};
const auto prefix_def =
    x3::raw[x3::char_("-+~") | x3::lexeme['!' >> !x3::lit('=')] | keyword("not")][set_prefix];

/// An infix operator with its location, out of one of the tables.
struct InfixSpan {
  template <class Context>
  void operator()(Context& context) const {
    x3::_val(context).span = span_of(context);
  }
};
const auto set_op = [](auto& context) { x3::_val(context).op = x3::_attr(context); };
const Rule<struct WordInfixTag, ast::BinaryOp> word_infix = "an operator";
const auto word_infix_def = x3::lexeme[word_operator >> !word_byte];

const Rule<struct InfixTag, InfixOperator> infix = "an operator";
const Rule<struct GridInfixTag, InfixOperator> grid_infix = "an operator";
const auto infix_def = x3::raw[any_symbol[set_op] | word_infix[set_op]][InfixSpan{}];
const auto grid_infix_def = x3::raw[symbol_but_greater[set_op] | word_infix[set_op]][InfixSpan{}];

const Rule<struct PostfixTag, Node> postfix = "an expression";
const Rule<struct OperandTag, Operand> operand = "an expression";
const auto add_prefix = [](auto& context) {
  x3::_val(context).prefixes.push_back(x3::_attr(context));
};
const auto set_value = [](auto& context) {
  x3::_val(context).value = std::move(x3::_attr(context));
};
const auto operand_def = (+prefix[add_prefix] >> must[postfix][set_value]) | postfix[set_value];

const Rule<struct ChainTag, Chain> chain = "an expression";
const Rule<struct GridChainTag, Chain> grid_chain = "a grid extent";
const auto chain_def = operand[add_operand] >> *(infix[add_operator] >> must[operand][add_operand]);
const auto grid_chain_def = operand[add_operand] >>
                            *(grid_infix[add_operator] >> must[operand][add_operand]);
const auto grid_extent_def = grid_chain[finish_chain];

const Rule<struct TestTag, Node> test = "an expression";
const auto test_def = chain[finish_chain];

const Rule<struct ConditionalTag, ConditionalTail> conditional = "`if`";
const auto set_choice = [](auto& context) {
  x3::_val(context).condition = std::move(x3::_attr(context));
};
const auto set_otherwise = [](auto& context) {
  x3::_val(context).otherwise = std::move(x3::_attr(context));
};
const auto conditional_def =
    keyword("if") >> must[test][set_choice] >> must[else_word] >> must[expression][set_otherwise];

const auto take_test = [](auto& context) { x3::_val(context) = std::move(x3::_attr(context)); };
const auto apply_conditional = [](auto& context) {
  ConditionalTail& tail = x3::_attr(context);
  Node& node = x3::_val(context);
  const int height = height_over(
      std::max({node.height, tail.condition.height, tail.otherwise.height}), tail.condition.outer);
  const Span span = join(node.outer, tail.otherwise.outer);
  node = {{ast::Conditional{std::move(node.expr), std::move(tail.condition.expr),
                            std::move(tail.otherwise.expr)},
           span},
          height,
          span};
};
const auto expression_def = test[take_test] >> -conditional[apply_conditional];

// Arguments.
const Rule<struct ArgumentTag, ArgumentNode> argument = "an argument";
const Rule<struct FirstArgumentTag, ArgumentNode> first_argument = "an argument or `)`";
const auto first_argument_def = argument;
const auto set_argument_name = [](auto& context) {
  x3::_val(context).argument.name = std::move(x3::_attr(context));
};
const auto set_argument_value = [](auto& context) {
  Node& node = x3::_attr(context);
  x3::_val(context).height = node.height;
  x3::_val(context).argument.value = std::move(node.expr);
};
const Rule<struct ArgumentNameTag, ast::Identifier> argument_name = "a name";
const auto argument_name_def = name >> '=' >> !x3::lit('=');
const auto argument_def =
    x3::raw[(argument_name[set_argument_name] >> must[expression][set_argument_value]) |
            expression[set_argument_value]][spanned];

const Rule<struct ArgumentsTag, Arguments> arguments = "`(` and arguments";
const auto add_argument = [](auto& context) {
  ArgumentNode& node = x3::_attr(context);
  Arguments& all = x3::_val(context);
  all.height = std::max(all.height, node.height);
  all.list.push_back(std::move(node.argument));
};
const auto arguments_def = '(' >> (x3::lit(')') |
                                   (comma_list(first_argument, argument, ')', add_argument) >>
                                    must[close_args]));

// Lists.
const Rule<struct EntryTag, EntryNode> entry = "an expression";
const Rule<struct FirstEntryTag, EntryNode> first_entry = "an expression or `]`";
const auto first_entry_def = entry;
const auto set_entry = [](auto& context) {
  Node& node = x3::_attr(context);
  x3::_val(context).height = node.height;
  x3::_val(context).entry.value = std::move(node.expr);
};
const auto set_colon = [](auto& context) { x3::_val(context).entry.colon = true; };
const auto entry_def = x3::raw[expression[set_entry] >> -x3::lit(':')[set_colon]][spanned];

const Rule<struct ListTag, ListNode> list = "`[`";
const auto add_entry = [](auto& context) {
  EntryNode& node = x3::_attr(context);
  ListNode& all = x3::_val(context);
  all.height = std::max(all.height, node.height);
  all.list.entries.push_back(std::move(node.entry));
};
const Rule<struct ComprehensionTag, ComprehensionTail> comprehension = "`for`";
const auto comprehension_def =
    keyword("for") >>
    must[name]
        [([](auto& context) { x3::_val(context).variable = std::move(x3::_attr(context)); })] >>
    must[in_word] >>
    must[test][([](auto& context) { x3::_val(context).values = std::move(x3::_attr(context)); })] >>
    -(keyword("if") >> must[test][([](auto& context) {
        x3::_val(context).condition = std::move(x3::_attr(context));
      })]);
const auto set_comprehension = [](auto& context) {
  x3::_val(context).comprehension = std::move(x3::_attr(context));
};
const auto list_def = '[' >>
                      (x3::lit(']') |
                       (must[first_entry][add_entry] >>
                        (comprehension[set_comprehension] |
                         (*(',' >> !x3::lit(']') >> must[entry][add_entry]) >> -x3::lit(','))) >>
                        must[close_list]));

const Rule<struct SubscriptTag, ListNode> subscript = "`[`";
const auto subscript_def = '[' >> comma_list(entry, entry, ']', add_entry) >> must[close_list];

// Names, calls and chains of methods.
const Rule<struct CallTag, CallNode> call = "a name";
const auto set_callee = [](auto& context) {
  x3::_val(context).name = std::move(x3::_attr(context));
};
const auto set_arguments = [](auto& context) {
  x3::_val(context).arguments = std::move(x3::_attr(context));
};
const auto call_def = name[set_callee] >> -arguments[set_arguments];

const Rule<struct MethodTag, MethodTail> method = "a method";
const auto method_def =
    x3::raw['.' >> must[name][set_callee] >> must[arguments][set_arguments]][spanned];

const auto take_call = [](auto& context) {
  CallNode& source = x3::_attr(context);
  Node& node = x3::_val(context);
  if (!source.arguments) {
    node.expr.node = ast::Name{std::move(source.name.text)};
    return;
  }
  node.height = height_over(source.arguments->height, source.name.span);
  node.expr.node = ast::Call{std::move(source.name), std::move(source.arguments->list)};
};
const auto take_list = [](auto& context) {
  ListNode& source = x3::_attr(context);
  Node& node = x3::_val(context);
  node.height = source.height + 1;
  if (!source.comprehension) {
    node.expr.node = std::move(source.list);
    return;
  }
  ComprehensionTail& tail = *source.comprehension;
  ast::ListEntry& first = source.list.entries.front();
  if (first.colon) {
    throw_fault(Code::syntax_error, first.span, "a colon may only appear in offsets");
  }
  int height = std::max(source.height, tail.values.height);
  if (tail.condition) height = std::max(height, tail.condition->height);
  node.height = height_over(height, tail.variable.span);
  ast::Comprehension made{
      std::move(first.value), std::move(tail.variable), std::move(tail.values.expr), {}};
  if (tail.condition) made.condition = std::move(tail.condition->expr);
  node.expr.node = std::move(made);
};
const auto take_node = [](auto& context) { x3::_val(context) = std::move(x3::_attr(context)); };

const Rule<struct SpannedPrimaryTag, Node> spanned_primary = "an expression";
const auto spanned_primary_def = x3::raw[call[take_call] | list[take_list]][spanned];

const Rule<struct ParenthesesTag, Node> parentheses = "`(`";
const auto parentheses_def =
    x3::raw['(' >> must[expression][take_node] >> must[close_paren]]
           [([](auto& context) { x3::_val(context).outer = span_of(context); })];

const Rule<struct PrimaryTag, Node> primary = "an expression";
const auto primary_def = number[take_node] | string[take_node] | boolean[take_node] |
                         spanned_primary[take_node] | parentheses[take_node];

const auto apply_method = [](auto& context) {
  MethodTail& tail = x3::_attr(context);
  Node& node = x3::_val(context);
  const int height = height_over(std::max(node.height, tail.arguments.height), tail.name.span);
  const Span span = join(node.outer, tail.span);
  node = {{ast::Method{std::move(node.expr), std::move(tail.name), std::move(tail.arguments.list)},
           span},
          height,
          span};
};
const auto apply_subscript = [](auto& context) {
  auto& range = x3::_attr(context);
  Node& node = x3::_val(context);
  const int height = height_over(std::max(node.height, range.node.height), range.span);
  const Span span = join(node.outer, range.span);
  node = {
      {ast::Index{std::move(node.expr), std::move(range.node.list.entries)}, span}, height, span};
};
const Rule<struct SpannedSubscriptTag, SubscriptNode> spanned_subscript = "`[`";
const auto set_subscript = [](auto& context) {
  x3::_val(context).node = std::move(x3::_attr(context));
};
const auto spanned_subscript_def = x3::raw[subscript[set_subscript]][spanned];
const auto postfix_def = primary[take_node] >>
                         *(method[apply_method] | spanned_subscript[apply_subscript]);

BOOST_SPIRIT_DEFINE(name, number, string, boolean, word_infix, infix, grid_infix, prefix, operand,
                    chain, grid_chain, test, conditional, expression, grid_extent)
BOOST_SPIRIT_DEFINE(argument_name, argument, first_argument, arguments, entry, first_entry,
                    comprehension, list, subscript, spanned_subscript, call, method)
BOOST_SPIRIT_DEFINE(spanned_primary, parentheses, primary, postfix)

// ---------------------------------------------------------------------------------------------
// Lines of the top level

/// The expression that an action got.
const auto expr_of = [](auto& context) -> ast::Expr { return std::move(x3::_attr(context).expr); };

const auto set_name = [](auto& context) { x3::_val(context).name = x3::_attr(context); };
const auto const_name = [](auto& context) {
  x3::_val(context).names.push_back(std::move(x3::_attr(context)));
};
const auto const_annotation = [](auto& context) {
  x3::_val(context).annotation = std::move(x3::_attr(context));
};
const auto open_choices = [](auto& context) { x3::_val(context).choices.emplace(); };
const auto const_choice = [](auto& context) {
  x3::_val(context).choices->push_back(expr_of(context));
};
const auto const_value = [](auto& context) {
  x3::_val(context).values.push_back(expr_of(context));
};

const Rule<struct ConstTag, ast::ConstDecl> const_line = "`const`";
const auto const_line_def = keyword("const") >> must[name][const_name] >>
                            *(',' >> must[name][const_name]) >>
                            -(':' >> must[name][const_annotation]) >>
                            -(keyword("in") >> must[open_bracket][open_choices] >>
                              comma_list(expression, expression, ']', const_choice) >>
                              must[close_list]) >>
                            must[equals] >> must[expression][const_value] >>
                            *(',' >> must[expression][const_value]);

const Rule<struct RequireTag, ast::Require> require_line = "`require`";
const auto require_line_def =
    keyword("require") >>
    must[expression][([](auto& context) { x3::_val(context).condition = expr_of(context); })] >>
    -(',' >> must[string][([](auto& context) {
        x3::_val(context).message = std::get_if<ast::String>(&x3::_attr(context).expr.node)->value;
      })]);

const Rule<struct DecoratorTag, ast::Decorator> decorator_line = "`@`";
const auto decorator_line_def =
    x3::raw['@' >> must[name][set_name] >> -arguments[([](auto& context) {
              x3::_val(context).args = std::move(x3::_attr(context).list);
            })]][spanned];

/// A type is a name as yet.
const auto set_type = [](auto& context) {
  ast::Identifier& id = x3::_attr(context);
  x3::_val(context).type = {ast::Name{std::move(id.text)}, id.span};
};

const Rule<struct TypeTag, ast::Identifier> type = "a type";
const auto type_def = name;

const Rule<struct ParamNameTag, ast::Identifier> param_name =
    "the parameter's name after its type, as in `f16* a_ptr`";
const auto param_name_def = name;

const Rule<struct ParamTag, ast::Param> param = "a parameter such as `f16* a_ptr`";
const Rule<struct FirstParamTag, ast::Param> first_param = "a parameter or `)`";
const auto first_param_def = param;
const auto param_def =
    x3::raw[type[set_type] >>
            -x3::lit('*')[([](auto& context) { x3::_val(context).is_pointer = true; })] >>
            must[param_name][set_name]][spanned];

const auto add_param = [](auto& context) {
  x3::_val(context).params.push_back(std::move(x3::_attr(context)));
};
const auto add_extent = [](auto& context) { x3::_val(context).grid.push_back(expr_of(context)); };

const Rule<struct KernelTag, ast::Kernel> kernel_line = "`def`";
const auto kernel_line_def =
    keyword("def") >> must[name][set_name] >>
    x3::raw['<' >> comma_list(grid_extent, grid_extent, '>', add_extent) >> must[close_grid]]
           [([](auto& context) { x3::_val(context).grid_span = span_of(context); })] >>
    must[open_paren] >>
    (x3::lit(')') | (comma_list(first_param, param, ')', add_param) >> must[close_args])) >>
    must[colon];

// Functions.
const Rule<struct KindTag, ast::Identifier> kind = "what it is, such as `tile` or `scalar`";
const auto kind_def = name;
const Rule<struct FunctionParamTag, ast::FunctionParam> function_param = "a parameter";
const Rule<struct FirstFunctionParamTag, ast::FunctionParam> first_function_param =
    "a parameter or `)`";
const auto first_function_param_def = function_param;
const auto function_param_def = x3::raw[name[set_name] >> -(':' >> must[kind][([](auto& context) {
                                                              x3::_val(context).kind =
                                                                  std::move(x3::_attr(context));
                                                            })]) >>
                                        -('=' >> must[expression][([](auto& context) {
                                            x3::_val(context).fallback = expr_of(context);
                                          })])][spanned];

const Rule<struct FunctionTag, ast::Function> function_line = "`def`";
const auto add_result = [](auto& context) {
  x3::_val(context).results.push_back(std::move(x3::_attr(context)));
};
const auto function_line_def =
    keyword("def") >> must[name][set_name] >> must[open_def] >>
    (x3::lit(')') |
     (comma_list(first_function_param, function_param, ')', add_param) >> must[close_args])) >>
    -("->" >> must[kind][add_result] >> *(',' >> must[kind][add_result])) >> must[colon];

const Rule<struct IncludeTag, ast::Include> include_line = "`include`";
const auto include_line_def = keyword("include") >> must[string][([](auto& context) {
                                const ast::Expr& path = x3::_attr(context).expr;
                                x3::_val(context).path =
                                    std::get_if<ast::String>(&path.node)->value;
                                x3::_val(context).path_span = path.span;
                              })];

const Rule<struct PipelineParamTag, ast::PipelineParam> tensor =
    "a parameter such as `a: f16[M, K]`";
const Rule<struct FirstTensorTag, ast::PipelineParam> first_tensor = "a parameter or `)`";
const auto first_tensor_def = tensor;
// A tensor may still be called `inout`.
const auto set_inout = [](auto& context) { x3::_val(context).inout = true; };
const auto open_shape = [](auto& context) { x3::_val(context).shape.emplace(); };
const auto add_shape = [](auto& context) { x3::_val(context).shape->push_back(expr_of(context)); };
const auto tensor_def =
    x3::raw[-((keyword("inout") >> &name)[set_inout]) >> name[set_name] >> must[type_colon] >>
            must[type][set_type] >>
            -(x3::lit('[')[open_shape] >> comma_list(expression, expression, ']', add_shape) >>
              must[close_list])][spanned];

using Tensors = std::vector<ast::PipelineParam>;
const Rule<struct TensorsTag, Tensors> tensors = "`(` and parameters such as `a: f16[M, K]`";
const auto add_tensor = [](auto& context) {
  x3::_val(context).push_back(std::move(x3::_attr(context)));
};
const auto tensors_def = '(' >>
                         (x3::lit(')') |
                          (comma_list(first_tensor, tensor, ')', add_tensor) >> must[close_args]));

const Rule<struct PipelineTag, ast::Pipeline> pipeline_line = "`pipeline`";
const auto pipeline_line_def = keyword("pipeline") >> must[name][set_name] >>
                               must[tensors][([](auto& context) {
                                 x3::_val(context).inputs = std::move(x3::_attr(context));
                               })] >>
                               -("->" >> must[tensors][([](auto& context) {
                                   x3::_val(context).outputs = std::move(x3::_attr(context));
                                 })]) >>
                               must[colon];

BOOST_SPIRIT_DEFINE(const_line, require_line, decorator_line, type, param_name, param, first_param,
                    kernel_line)
BOOST_SPIRIT_DEFINE(kind, function_param, first_function_param, function_line, include_line)
BOOST_SPIRIT_DEFINE(tensor, first_tensor, tensors, pipeline_line)

// ---------------------------------------------------------------------------------------------
// Statements

const Rule<struct LoopValuesTag, Node> loop_values = "`range(...)` or a list";
const auto loop_values_def = expression;
const Rule<struct ForTag, ast::For> for_line = "`for`";
const auto add_variable = [](auto& context) {
  x3::_val(context).variables.push_back(x3::_attr(context));
};
const auto add_range = [](auto& context) {
  x3::_val(context).range.push_back(std::move(x3::_attr(context).argument));
};
const auto for_line_def =
    keyword("for") >> must[name][add_variable] >>
    *(',' >> must[name][add_variable]) >> must[in_word] >>
    ((keyword("range") >> must[open_paren] >> comma_list(argument, argument, ')', add_range) >>
      must[close_args]) |
     must[loop_values][([](auto& context) { x3::_val(context).list = expr_of(context); })]) >>
    must[colon];

const Rule<struct ReturnTag, ast::Return> return_line = "`return`";
const auto add_returned = [](auto& context) {
  x3::_val(context).values.push_back(expr_of(context));
};
const auto return_line_def = keyword("return") >> -(!x3::eoi >> must[expression][add_returned] >>
                                                    *(',' >> must[expression][add_returned]));

const auto set_condition = [](auto& context) { x3::_val(context).condition = expr_of(context); };
const Rule<struct WhileTag, ast::While> while_line = "`while`";
const auto while_line_def = keyword("while") >> must[expression][set_condition] >> must[colon];
const Rule<struct WithTag, ast::With> with_line = "`with`";
const Rule<struct GroupNameTag, ast::Identifier> group_name =
    "a group of warps, such as `warps(0, 4)`";
const auto group_name_def = name;
const Rule<struct FirstGroupArgumentTag, ArgumentNode> first_group_argument = "an argument or `)`";
const auto first_group_argument_def = argument;
const auto with_line_def = keyword("with") >> must[group_name][([](auto& context) {
                             x3::_val(context).group = std::move(x3::_attr(context));
                           })] >>
                           must[open_paren] >>
                           (x3::lit(')') |
                            (comma_list(first_group_argument, argument, ')', ([](auto& context) {
                                          x3::_val(context).args.push_back(
                                              std::move(x3::_attr(context).argument));
                                        })) >>
                             must[close_args])) >>
                           must[colon];
const Rule<struct IfTag, IfLine> if_line = "`if`";
const auto if_line_def = keyword("if") >> must[expression][set_condition] >> must[colon];
const Rule<struct ElifTag, ElifLine> elif_line = "`elif`";
const auto elif_line_def = keyword("elif") >> must[expression][set_condition] >> must[colon];

const Rule<struct SimpleTag, SimpleLine> simple_line = "a statement";
const auto add_left = [](auto& context) {
  x3::_val(context).left.push_back(std::move(x3::_attr(context)));
};
const auto simple_line_def =
    expression[add_left] >> *(',' >> must[expression][add_left]) >>
    -(x3::lexeme['=' >> !x3::lit('=')] >>
      must[expression][([](auto& context) { x3::_val(context).value = expr_of(context); })]);

/// The name in `f32* p`, which reads as a product.
const ast::Name* declared_pointer(const ast::Expr& expr) {
  const auto* product = std::get_if<ast::Binary>(&expr.node);
  if (product == nullptr || product->op != ast::BinaryOp::mul) return nullptr;
  const auto* pointee = std::get_if<ast::Name>(&product->left->node);
  const bool is_type =
      pointee != nullptr && (isa::parse_dtype(pointee->text) || foreign_type(pointee->text));
  return is_type ? std::get_if<ast::Name>(&product->right->node) : nullptr;
}

/// `a, b = value` needs names on the left; without `=` only a call makes sense.
LineNode finish_simple(SimpleLine line) {
  if (!line.value) {
    const Node& only = line.left.front();
    const bool is_call = std::holds_alternative<ast::Call>(only.expr.node) ||
                         std::holds_alternative<ast::Method>(only.expr.node);
    const Span all = join(only.outer, line.left.back().outer);
    if (line.left.size() > 1 || !is_call) {
      throw_fault(Code::syntax_error, all,
                  "this computes a value and drops it; a statement is a call or `name = value`");
    }
    return ast::ExprStmt{std::move(line.left.front().expr)};
  }
  ast::Assign assign;
  for (const Node& node : line.left) {
    const auto* index = std::get_if<ast::Index>(&node.expr.node);
    const bool is_element = index != nullptr && line.left.size() == 1 &&
                            index->entries.size() == 1 && !index->entries[0].colon;
    const ast::Expr& base = is_element ? *index->base : node.expr;
    const auto* target = std::get_if<ast::Name>(&base.node);
    if (const ast::Name* declared = declared_pointer(node.expr)) {
      throw_fault(Code::syntax_error, node.outer,
                  fmt::format("a name is not declared: `{0} = ..`; pointers are parameters of "
                              "kernels, and memory at an offset is a view",
                              declared->text),
                  declared->text);
    }
    if (target == nullptr || node.outer != node.expr.span) {
      throw_fault(Code::syntax_error, node.outer,
                  "only a name can be assigned to, or an entry of an array of tiles; elements of a "
                  "tile are written by instructions");
    }
    assign.targets.push_back({target->text, base.span});
    if (is_element) assign.index = index->entries[0].value;
  }
  assign.value = std::move(*line.value);
  return assign;
}

const auto set_line = [](auto& context) { x3::_val(context) = std::move(x3::_attr(context)); };
template <class Value>
struct SetConstant {
  template <class Context>
  void operator()(Context& context) const {
    x3::_val(context) = Value{};
  }
};

const Rule<struct LineTag, LineNode> line_rule = "a statement";
const auto line_rule_def =
    const_line[set_line] | require_line[set_line] | decorator_line[set_line] |
    kernel_line[set_line] | function_line[set_line] | include_line[set_line] |
    pipeline_line[set_line] | for_line[set_line] | while_line[set_line] | with_line[set_line] |
    return_line[set_line] | if_line[set_line] | elif_line[set_line] |
    (keyword("else")[SetConstant<ElseLine>{}] >> must[colon]) |
    keyword("break")[SetConstant<ast::Break>{}] |
    keyword("continue")[SetConstant<ast::Continue>{}] | keyword("pass")[SetConstant<ast::Pass>{}] |
    (simple_line >> must[end])[(
        [](auto& context) { x3::_val(context) = finish_simple(std::move(x3::_attr(context))); })];

const Rule<struct WholeLineTag, LineNode> whole_line = "a statement";
const auto whole_line_def = must[line_rule][set_line] >> must[end];
const Rule<struct WholeExpressionTag, Node> whole_expression = "an expression";
const auto whole_expression_def = must[expression][take_node] >> must[end];

BOOST_SPIRIT_DEFINE(loop_values, for_line, while_line, group_name, first_group_argument, with_line,
                    if_line, elif_line, return_line, simple_line, line_rule, whole_line,
                    whole_expression)

// ---------------------------------------------------------------------------------------------
// Running it

/// Runs a rule over a line; reports the one fault that ends it, if any.
template <class Attribute, class Grammar>
std::optional<Attribute> run(const Grammar& grammar, const SourceFile& source, Span line,
                             Diagnostics& diagnostics) {
  const Iterator base = source.text().data();
  Iterator first = base + line.begin;
  const Iterator last = base + line.end;
  Attribute result;
  try {
    const auto with_base = x3::with<BaseTag>(base)[grammar];
    if (x3::phrase_parse(first, last, with_base, skipper, result)) return result;
    diagnostics.error(Code::syntax_error, line, "this line cannot be read");
  } catch (const x3::expectation_failure<Iterator>& failure) {
    const auto at = static_cast<std::size_t>(failure.where() - base);
    report_expected(source, line, at, failure.which(), diagnostics);
  } catch (const LineFault& fault) {
    diagnostics.report(fault.diagnostic);
  }
  return std::nullopt;
}

/// A constant needs a value; reports it if one has none.
bool is_complete(const ast::ConstDecl& decl, Span line, Diagnostics& diagnostics) {
  const std::size_t names = decl.names.size();
  const std::size_t values = decl.values.size();
  if (decl.choices && names > 1) {
    diagnostics.error(Code::syntax_error, line,
                      "`in [...]` gives the choices of one constant; declare each on its own line");
    return false;
  }
  if (names == values) return true;
  diagnostics.error(Code::syntax_error, line,
                    fmt::format("{} name{} but {} value{}; each constant needs one value", names,
                                names == 1 ? "" : "s", values, values == 1 ? "" : "s"));
  return false;
}

}  // namespace

std::optional<LineNode> parse_line(const SourceFile& source, const LogicalLine& line,
                                   Diagnostics& diagnostics) {
  auto node = run<LineNode>(whole_line, source, line.span, diagnostics);
  if (!node) return std::nullopt;
  const auto* decl = std::get_if<ast::ConstDecl>(&*node);
  if (decl != nullptr && !is_complete(*decl, line.span, diagnostics)) return std::nullopt;
  return node;
}

std::optional<ast::Expr> parse_expression_line(const SourceFile& source, const LogicalLine& line,
                                               Diagnostics& diagnostics) {
  auto node = run<Node>(whole_expression, source, line.span, diagnostics);
  if (!node) return std::nullopt;
  return std::move(node->expr);
}

}  // namespace tilevm::frontend
