// More than 400 lines: one walk, with a visit for each kind of node of the tree.
#include "vm/lsp/names.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "frontend/bind/bind_call.h"
#include "frontend/bind/frontend.h"
#include "frontend/syntax/lines.h"
#include "isa/inst/scalar.h"
#include "isa/type/dtype.h"

namespace tilevm::vm {

namespace {

namespace ast = frontend::ast;

class NameFinder {
 public:
  explicit NameFinder(const SourceFile& source)
      : source_(source), words_(frontend::language_words()) {}

  Names run(const ast::Program& tree) {
    const std::vector<const ast::Item*> items = all_items(tree);
    for (const ast::Item* item : items) declare_item(*item);
    for (std::size_t i = 0; i < items.size(); ++i) {
      item_ = static_cast<int>(i);
      item_end_ = end_of_item(items, i);
      std::visit([&](const auto& node) { visit(node, *items[i]); }, items[i]->node);
    }
    names_.own_end = end_of_file();
    for (const ast::Comment& comment : tree.comments) add(comment.span, NameKind::comment);
    add_keywords();
    sort();
    return std::move(names_);
  }

 private:
  using Scope = std::map<std::string, int, std::less<>>;

  /// The end of the document, which included files follow in the text.
  std::uint32_t end_of_file() const { return source_.files().front().end; }

  /// The begin of the next item of the same file, or the file's end.
  std::uint32_t end_of_item(const std::vector<const ast::Item*>& items, std::size_t at) const {
    const auto& files = source_.files();
    const auto file = std::prev(
        std::ranges::upper_bound(files, items[at]->span.begin, {}, &SourceFile::File::begin));
    for (std::size_t k = at + 1; k < items.size(); ++k) {
      const std::uint32_t begin = begin_of(*items[k]);
      if (begin >= items[at]->span.end && begin < file->end) return begin;
    }
    return file->end;
  }

  static std::uint32_t begin_of(const ast::Item& item) {
    const auto* kernel = std::get_if<ast::Kernel>(&item.node);
    return kernel != nullptr && !kernel->decorators.empty() ? kernel->decorators.front().span.begin
                                                            : item.span.begin;
  }

  void add(Span span, NameKind kind, int symbol = -1, bool defines = false) {
    names_.occurrences.push_back({span, kind, symbol, defines, {}, visible_from_});
  }

  int declare(const ast::Identifier& name, NameKind kind, Span scope, std::string text = {}) {
    names_.symbols.push_back({name.text, kind, name.span, scope, item_, std::move(text)});
    return static_cast<int>(names_.symbols.size()) - 1;
  }

  // ---- the file

  void declare_item(const ast::Item& item) {
    const Span file{0, static_cast<std::uint32_t>(source_.text().size())};
    if (const auto* decl = std::get_if<ast::ConstDecl>(&item.node)) {
      for (std::size_t i = 0; i < decl->names.size(); ++i) {
        const std::string value =
            i < decl->values.size() ? std::string(source_.text(decl->values[i].span)) : "";
        global_.try_emplace(decl->names[i].text,
                            declare(decl->names[i], NameKind::constant, file, value));
      }
    } else if (const auto* kernel = std::get_if<ast::Kernel>(&item.node)) {
      entries_.try_emplace(kernel->name.text, declare(kernel->name, NameKind::kernel, file));
    } else if (const auto* pipeline = std::get_if<ast::Pipeline>(&item.node)) {
      entries_.try_emplace(pipeline->name.text, declare(pipeline->name, NameKind::pipeline, file));
    } else if (const auto* function = std::get_if<ast::Function>(&item.node)) {
      entries_.try_emplace(function->name.text, declare(function->name, NameKind::function, file));
    }
  }

  void define(const ast::Identifier& name, const Scope& in) {
    const auto found = in.find(name.text);
    if (found == in.end()) return;
    add(name.span, names_.symbols[static_cast<std::size_t>(found->second)].kind, found->second,
        true);
  }

  void visit(const ast::ConstDecl& node, const ast::Item& item) {
    visible_from_ = item.span.begin;
    for (const ast::Identifier& name : node.names) define(name, global_);
    if (node.annotation) add(node.annotation->span, NameKind::type);
    if (node.choices) {
      for (const ast::Expr& choice : *node.choices) visit(choice);
    }
    for (const ast::Expr& value : node.values) visit(value);
  }

  void visit(const ast::Require& node, const ast::Item& item) {
    visit(node.condition);
    // The message's place is not in the tree: it is the last string of the line.
    if (!node.message) return;
    const std::string_view line = source_.text(item.span);
    const std::size_t end = line.find_last_of("\"'");
    if (end == std::string_view::npos || end == 0) return;
    std::size_t begin = end;
    do {
      begin = begin == 0 ? std::string_view::npos : line.rfind(line[end], begin - 1);
    } while (begin != std::string_view::npos && begin > 0 && line[begin - 1] == '\\');
    if (begin == std::string_view::npos) return;
    add({item.span.begin + static_cast<std::uint32_t>(begin),
         item.span.begin + static_cast<std::uint32_t>(end) + 1},
        NameKind::string);
  }

  void visit(const ast::Kernel& node, const ast::Item& item) {
    for (const ast::Decorator& decorator : node.decorators) {
      add(decorator.name.span, NameKind::decorator);
      for (const ast::Argument& argument : decorator.args) visit(argument, "");
    }
    scopes_.assign(1, {});
    const Span body{item.span.begin, item_end_};
    for (const ast::Param& param : node.params) {
      visible_from_ = param.name.span.begin;
      add_parameter(param.name, param.type, body,
                    std::string(source_.text(param.type.span)) + (param.is_pointer ? "*" : ""));
    }
    define(node.name, entries_);
    for (const ast::Expr& extent : node.grid) visit(extent);
    visit_statements(node.body, item_end_);
    scopes_.clear();
  }

  void visit(const ast::Pipeline& node, const ast::Item& item) {
    scopes_.assign(1, {});
    const Span body{item.span.begin, item_end_};
    define(node.name, entries_);
    const std::vector<ast::PipelineParam>* const lists[] = {&node.inputs, &node.outputs};
    for (const auto* list : lists) {
      for (const ast::PipelineParam& param : *list) {
        visible_from_ = param.name.span.begin;
        add_parameter(param.name, param.type, body,
                      std::string(source_.text({param.type.span.begin, param.span.end})));
        if (!param.shape) continue;
        for (const ast::Expr& extent : *param.shape) visit(extent);
      }
    }
    visit_statements(node.body, item_end_);
    scopes_.clear();
  }

  void visit(const ast::Function& node, const ast::Item& item) {
    scopes_.assign(1, {});
    const Span body{item.span.begin, item_end_};
    define(node.name, entries_);
    for (const ast::FunctionParam& param : node.params) {
      visible_from_ = param.name.span.begin;
      if (param.kind) add_use(param.kind->text, param.kind->span);
      if (param.fallback) visit(*param.fallback);
      add_parameter(param.name, body, param.kind ? param.kind->text : "");
    }
    for (const ast::Identifier& result : node.results) add_use(result.text, result.span);
    visit_statements(node.body, item_end_);
    scopes_.clear();
  }

  void visit(const ast::Include& node, const ast::Item& /*item*/) {
    add(node.path_span, NameKind::string);
  }

  void add_parameter(const ast::Identifier& name, const ast::Expr& type, Span scope,
                     std::string text) {
    visit(type);
    add_parameter(name, scope, std::move(text));
  }

  void add_parameter(const ast::Identifier& name, Span scope, std::string text) {
    const int symbol = declare(name, NameKind::parameter, scope, std::move(text));
    scopes_.back().insert_or_assign(name.text, symbol);
    add(name.span, NameKind::parameter, symbol, true);
  }

  // ---- statements

  void visit_statements(const ast::Block& block, std::uint32_t end) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::uint32_t next = i + 1 < block.size() ? block[i + 1].span.begin : end;
      visible_from_ = block[i].span.begin;
      block_end_.push_back(end);
      std::visit([&](const auto& node) { visit_stmt(node, block[i].span, next); }, block[i].node);
      block_end_.pop_back();
    }
  }

  void visit_block(const ast::Block& block, std::uint32_t end) {
    scopes_.emplace_back();
    visit_statements(block, end);
    scopes_.pop_back();
  }

  /// The symbol of a name that is assigned: an existing one, or a new one of the innermost block.
  void assign(const ast::Identifier& name, Span statement) {
    int symbol = find(name.text);
    if (symbol < 0 || names_.symbols[static_cast<std::size_t>(symbol)].item != item_) {
      symbol = declare(name, NameKind::variable, {statement.begin, block_end_.back()});
      scopes_.back().insert_or_assign(name.text, symbol);
    }
    const std::uint32_t before = std::exchange(visible_from_, name.span.end);
    add(name.span, names_.symbols[static_cast<std::size_t>(symbol)].kind, symbol, true);
    visible_from_ = before;
  }

  void visit_stmt(const ast::Assign& node, Span span, std::uint32_t /*next*/) {
    visit(node.value);
    if (node.index) {
      visit(*node.index);
      for (const ast::Identifier& target : node.targets) add_use(target.text, target.span);
      return;
    }
    for (const ast::Identifier& target : node.targets) assign(target, span);
  }
  void visit_stmt(const ast::ExprStmt& node, Span /*span*/, std::uint32_t /*next*/) {
    visit(node.value);
  }
  void visit_stmt(const ast::For& node, Span span, std::uint32_t next) {
    for (const ast::Argument& argument : node.range) visit(argument, "range");
    if (node.list) visit(*node.list);
    scopes_.emplace_back();
    block_end_.push_back(next);
    for (const ast::Identifier& variable : node.variables) {
      const int symbol = declare(variable, NameKind::variable, {span.begin, next});
      scopes_.back().insert_or_assign(variable.text, symbol);
      const std::uint32_t before = std::exchange(visible_from_, variable.span.end);
      add(variable.span, NameKind::variable, symbol, true);
      visible_from_ = before;
    }
    visit_statements(node.body, next);
    block_end_.pop_back();
    scopes_.pop_back();
  }
  void visit_stmt(const ast::While& node, Span /*span*/, std::uint32_t next) {
    visit(node.condition);
    visit_block(node.body, next);
  }
  void visit_stmt(const ast::With& node, Span /*span*/, std::uint32_t next) {
    for (const ast::Argument& argument : node.args) visit(argument, node.group.text);
    visit_block(node.body, next);
  }
  void visit_stmt(const ast::If& node, Span /*span*/, std::uint32_t next) {
    for (std::size_t i = 0; i < node.arms.size(); ++i) {
      visible_from_ = node.arms[i].span.begin;
      visit(node.arms[i].condition);
      const std::uint32_t end = i + 1 < node.arms.size() ? node.arms[i + 1].span.begin
                                : node.else_body         ? node.else_span.begin
                                                         : next;
      visit_block(node.arms[i].body, end);
    }
    if (node.else_body) visit_block(*node.else_body, next);
  }
  void visit_stmt(const ast::Return& node, Span /*span*/, std::uint32_t /*next*/) {
    for (const ast::Expr& value : node.values) visit(value);
  }
  void visit_stmt(const ast::Break& /*node*/, Span /*span*/, std::uint32_t /*next*/) {}
  void visit_stmt(const ast::Continue& /*node*/, Span /*span*/, std::uint32_t /*next*/) {}
  void visit_stmt(const ast::Pass& /*node*/, Span /*span*/, std::uint32_t /*next*/) {}

  // ---- expressions

  int find(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(name); found != scope->end()) return found->second;
    }
    const auto found = global_.find(name);
    return found == global_.end() ? -1 : found->second;
  }

  static bool has(const std::vector<std::string>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  }

  void add_use(std::string_view name, Span span) {
    if (const int symbol = find(name); symbol >= 0) {
      add(span, names_.symbols[static_cast<std::size_t>(symbol)].kind, symbol);
    } else if (isa::parse_dtype(name) || isa::parse_scalar_kind(name)) {
      add(span, NameKind::type);
    } else if (has(words_.layouts, name)) {
      add(span, NameKind::layout);
    } else {
      add(span, has(words_.functions, name) ? NameKind::function : NameKind::unknown);
    }
  }

  void visit(const ast::Argument& argument, const std::string& callee) {
    if (argument.name) {
      add(argument.name->span, NameKind::operand);
      names_.occurrences.back().callee = callee;
    }
    visit(argument.value);
  }

  void visit(const ast::Expr& expr) {
    std::visit([&](const auto& node) { visit(node, expr.span); }, expr.node);
  }
  void visit(const ast::Integer& /*node*/, Span span) { add(span, NameKind::number); }
  void visit(const ast::Float& /*node*/, Span span) { add(span, NameKind::number); }
  void visit(const ast::Bool& /*node*/, Span span) { add(span, NameKind::keyword); }
  void visit(const ast::String& /*node*/, Span span) { add(span, NameKind::string); }
  void visit(const ast::Name& node, Span span) { add_use(node.text, span); }
  void visit(const ast::Unary& node, Span /*span*/) { visit(*node.operand); }
  void visit(const ast::Binary& node, Span /*span*/) {
    visit(*node.left);
    visit(*node.right);
  }
  void visit(const ast::Call& node, Span /*span*/) {
    const std::string& name = node.callee.text;
    if (has(words_.keywords, name)) {
      // `range` of a comprehension: add_keywords() finds it.
    } else if (frontend::is_instruction(name)) {
      add(node.callee.span, NameKind::instruction);
    } else if (const auto found = entries_.find(name); found != entries_.end()) {
      add(node.callee.span, names_.symbols[static_cast<std::size_t>(found->second)].kind,
          found->second);
    } else {
      add_use(name, node.callee.span);
    }
    for (const ast::Argument& argument : node.args) visit(argument, name);
  }
  void visit(const ast::Method& node, Span /*span*/) {
    visit(*node.receiver);
    if (has(words_.layout_methods, node.method.text)) {
      add(node.method.span, NameKind::layout);
    } else {
      add_use(node.method.text, node.method.span);
    }
    for (const ast::Argument& argument : node.args) visit(argument, node.method.text);
  }
  void visit(const ast::List& node, Span /*span*/) { visit(node.entries); }
  void visit(const std::vector<ast::ListEntry>& entries) {
    for (const ast::ListEntry& entry : entries) visit(entry.value);
  }
  void visit(const ast::Conditional& node, Span /*span*/) {
    visit(*node.value);
    visit(*node.condition);
    visit(*node.otherwise);
  }
  void visit(const ast::Index& node, Span /*span*/) {
    visit(*node.base);
    visit(node.entries);
  }
  void visit(const ast::Comprehension& node, Span span) {
    visit(*node.values);
    scopes_.emplace_back();
    const int symbol = declare(node.variable, NameKind::variable, span);
    scopes_.back().insert_or_assign(node.variable.text, symbol);
    add(node.variable.span, NameKind::variable, symbol, true);
    visit(*node.element);
    if (node.condition) visit(**node.condition);
    scopes_.pop_back();
  }

  // ---- words that are in no tree

  void sort() {
    std::stable_sort(
        names_.occurrences.begin(), names_.occurrences.end(),
        [](const Occurrence& a, const Occurrence& b) { return a.span.begin < b.span.begin; });
  }

  /// Reserved words, `range` among them, outside of everything that was found.
  void add_keywords() {
    sort();
    const std::string_view text = std::string_view(source_.text()).substr(0, end_of_file());
    std::vector<Occurrence> found;
    std::size_t next = 0;
    for (std::uint32_t at = 0; at < text.size();) {
      while (next < names_.occurrences.size() && names_.occurrences[next].span.end <= at) ++next;
      if (next < names_.occurrences.size() && names_.occurrences[next].span.begin <= at) {
        at = std::max(at + 1, names_.occurrences[next].span.end);
        continue;
      }
      if (!frontend::is_word_byte(text[at])) {
        ++at;
        continue;
      }
      std::uint32_t end = at;
      while (end < text.size() && frontend::is_word_byte(text[end])) ++end;
      const std::string_view word = text.substr(at, end - at);
      if (has(words_.keywords, word)) {
        found.push_back({{at, end}, NameKind::keyword, -1, false, {}, 0});
      }
      at = end;
    }
    names_.occurrences.insert(names_.occurrences.end(), found.begin(), found.end());
  }

  const SourceFile& source_;
  frontend::LanguageWords words_;
  Names names_;
  Scope global_, entries_;
  std::vector<Scope> scopes_;
  std::vector<std::uint32_t> block_end_;
  int item_ = -1;
  std::uint32_t item_end_ = 0;
  std::uint32_t visible_from_ = 0;
};

}  // namespace

bool is_of_file(NameKind kind) {
  return kind == NameKind::constant || kind == NameKind::kernel || kind == NameKind::pipeline ||
         kind == NameKind::function;
}

const Occurrence* Names::at(std::uint32_t offset) const {
  const auto after = std::upper_bound(
      occurrences.begin(), occurrences.end(), offset,
      [](std::uint32_t place, const Occurrence& one) { return place < one.span.begin; });
  if (after == occurrences.begin()) return nullptr;
  const Occurrence& found = *std::prev(after);
  return offset <= found.span.end ? &found : nullptr;
}

std::span<const Occurrence> Names::own() const {
  const auto end = std::ranges::lower_bound(occurrences, own_end, {},
                                            [](const Occurrence& one) { return one.span.begin; });
  return {occurrences.begin(), end};
}

std::vector<const ast::Item*> all_items(const ast::Program& tree) {
  std::vector<const ast::Item*> all;
  const auto add = [&](const auto& self, const std::vector<ast::Item>& items) -> void {
    for (const ast::Item& item : items) {
      all.push_back(&item);
      if (const auto* include = std::get_if<ast::Include>(&item.node)) self(self, include->items);
    }
  };
  add(add, tree.items);
  return all;
}

Names find_names(const frontend::ast::Program& tree, const SourceFile& source) {
  return NameFinder(source).run(tree);
}

}  // namespace tilevm::vm
