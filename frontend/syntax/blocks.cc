// Assembling blocks from the indentation of lines: the rest of parse() and parse_expression().
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "frontend/syntax/grammar.h"
#include "frontend/syntax/line_grammar.h"
#include "frontend/syntax/lines.h"

namespace tilevm::frontend {
namespace {

template <class T>
constexpr bool opens_block = false;
template <>
constexpr bool opens_block<ast::For> = true;
template <>
constexpr bool opens_block<ast::While> = true;
template <>
constexpr bool opens_block<ast::With> = true;

/// What names a value in a whole file, for a line that assigns one outside of all bodies; empty for
/// other lines.
std::string constant_of(const LineNode& node) {
  const auto* const assigned = std::get_if<ast::Assign>(&node);
  if (assigned == nullptr || assigned->index || assigned->targets.size() != 1) return {};
  return fmt::format("; a value of the whole file is a constant, `const {} = ..`",
                     assigned->targets.front().text);
}

class Assembler {
 public:
  Assembler(const SourceFile& source, const Lines& lines, Diagnostics& diagnostics)
      : source_(source),
        lines_(lines.lines),
        diagnostics_(diagnostics),
        depths_(lines_.size(), 0) {}

  ast::Program run();

  /// For every line, how many blocks contain it.
  const std::vector<int>& depths() const { return depths_; }

 private:
  /// The indentation of the lines of one block. A line that deviates is reported once.
  struct Level {
    int indent = 0;
    int tolerated = -1;  // a wrong indentation that is already reported
  };

  bool at_end() const { return next_ >= lines_.size(); }
  const LogicalLine& line() const { return lines_[next_]; }
  std::string_view word() const;
  std::optional<LineNode> take_line(int depth);

  void item(ast::Program& program);
  void decorator_is_alone();
  void add_item(ast::Program& program, LineNode node, const LogicalLine& at);
  ast::Block block(const LogicalLine& header, int depth, bool silent);
  void check_level(Level& level);
  void check_depth(const LogicalLine& header);
  void statement(ast::Block& block, int depth);
  void if_statement(ast::Block& out, int depth);
  void else_arm(ast::If& node, const LogicalLine& at, const LineNode& parsed, int depth);
  void add_statement(ast::Block& out, LineNode node, const LogicalLine& at, int depth);
  void misplaced(const LogicalLine& at, std::string message);

  const SourceFile& source_;
  const std::vector<LogicalLine>& lines_;
  Diagnostics& diagnostics_;
  std::vector<int> depths_;
  std::size_t next_ = 0;
  std::vector<ast::Decorator> decorators_;  // that wait for their `def`
  bool decorators_blank_ = false;           // an empty line was before the first
};

/// The word that the next line begins with.
std::string_view Assembler::word() const { return leading_word(source_.text(line().span)); }

/// Parses the next line and steps past it.
std::optional<LineNode> Assembler::take_line(int depth) {
  depths_[next_] = depth;
  const LogicalLine& taken = lines_[next_++];
  if (taken.broken) return std::nullopt;
  return parse_line(source_, taken, diagnostics_);
}

void Assembler::misplaced(const LogicalLine& at, std::string message) {
  diagnostics_.error(Code::misplaced, at.span, std::move(message));
}

// ---------------------------------------------------------------------------------------------
// Top level

ast::Program Assembler::run() {
  ast::Program program;
  Level level;
  while (!at_end()) {
    check_level(level);
    item(program);
  }
  decorator_is_alone();
  return program;
}

void Assembler::decorator_is_alone() {
  if (decorators_.empty()) return;
  diagnostics_.error(Code::misplaced, decorators_.back().span,
                     "a decorator must come directly before the `def` of a kernel");
  decorators_.clear();
}

void Assembler::item(ast::Program& program) {
  const LogicalLine& at = line();
  const bool kernel_follows = word() == "def";
  std::optional<LineNode> node = take_line(0);
  if (!node) {
    // A broken header's body is read for its own faults. Nothing is said about decorators before a
    // broken line: it may have been their `def`.
    decorators_.clear();
    block(at, 1, true);
    return;
  }
  if (auto* decorator = std::get_if<ast::Decorator>(&*node)) {
    if (decorators_.empty()) decorators_blank_ = at.blank_before;
    decorators_.push_back(std::move(*decorator));
    return;
  }
  if (!kernel_follows) decorator_is_alone();
  add_item(program, std::move(*node), at);
}

void Assembler::add_item(ast::Program& program, LineNode node, const LogicalLine& at) {
  ast::Item item{{}, at.span, at.blank_before};
  if (std::holds_alternative<ast::Function>(node)) decorator_is_alone();
  if (auto* kernel = std::get_if<ast::Kernel>(&node)) {
    if (!decorators_.empty()) item.blank_before = decorators_blank_;
    kernel->decorators = std::exchange(decorators_, {});
    kernel->body = block(at, 1, false);
    item.node = std::move(*kernel);
  } else if (auto* pipeline = std::get_if<ast::Pipeline>(&node)) {
    pipeline->body = block(at, 1, false);
    item.node = std::move(*pipeline);
  } else if (auto* function = std::get_if<ast::Function>(&node)) {
    function->body = block(at, 1, false);
    function->text = {at.span.begin, lines_[next_ - 1].span.end};
    item.node = std::move(*function);
  } else if (auto* include = std::get_if<ast::Include>(&node)) {
    item.node = std::move(*include);
  } else if (auto* decl = std::get_if<ast::ConstDecl>(&node)) {
    item.node = std::move(*decl);
  } else if (auto* require = std::get_if<ast::Require>(&node)) {
    item.node = std::move(*require);
  } else {
    misplaced(at, "a statement must be in the body of a `def` or a `pipeline`" + constant_of(node));
    block(at, 1, true);
    return;
  }
  program.items.push_back(std::move(item));
}

// ---------------------------------------------------------------------------------------------
// Blocks

/// The lines that are deeper than `header`. `silent` forgives a missing block.
ast::Block Assembler::block(const LogicalLine& header, int depth, bool silent) {
  ast::Block result;
  if (at_end() || line().indent <= header.indent) {
    if (!silent) {
      diagnostics_.error(Code::bad_indentation, header.span,
                         "this line needs a block: indent the lines after it, or write `pass`");
    }
    return result;
  }
  if (depth > ast::max_depth) {
    check_depth(header);
    return result;
  }
  Level level{line().indent, -1};
  while (!at_end() && line().indent > header.indent) {
    check_level(level);
    statement(result, depth);
  }
  return result;
}

/// Blocks beyond the limit are skipped.
void Assembler::check_depth(const LogicalLine& header) {
  diagnostics_.error(Code::nesting_too_deep, line().span,
                     fmt::format("blocks nest more than {} deep", ast::max_depth));
  while (!at_end() && line().indent > header.indent) ++next_;
}

void Assembler::check_level(Level& level) {
  const int indent = line().indent;
  if (indent == level.indent || indent == level.tolerated) return;
  level.tolerated = indent;
  if (line().broken) return;
  const std::uint32_t end = line().span.begin;
  const auto begin = static_cast<std::uint32_t>(source_.text().rfind('\n', end) + 1);
  diagnostics_.error(
      Code::bad_indentation, {begin, end},
      fmt::format("this line is indented by {} columns, but its block by {}; only the body of a "
                  "line that ends with `:` is indented further",
                  indent, level.indent));
}

// ---------------------------------------------------------------------------------------------
// Statements

void Assembler::statement(ast::Block& block_so_far, int depth) {
  if (word() == "if") return if_statement(block_so_far, depth);
  const LogicalLine& at = line();
  std::optional<LineNode> node = take_line(depth);
  if (!node) {
    block(at, depth + 1, true);
    return;
  }
  add_statement(block_so_far, std::move(*node), at, depth);
}

void Assembler::add_statement(ast::Block& out, LineNode node, const LogicalLine& at, int depth) {
  const auto add = [&](auto&& value) {
    using Node = std::decay_t<decltype(value)>;
    if constexpr (opens_block<Node>) value.body = block(at, depth + 1, false);
    if constexpr (std::is_constructible_v<ast::StmtNode, Node>) {
      out.push_back({std::forward<decltype(value)>(value), at.span, at.blank_before});
    } else {
      const bool is_else = std::is_same_v<Node, ElseLine> || std::is_same_v<Node, ElifLine>;
      misplaced(at, is_else ? "there is no `if` that this belongs to"
                            : "this must be at the top level of the file, not indented");
      block(at, depth + 1, true);
    }
  };
  std::visit(add, std::move(node));
}

/// An `if` with the `elif` and `else` lines of the same indentation. The branches of a broken `if`
/// are read too, so that they are not taken for branches without one.
void Assembler::if_statement(ast::Block& out, int depth) {
  const LogicalLine& first = line();
  ast::If result;
  std::optional<LineNode> node = take_line(depth);
  const bool broken = !node;
  ast::IfArm arm;
  arm.span = first.span;
  if (node) {
    if (auto* header = std::get_if<IfLine>(&*node)) arm.condition = std::move(header->condition);
  }
  arm.body = block(first, depth + 1, broken);
  result.arms.push_back(std::move(arm));
  while (!at_end() && line().indent == first.indent && (word() == "elif" || word() == "else")) {
    const LogicalLine& at = line();
    if (std::optional<LineNode> parsed = take_line(depth)) {
      else_arm(result, at, *parsed, depth);
    } else {
      block(at, depth + 1, true);
    }
  }
  if (!broken) out.push_back({std::move(result), first.span, first.blank_before});
}

void Assembler::else_arm(ast::If& node, const LogicalLine& at, const LineNode& parsed, int depth) {
  if (node.else_body) {
    misplaced(at, "nothing may follow the `else` of an `if`");
    block(at, depth + 1, true);
    return;
  }
  ast::Block body = block(at, depth + 1, false);
  if (const auto* header = std::get_if<ElifLine>(&parsed)) {
    node.arms.push_back({header->condition, std::move(body), at.span});
  } else {
    node.else_body = std::move(body);
    node.else_span = at.span;
  }
}

// ---------------------------------------------------------------------------------------------
// Comments

/// The depth of a comment of this indentation between two lines: the deepest block that was open
/// and is not indented further, but at least the depth of the next line.
class CommentDepths {
 public:
  CommentDepths(const std::vector<LogicalLine>& lines, const std::vector<int>& depths)
      : lines_(lines), depths_(depths) {}

  void assign(ast::Comment& comment, int indent) {
    while (next_ < lines_.size() && lines_[next_].span.begin < comment.span.begin) step();
    const int least = next_ < lines_.size() ? depths_[next_] : 0;
    int depth = static_cast<int>(open_.size()) - 1;
    while (depth > least && open_[static_cast<std::size_t>(depth)] > indent) --depth;
    comment.depth = std::max(depth, least);
  }

 private:
  void step() {
    open_.resize(static_cast<std::size_t>(depths_[next_]) + 1);
    open_.back() = lines_[next_].indent;
    ++next_;
  }

  const std::vector<LogicalLine>& lines_;
  const std::vector<int>& depths_;
  std::size_t next_ = 0;
  std::vector<int> open_;  // the indentation of each open block
};

}  // namespace

namespace {

/// Gives each `include` the items of its file, once.
class IncludeParser {
 public:
  IncludeParser(const SourceFile& source, Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics), seen_(source.files().size(), false) {}

  /// What could be read; faults are reported.
  ast::Program parse(std::size_t file);

 private:
  void fill(ast::Include& include);

  const SourceFile& source_;
  Diagnostics& diagnostics_;
  std::vector<bool> seen_;
};

void IncludeParser::fill(ast::Include& include) {
  const SourceFile::Include* const found = source_.include_at(include.path_span.begin);
  if (found == nullptr) return;
  if (!found->fault.empty()) {
    diagnostics_.error(Code::cannot_include, include.path_span, found->fault);
  } else if (!seen_[found->file]) {
    include.items = parse(found->file).items;
  }
}

ast::Program IncludeParser::parse(std::size_t file) {
  seen_[file] = true;
  const std::optional<Lines> lines = split_lines(source_, file, diagnostics_);
  if (!lines) return {};
  Assembler assembler(source_, *lines, diagnostics_);
  ast::Program program = assembler.run();
  for (ast::Item& item : program.items) {
    if (auto* include = std::get_if<ast::Include>(&item.node)) fill(*include);
  }
  CommentDepths depths(lines->lines, assembler.depths());
  for (const SourceComment& comment : lines->comments) {
    program.comments.push_back(comment.comment);
    if (comment.comment.own_line) depths.assign(program.comments.back(), comment.indent);
  }
  return program;
}

}  // namespace

ast::Program parse_partially(const SourceFile& source, Diagnostics& diagnostics) {
  return IncludeParser(source, diagnostics).parse(0);
}

std::optional<ast::Program> parse(const SourceFile& source, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  ast::Program program = parse_partially(source, diagnostics);
  if (diagnostics.error_count() > before) return std::nullopt;
  return program;
}

std::optional<ast::Expr> parse_expression(const SourceFile& source, Diagnostics& diagnostics) {
  const std::optional<Lines> lines = split_lines(source, 0, diagnostics);
  if (!lines) return std::nullopt;
  const Span whole{0, static_cast<std::uint32_t>(source.text().size())};
  if (lines->lines.empty()) {
    diagnostics.error(Code::syntax_error, whole, "expected an expression, but the text is empty");
    return std::nullopt;
  }
  if (lines->lines.size() > 1) {
    diagnostics.error(Code::syntax_error, lines->lines[1].span,
                      "expected one expression, but a second line follows");
    return std::nullopt;
  }
  if (lines->lines.front().broken) return std::nullopt;
  std::optional<ast::Expr> expression =
      parse_expression_line(source, lines->lines.front(), diagnostics);
  // Lines that were split with errors, such as a tab, can still hold an expression.
  if (diagnostics.has_errors()) return std::nullopt;
  return expression;
}

}  // namespace tilevm::frontend
