#include <map>

#include <fmt/format.h>

#include "frontend/bind/bind_call.h"
#include "frontend/bind/bind_constants.h"
#include "frontend/bind/bind_decorator.h"
#include "frontend/bind/bind_kernel.h"
#include "frontend/bind/bind_layout.h"
#include "frontend/bind/bind_pipeline.h"
#include "frontend/bind/frontend.h"
#include "frontend/syntax/grammar.h"
#include "frontend/syntax/lines.h"
#include "isa/analysis/offset_ranges.h"

namespace tilevm::frontend {
namespace {

class ProgramBinder {
 public:
  ProgramBinder(const std::shared_ptr<const SourceFile>& source, const BindOptions& options,
                Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics), constants_(options.defines) {
    program_.source = source;
  }

  isa::Program bind(const ast::Program& tree) {
    // Constants first, in any order of lines; then kernels; then the pipelines that call them.
    if (!constants_.bind(tree, *program_.source, diagnostics_)) return {};
    for_each<ast::Kernel>(tree, [&](const auto& node) { bind(node); });
    for_each<ast::Pipeline>(tree, [&](const auto& node) { bind(node); });
    if (tree.items.empty()) {
      diagnostics_.error(Code::no_entry, {}, "the file has no kernel and no pipeline");
    }
    program_.tunables = constants_.take_tunables();
    return std::move(program_);
  }

 private:
  template <class Node, class F>
  static void for_each(const ast::Program& tree, F&& f) {
    for (const ast::Item& item : tree.items) {
      if (const auto* node = std::get_if<Node>(&item.node)) f(*node);
    }
  }

  bool claim(const ast::Identifier& name) {
    if (is_instruction(name.text)) {
      diagnostics_.error(Code::duplicate_name, name.span,
                         fmt::format("`{}` is an instruction; choose another name", name.text));
      return false;
    }
    const auto [known, is_new] = entries_.try_emplace(name.text, name.span);
    if (is_new) return true;
    add_note(diagnostics_.error(Code::duplicate_name, name.span,
                                fmt::format("`{}` exists already", name.text)),
             "the first one is here", known->second);
    return false;
  }

  void bind(const ast::Kernel& node) {
    if (!claim(node.name)) return;
    program_.kernels.push_back(
        bind_kernel(node, constants_.constants(), options_.target, diagnostics_));
    isa::warn_about_offsets(program_.kernels.back(), *program_.source, diagnostics_);
  }

  void bind(const ast::Pipeline& node) {
    if (!claim(node.name)) return;
    program_.pipelines.push_back(
        bind_pipeline(node, program_, constants_.constants(), options_.target, diagnostics_));
  }

  const BindOptions& options_;
  Diagnostics& diagnostics_;
  ConstantBinder constants_;
  isa::Program program_;
  std::map<std::string, Span> entries_;
};

}  // namespace

isa::Program bind_partially(const ast::Program& tree,
                            const std::shared_ptr<const SourceFile>& source,
                            const BindOptions& options, Diagnostics& diagnostics) {
  return ProgramBinder(source, options, diagnostics).bind(tree);
}

LanguageWords language_words() {
  LanguageWords words{keywords(), layout_functions(), layout_operations(), decorator_names()};
  words.keywords.emplace_back("range");  // reserved only after `in`
  words.layouts.emplace_back(strides_function);
  return words;
}

std::optional<isa::Program> bind(const ast::Program& tree,
                                 const std::shared_ptr<const SourceFile>& source,
                                 const BindOptions& options, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.error_count();
  isa::Program program = bind_partially(tree, source, options, diagnostics);
  if (diagnostics.error_count() > errors_before) return std::nullopt;
  return program;
}

std::optional<isa::Program> load(const std::shared_ptr<const SourceFile>& source,
                                 const BindOptions& options, Diagnostics& diagnostics) {
  const auto tree = parse(*source, diagnostics);
  if (!tree) return std::nullopt;
  return bind(*tree, source, options, diagnostics);
}

}  // namespace tilevm::frontend
