// The tree of a `.tile` file as it was written: names are text, calls are generic, nothing is
// resolved. The parser (grammar.h) makes it, the printer (print.h) writes it back, and the binder
// turns it into an isa program.
//
// Every node carries the Span it was read from. Equality is deep and ignores spans, comments and
// blank lines: two trees are equal when they say the same. Nodes are plain values; the parser
// bounds their height (max_depth), so recursion over a tree, its copies and its destructor are
// safe.
//
// More than 400 lines: nodes hold one another, so all kinds of them are declared in one text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "isa/base/source.h"

namespace tilevm::frontend::ast {

/// No expression tree is higher, and no block or bracket is nested deeper, than this.
inline constexpr int max_depth = 256;

/// A value on the heap with the copy, move and equality of the value itself: it lets a node hold a
/// node of its own kind. A moved-from Box may only be assigned to or destroyed.
template <class T>
class Box {
 public:
  Box() : value_(std::make_unique<T>()) {}
  Box(T value)  // NOLINT: implicit by intent
      : value_(std::make_unique<T>(std::move(value))) {}
  Box(const Box& other) : value_(std::make_unique<T>(*other)) {}
  Box(Box&& other) noexcept = default;
  Box& operator=(const Box& other) {
    value_ = std::make_unique<T>(*other);
    return *this;
  }
  Box& operator=(Box&& other) noexcept = default;
  ~Box() = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

  friend bool operator==(const Box& a, const Box& b) { return *a == *b; }

 private:
  std::unique_ptr<T> value_;
};

/// A name with its location: an assigned variable, a parameter, a kernel's name, a keyword
/// argument.
struct Identifier {
  std::string text;
  Span span{};
};

// ---------------------------------------------------------------------------------------------
// Expressions

struct Expr;
struct Argument;
struct ListEntry;

/// `1024`, `0x3f`, `0b101`. `text` is how it was written (the printer keeps it); it equals `value`.
struct Integer {
  std::uint64_t value = 0;
  std::string text;
};

/// `0.5`, `1e-3`. `value` is `text` rounded to the nearest double; it is finite.
struct Float {
  double value = 0;
  std::string text;
};

struct Bool {
  bool value = false;
};

/// `"text"`; `value` has the escapes resolved.
struct String {
  std::string value;
};

/// A name that stands for a value, a type or a layout.
struct Name {
  std::string text;
};

/// `!` and `not` are both `logical_not`.
enum class UnaryOp { minus, plus, logical_not, bit_not };

struct Unary {
  UnaryOp op = UnaryOp::minus;
  Span op_span{};
  Box<Expr> operand;
};

/// `/` and `//` are both `div`; `and` and `&&` are `logical_and`; `or` and `||` are `logical_or`.
enum class BinaryOp {
  logical_or,
  logical_and,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  bit_or,
  bit_xor,
  bit_and,
  shift_left,
  shift_right,
  add,
  sub,
  mul,
  div,
  mod,
};

struct Binary {
  BinaryOp op = BinaryOp::add;
  Span op_span{};
  Box<Expr> left;
  Box<Expr> right;
};

/// `callee(args)`: an instruction, a primitive layout, a kernel in a pipeline.
struct Call {
  Identifier callee;
  std::vector<Argument> args;
};

/// `receiver.method(args)`: the next factor of a layout, or an operation on one.
struct Method {
  Box<Expr> receiver;
  Identifier method;
  std::vector<Argument> args;
};

/// `[a, b:, c]`.
struct List {
  std::vector<ListEntry> entries;
};

/// `value if condition else otherwise`.
struct Conditional {
  Box<Expr> value;
  Box<Expr> condition;
  Box<Expr> otherwise;
};

/// `base[index]`: an element of a list or of an array of tiles.
struct Index {
  Box<Expr> base;
  std::vector<ListEntry> entries;
};

/// `[element for variable in values if condition]`.
struct Comprehension {
  Box<Expr> element;
  Identifier variable;
  Box<Expr> values;
  std::optional<Box<Expr>> condition;
};

using ExprNode = std::variant<Integer, Float, Bool, String, Name, Unary, Binary, Call, Method, List,
                              Conditional, Index, Comprehension>;

/// Any expression. `span` covers its text without parentheses around the whole.
struct Expr {
  ExprNode node;
  Span span{};
};

/// `value` or `name=value`; `span` covers both.
struct Argument {
  std::optional<Identifier> name;
  Expr value;
  Span span{};
};

/// An entry of a list; `colon` says that `:` follows it (a tile starts here along this dimension).
struct ListEntry {
  Expr value;
  bool colon = false;
  Span span{};
};

// ---------------------------------------------------------------------------------------------
// Statements

struct Stmt;
using Block = std::vector<Stmt>;

/// `targets = value`, one target or several; `target[index] = value`, one.
struct Assign {
  std::vector<Identifier> targets;
  std::optional<Expr> index;
  Expr value;
};

/// An expression that is a statement; the parser lets through calls and method calls only.
struct ExprStmt {
  Expr value;
};

/// `for variables in range(args):`, or `for variables in list:`, which is expanded.
struct For {
  std::vector<Identifier> variables;
  std::vector<Argument> range;
  std::optional<Expr> list;
  Block body;
};

struct While {
  Expr condition;
  Block body;
};

/// `with group(args):`, the part of a group of warps.
struct With {
  Identifier group;
  std::vector<Argument> args;
  Block body;
};

/// `if condition:` or `elif condition:` with its body. `span` covers the header.
struct IfArm {
  Expr condition;
  Block body;
  Span span{};
};

/// `else_body` is absent without an `else`.
struct If {
  std::vector<IfArm> arms;
  std::optional<Block> else_body;
  Span else_span{};
};

struct Break {};
struct Continue {};
struct Pass {};

/// `return`, `return value`, `return a, b`.
struct Return {
  std::vector<Expr> values;
};

using StmtNode =
    std::variant<Assign, ExprStmt, For, While, With, If, Break, Continue, Pass, Return>;

/// `span` covers the statement, of a compound one its header line only. `blank_before` says that
/// an empty line was directly before it.
struct Stmt {
  StmtNode node;
  Span span{};
  bool blank_before = false;
};

// ---------------------------------------------------------------------------------------------
// Top level

/// `const names [: annotation] [in choices] = values`, as many values as names.
struct ConstDecl {
  std::vector<Identifier> names;
  std::optional<Identifier> annotation;
  std::optional<std::vector<Expr>> choices;
  std::vector<Expr> values;
};

/// `require condition[, "message"]`.
struct Require {
  Expr condition;
  std::optional<std::string> message;
};

/// `@name(args)` or `@name` before a `def`.
struct Decorator {
  Identifier name;
  std::vector<Argument> args;
  Span span{};
};

/// `f16* a_ptr` or `i32 n`. `type` is a Name.
struct Param {
  Expr type;
  bool is_pointer = false;
  Identifier name;
  Span span{};
};

/// `def name<grid>(params):`. `grid` has at least one extent; `grid_span` covers `<...>`.
struct Kernel {
  std::vector<Decorator> decorators;
  Identifier name;
  std::vector<Expr> grid;
  Span grid_span{};
  std::vector<Param> params;
  Block body;
};

/// A parameter of a function: `x`, `x: tile`, `x = 1`. `kind` is what it must be given.
struct FunctionParam {
  Identifier name;
  std::optional<Identifier> kind;
  std::optional<Expr> fallback;
  Span span{};
};

/// `def name(params) -> results:`. `text` covers the header and the body.
struct Function {
  Identifier name;
  std::vector<FunctionParam> params;
  std::vector<Identifier> results;  ///< kinds
  Block body;
  Span text{};
};

struct Item;

/// `include "path"`. `items` are those of the file, or none where it was included before; they take
/// no part in equality.
struct Include {
  std::string path;
  Span path_span{};
  std::vector<Item> items;
};

/// `a: f16[M, K]`, `inout a: f16[M, K]`, or `n: i32` (no shape: a scalar). `type` is a Name.
struct PipelineParam {
  bool inout = false;
  Identifier name;
  Expr type;
  std::optional<std::vector<Expr>> shape;
  Span span{};
};

/// `pipeline name(inputs) -> (outputs):`.
struct Pipeline {
  Identifier name;
  std::vector<PipelineParam> inputs;
  std::vector<PipelineParam> outputs;
  Block body;
};

using ItemNode = std::variant<ConstDecl, Require, Kernel, Pipeline, Function, Include>;

/// `span` covers the item's line, of a kernel or pipeline its header line (without decorators).
struct Item {
  ItemNode node;
  Span span{};
  bool blank_before = false;
};

/// Calls f(node) for every item of a kind, those of included files where they are included.
template <class Node, class F>
void for_each(const std::vector<Item>& items, const F& f) {
  for (const Item& item : items) {
    if (const auto* node = std::get_if<Node>(&item.node)) f(*node);
    if (const auto* include = std::get_if<Include>(&item.node)) for_each<Node>(include->items, f);
  }
}

/// A comment. `text` begins with `#` and has no line break. An own-line comment has no code before
/// it on its line.
struct Comment {
  std::string text;
  Span span{};
  bool own_line = false;
  bool blank_before = false;   ///< an empty line was directly before it
  int depth = 0;               ///< number of blocks that contain a comment on a line of its own
  std::uint32_t code_end = 0;  ///< end of the code before any other comment on its line
};

/// A file. Comments are in the order of the text.
struct Program {
  std::vector<Item> items;
  std::vector<Comment> comments;
};

// ---------------------------------------------------------------------------------------------
// Equality (deep, without spans, comments and blank lines) and names of operators

[[nodiscard]] bool operator==(const Identifier& a, const Identifier& b);
[[nodiscard]] bool operator==(const Expr& a, const Expr& b);
[[nodiscard]] bool operator==(const Argument& a, const Argument& b);
[[nodiscard]] bool operator==(const ListEntry& a, const ListEntry& b);
[[nodiscard]] bool operator==(const Stmt& a, const Stmt& b);
[[nodiscard]] bool operator==(const Item& a, const Item& b);
[[nodiscard]] bool operator==(const Program& a, const Program& b);

/// How the printer writes an operator: "-", "not", "and", "<<".
[[nodiscard]] std::string_view to_string(UnaryOp op);
[[nodiscard]] std::string_view to_string(BinaryOp op);

}  // namespace tilevm::frontend::ast
