// More than 400 lines: one printer, with a short overload for each kind of node.
#include "frontend/print/print.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/print/line_layout.h"
#include "frontend/syntax/literals.h"
#include "frontend/syntax/precedence.h"

namespace tilevm::frontend {
namespace {

constexpr std::size_t indent_width = 4;

/// Hands out comments in the order of the text.
class Comments {
 public:
  explicit Comments(std::vector<ast::Comment> all) : all_(std::move(all)) {}

  /// The next comment that begins before `offset`, or null.
  const ast::Comment* take_before(std::size_t offset) {
    if (next_ == all_.size() || all_[next_].span.begin >= offset) return nullptr;
    return &all_[next_++];
  }

  /// The comments of a line that ends at `line_end` which are not handed out yet: those inside it,
  /// and one after it. Returns the first, or null; the others are handed out later, as comments on
  /// lines of their own at `depth`.
  const ast::Comment* take_rest(std::size_t line_end, int depth) {
    std::size_t end = next_;
    while (end < all_.size() && all_[end].span.begin < line_end) ++end;
    const bool behind = end < all_.size() && !all_[end].own_line && all_[end].code_end == line_end;
    if (behind) ++end;
    if (end == next_) return nullptr;
    for (std::size_t i = next_ + 1; i < end; ++i) {
      all_[i].own_line = true;
      all_[i].blank_before = false;
      all_[i].depth = depth;
    }
    return &all_[next_++];
  }

  /// Whether `comment` begins a run of own-line comments, without an empty line between, that ends
  /// at `offset`.
  [[nodiscard]] bool leads_to(const ast::Comment& comment, std::size_t offset) const {
    for (const ast::Comment* c = &comment + 1; c != all_.data() + all_.size(); ++c) {
      if (c->span.begin >= offset) break;
      if (c->blank_before) return false;
    }
    return true;
  }

 private:
  std::vector<ast::Comment> all_;
  std::size_t next_ = 0;
};

// ---------------------------------------------------------------------------------------------
// Expressions

int rank_of(const ast::Expr& e) {
  if (std::holds_alternative<ast::Conditional>(e.node)) return conditional_rank;
  if (const auto* binary = std::get_if<ast::Binary>(&e.node)) return rank(binary->op);
  const auto* unary = std::get_if<ast::Unary>(&e.node);
  if (unary == nullptr) return primary_rank;
  return unary->op == ast::UnaryOp::logical_not ? not_rank : unary_rank;
}

bool has_greater(ast::BinaryOp op) {
  return op == ast::BinaryOp::greater || op == ast::BinaryOp::greater_equal ||
         op == ast::BinaryOp::shift_right;
}

/// Writes expressions to a line. `comments` may be null.
class ExpressionPrinter {
 public:
  ExpressionPrinter(LineLayout& line, Comments* comments) : line_(line), comments_(comments) {}

  void print(const ast::Expr& e) {
    std::visit([this](const auto& node) { write(node); }, e.node);
  }

  /// In a grid a `>` ends the list, so as an operator it needs parentheses.
  void print_grid_extent(const ast::Expr& e) {
    in_grid_ = true;
    child(e, conditional_rank + 1);
    in_grid_ = false;
  }

  void arguments(const std::vector<ast::Argument>& args) {
    bracketed('(', ')', args, [this](const ast::Argument& a) {
      if (a.name) line_.text(a.name->text + "=");
      print(a.value);
    });
  }

  /// `items` between brackets and commas, with the comments before each.
  template <class Items, class Write>
  void bracketed(char open, char close, const Items& items, Write write_item) {
    const bool was_in_grid = std::exchange(in_grid_, false);
    line_.open(open);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) line_.comma();
      comments_before(items[i].span.begin);
      write_item(items[i]);
    }
    line_.close(close);
    in_grid_ = was_in_grid;
  }

  void comments_before(std::size_t offset) {
    if (comments_ == nullptr) return;
    while (const ast::Comment* c = comments_->take_before(offset))
      line_.comment(c->text, c->own_line);
  }

 private:
  void write(const ast::Integer& n) { line_.text(n.text); }
  void write(const ast::Float& n) { line_.text(n.text); }
  void write(const ast::Bool& n) { line_.text(n.value ? "true" : "false"); }
  void write(const ast::String& n) { line_.text(quote(n.value)); }
  void write(const ast::Name& n) { line_.text(n.text); }

  void write(const ast::Unary& n) {
    const bool word = n.op == ast::UnaryOp::logical_not;
    line_.text(to_string(n.op));
    if (word) line_.text(" ");
    child(*n.operand, word ? not_rank : unary_rank);
  }

  void write(const ast::Binary& n) {
    const int here = rank(n.op);
    child(*n.left, here == comparison_rank ? here + 1 : here);
    line_.text(" ");
    line_.text(to_string(n.op));
    line_.text(" ");
    child(*n.right, here + 1);
  }

  void write(const ast::Call& n) {
    line_.text(n.callee.text);
    arguments(n.args);
  }

  void write(const ast::Method& n) {
    // `3.f` would read as a number.
    const bool number = std::holds_alternative<ast::Integer>(n.receiver->node) ||
                        std::holds_alternative<ast::Float>(n.receiver->node);
    child(*n.receiver, number ? primary_rank + 1 : primary_rank);
    line_.text("." + n.method.text);
    arguments(n.args);
  }

  void write(const ast::List& n) { entries(n.entries); }

  void write(const ast::Index& n) {
    child(*n.base, primary_rank);
    entries(n.entries);
  }

  void entries(const std::vector<ast::ListEntry>& all) {
    bracketed('[', ']', all, [this](const ast::ListEntry& entry) {
      print(entry.value);
      if (entry.colon) line_.text(":");
    });
  }

  void write(const ast::Conditional& n) {
    child(*n.value, conditional_rank + 1);
    line_.text(" if ");
    child(*n.condition, conditional_rank + 1);
    line_.text(" else ");
    child(*n.otherwise, conditional_rank);
  }

  void write(const ast::Comprehension& n) {
    const bool was_in_grid = std::exchange(in_grid_, false);
    line_.open('[');
    comments_before(n.element->span.begin);
    print(*n.element);
    line_.text(" for " + n.variable.text + " in ");
    child(*n.values, conditional_rank + 1);
    if (n.condition) {
      line_.text(" if ");
      child(**n.condition, conditional_rank + 1);
    }
    line_.close(']');
    in_grid_ = was_in_grid;
  }

  /// Writes an operand, in parentheses if its rank is below `least`.
  void child(const ast::Expr& e, int least) {
    const auto* binary = std::get_if<ast::Binary>(&e.node);
    const bool ends_grid = in_grid_ && binary != nullptr && has_greater(binary->op);
    if (rank_of(e) >= least && !ends_grid) return print(e);
    const bool was_in_grid = std::exchange(in_grid_, false);
    line_.open('(');
    print(e);
    line_.close(')');
    in_grid_ = was_in_grid;
  }

  LineLayout& line_;
  Comments* comments_;
  bool in_grid_ = false;
};

// ---------------------------------------------------------------------------------------------
// Lines, statements and items

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const ast::Program& program)
      : program_(program), comments_(program.comments) {}

  std::string print() {
    for (const ast::Item& item : program_.items) print_item(item);
    own_comments(SIZE_MAX, false);
    return std::move(out_);
  }

 private:
  /// A logical line being written: `line.text(..)`, `line.expressions.print(..)`.
  struct Line {
    explicit Line(Comments& comments) : expressions(layout, &comments) {}
    void text(std::string_view text) { layout.text(text); }
    LineLayout layout;
    ExpressionPrinter expressions;
  };

  void print_item(const ast::Item& item);
  void finish(Line& line, Span span, int depth, bool header);
  void blank_line();
  void own_comments(std::size_t offset, bool set_apart);
  void print_own(const ast::Comment& comment);

  void write(const ast::ConstDecl& n, Span span);
  void write(const ast::Require& n, Span span);
  void write(const ast::Kernel& n, Span span);
  void write(const ast::Pipeline& n, Span span);
  void write(const ast::Function& n, Span span);
  void write(const ast::Include& n, Span span);

  void block(const ast::Block& body, int depth);
  void write(const ast::Assign& n, Span span, int depth);
  void write(const ast::ExprStmt& n, Span span, int depth);
  void write(const ast::For& n, Span span, int depth);
  void write(const ast::While& n, Span span, int depth);
  void write(const ast::With& n, Span span, int depth);
  void write(const ast::If& n, Span span, int depth);
  void write(const ast::Break&, Span span, int depth) { word("break", span, depth); }
  void write(const ast::Continue&, Span span, int depth) { word("continue", span, depth); }
  void write(const ast::Pass&, Span span, int depth) { word("pass", span, depth); }
  void write(const ast::Return& n, Span span, int depth);
  void word(std::string_view text, Span span, int depth);
  void conditional(std::string_view word, const ast::Expr& condition, Span span, int depth);

  const ast::Program& program_;
  Comments comments_;
  std::string out_;
  bool after_header_ = true;  // no empty line directly after a header or at the start
  bool after_block_ = false;  // the item before was a kernel or a pipeline
};

void ProgramPrinter::blank_line() {
  if (!after_header_ && !out_.empty() && !out_.ends_with("\n\n")) out_ += '\n';
}

void ProgramPrinter::print_own(const ast::Comment& comment) {
  out_.append(static_cast<std::size_t>(comment.depth) * indent_width, ' ');
  out_ += comment.text + "\n";
  after_header_ = false;
}

/// The comments before `offset`, each on its line. `set_apart` asks for an empty line before the
/// comments that belong to what follows (those without an empty line between).
void ProgramPrinter::own_comments(std::size_t offset, bool set_apart) {
  while (const ast::Comment* c = comments_.take_before(offset)) {
    const bool top_after_block = after_block_ && c->depth == 0;
    const bool group = set_apart && c->depth == 0 && comments_.leads_to(*c, offset);
    if (c->blank_before || top_after_block || group) blank_line();
    if (top_after_block) after_block_ = false;
    if (group) set_apart = false;
    print_own(*c);
  }
  if (offset != SIZE_MAX && (set_apart || after_block_)) blank_line();
  after_block_ = false;
}

/// Ends a logical line: lays it out, and adds the first comment that is left of it.
void ProgramPrinter::finish(Line& line, Span span, int depth, bool header) {
  const auto indent = static_cast<std::size_t>(depth) * indent_width;
  out_ += line.layout.lay_out(indent, header ? 2 * indent_width : indent_width);
  const ast::Comment* comment = comments_.take_rest(span.end, header ? depth + 1 : depth);
  if (comment != nullptr) out_ += "  " + comment->text;
  out_ += '\n';
  after_header_ = header;
}

void ProgramPrinter::print_item(const ast::Item& item) {
  const auto* kernel = std::get_if<ast::Kernel>(&item.node);
  const bool has_body = kernel != nullptr || std::holds_alternative<ast::Pipeline>(item.node) ||
                        std::holds_alternative<ast::Function>(item.node);
  const bool decorated = kernel != nullptr && !kernel->decorators.empty();
  own_comments((decorated ? kernel->decorators.front().span : item.span).begin, has_body);
  if (item.blank_before) blank_line();
  std::visit([&](const auto& node) { write(node, item.span); }, item.node);
  after_block_ = has_body;
}

void ProgramPrinter::write(const ast::ConstDecl& n, Span span) {
  Line line(comments_);
  line.text("const ");
  for (std::size_t i = 0; i < n.names.size(); ++i) line.text((i > 0 ? ", " : "") + n.names[i].text);
  if (n.annotation) line.text(": " + n.annotation->text);
  if (n.choices) {
    line.text(" in ");
    line.expressions.bracketed('[', ']', *n.choices,
                               [&](const ast::Expr& e) { line.expressions.print(e); });
  }
  line.text(" = ");
  for (std::size_t i = 0; i < n.values.size(); ++i) {
    if (i > 0) line.layout.comma();
    line.expressions.print(n.values[i]);
  }
  finish(line, span, 0, false);
}

void ProgramPrinter::write(const ast::Require& n, Span span) {
  Line line(comments_);
  line.text("require ");
  line.expressions.print(n.condition);
  if (n.message) line.text(", " + quote(*n.message));
  finish(line, span, 0, false);
}

void ProgramPrinter::write(const ast::Kernel& n, Span span) {
  for (const ast::Decorator& decorator : n.decorators) {
    own_comments(decorator.span.begin, false);
    Line line(comments_);
    line.text("@" + decorator.name.text);
    if (!decorator.args.empty()) line.expressions.arguments(decorator.args);
    finish(line, decorator.span, 0, false);
  }
  own_comments(span.begin, false);
  Line line(comments_);
  line.text("def " + n.name.text + "<");
  for (std::size_t i = 0; i < n.grid.size(); ++i) {
    if (i > 0) line.text(", ");
    line.expressions.print_grid_extent(n.grid[i]);
  }
  line.text(">");
  line.expressions.bracketed('(', ')', n.params, [&](const ast::Param& p) {
    line.expressions.print(p.type);
    line.text(p.is_pointer ? "* " : " ");
    line.text(p.name.text);
  });
  line.text(":");
  finish(line, span, 0, true);
  block(n.body, 1);
}

void ProgramPrinter::write(const ast::Pipeline& n, Span span) {
  Line line(comments_);
  const auto tensors = [&line](const std::vector<ast::PipelineParam>& all) {
    line.expressions.bracketed('(', ')', all, [&line](const ast::PipelineParam& p) {
      line.text((p.inout ? "inout " : "") + p.name.text + ": ");
      line.expressions.print(p.type);
      if (!p.shape) return;
      line.expressions.bracketed('[', ']', *p.shape,
                                 [&line](const ast::Expr& e) { line.expressions.print(e); });
    });
  };
  line.text("pipeline " + n.name.text);
  tensors(n.inputs);
  if (!n.outputs.empty()) {
    line.text(" -> ");
    tensors(n.outputs);
  }
  line.text(":");
  finish(line, span, 0, true);
  block(n.body, 1);
}

void ProgramPrinter::write(const ast::Function& n, Span span) {
  Line line(comments_);
  line.text("def " + n.name.text);
  line.expressions.bracketed('(', ')', n.params, [&](const ast::FunctionParam& p) {
    line.text(p.name.text);
    if (p.kind) line.text(": " + p.kind->text);
    if (!p.fallback) return;
    line.text(p.kind ? " = " : "=");
    line.expressions.print(*p.fallback);
  });
  for (std::size_t i = 0; i < n.results.size(); ++i) {
    line.text((i > 0 ? ", " : " -> ") + n.results[i].text);
  }
  line.text(":");
  finish(line, span, 0, true);
  block(n.body, 1);
}

void ProgramPrinter::write(const ast::Include& n, Span span) {
  Line line(comments_);
  line.text("include " + quote(n.path));
  finish(line, span, 0, false);
}

void ProgramPrinter::write(const ast::Return& n, Span span, int depth) {
  Line line(comments_);
  line.text("return");
  for (std::size_t i = 0; i < n.values.size(); ++i) {
    if (i > 0) line.layout.comma();
    if (i == 0) line.text(" ");
    line.expressions.print(n.values[i]);
  }
  finish(line, span, depth, false);
}

void ProgramPrinter::block(const ast::Block& body, int depth) {
  for (const ast::Stmt& s : body) {
    own_comments(s.span.begin, false);
    if (s.blank_before) blank_line();
    std::visit([&](const auto& node) { write(node, s.span, depth); }, s.node);
  }
}

void ProgramPrinter::word(std::string_view text, Span span, int depth) {
  Line line(comments_);
  line.text(text);
  finish(line, span, depth, false);
}

void ProgramPrinter::write(const ast::Assign& n, Span span, int depth) {
  Line line(comments_);
  for (std::size_t i = 0; i < n.targets.size(); ++i) {
    line.text((i > 0 ? ", " : "") + n.targets[i].text);
  }
  if (n.index) {
    line.layout.open('[');
    line.expressions.print(*n.index);
    line.layout.close(']');
  }
  line.text(" = ");
  line.expressions.print(n.value);
  finish(line, span, depth, false);
}

void ProgramPrinter::write(const ast::ExprStmt& n, Span span, int depth) {
  Line line(comments_);
  line.expressions.print(n.value);
  finish(line, span, depth, false);
}

void ProgramPrinter::write(const ast::For& n, Span span, int depth) {
  Line line(comments_);
  line.text("for ");
  for (std::size_t i = 0; i < n.variables.size(); ++i) {
    line.text((i > 0 ? ", " : "") + n.variables[i].text);
  }
  line.text(" in ");
  if (n.list) {
    line.expressions.print(*n.list);
  } else {
    line.text("range");
    line.expressions.arguments(n.range);
  }
  line.text(":");
  finish(line, span, depth, true);
  block(n.body, depth + 1);
}

void ProgramPrinter::conditional(std::string_view word, const ast::Expr& condition, Span span,
                                 int depth) {
  Line line(comments_);
  line.text(word);
  line.text(" ");
  line.expressions.print(condition);
  line.text(":");
  finish(line, span, depth, true);
}

void ProgramPrinter::write(const ast::While& n, Span span, int depth) {
  conditional("while", n.condition, span, depth);
  block(n.body, depth + 1);
}

void ProgramPrinter::write(const ast::With& n, Span span, int depth) {
  Line line(comments_);
  line.text("with " + n.group.text);
  line.expressions.arguments(n.args);
  line.text(":");
  finish(line, span, depth, true);
  block(n.body, depth + 1);
}

void ProgramPrinter::write(const ast::If& n, Span, int depth) {
  std::string_view word = "if";
  for (const ast::IfArm& arm : n.arms) {
    own_comments(arm.span.begin, false);
    conditional(word, arm.condition, arm.span, depth);
    block(arm.body, depth + 1);
    word = "elif";
  }
  if (!n.else_body) return;
  own_comments(n.else_span.begin, false);
  Line line(comments_);
  line.text("else:");
  finish(line, n.else_span, depth, true);
  block(*n.else_body, depth + 1);
}

}  // namespace

std::string print(const ast::Program& program) { return ProgramPrinter(program).print(); }

std::string print(const ast::Expr& expression) {
  LineLayout line;
  ExpressionPrinter(line, nullptr).print(expression);
  return line.flat();
}

}  // namespace tilevm::frontend
