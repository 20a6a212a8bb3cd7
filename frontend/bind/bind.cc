#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "frontend/bind/bind_call.h"
#include "frontend/bind/bind_constants.h"
#include "frontend/bind/bind_decorator.h"
#include "frontend/bind/bind_function.h"
#include "frontend/bind/bind_kernel.h"
#include "frontend/bind/bind_pipeline.h"
#include "frontend/bind/expressions.h"
#include "frontend/bind/frontend.h"
#include "frontend/syntax/grammar.h"
#include "frontend/syntax/lines.h"
#include "isa/analysis/offset_ranges.h"

namespace tilevm::frontend {
namespace {

class ProgramBinder {
 public:
  ProgramBinder(const ast::Program& tree, const SourceFile& source, const BindOptions& options,
                Diagnostics& diagnostics)
      : tree_(tree),
        options_(options),
        diagnostics_(diagnostics),
        source_(std::make_shared<SourceFile>(source)),
        inlining_(*source_),
        functions_(functions_of(tree)),
        constants_(options.defines, functions_, options_.target, inlining_) {}

  isa::Program bind() {
    program_.source = source_;
    // Constants first, in any order of lines; then kernels; then the pipelines that call them.
    if (!constants_.bind(tree_, diagnostics_)) return {};
    ast::for_each<ast::Function>(tree_.items, [&](const auto& node) { check(node); });
    ast::for_each<ast::Kernel>(tree_.items, [&](const auto& node) { bind(node); });
    ast::for_each<ast::Pipeline>(tree_.items, [&](const auto& node) { bind(node); });
    ast::for_each<ast::Include>(tree_.items, [&](const auto& node) { check(node); });
    if (tree_.items.empty()) {
      diagnostics_.error(Code::no_entry, {}, "the file has no kernel and no pipeline");
    }
    program_.tunables = constants_.take_tunables();
    return std::move(program_);
  }

  [[nodiscard]] std::shared_ptr<const SourceFile> source() const { return source_; }

 private:
  /// What the language has of a name that calls in kernels would mean.
  static std::string_view known_call(const std::string& name) {
    if (is_builtin(name)) return "a function of the language";
    if (is_layout_function(name)) return "a layout";
    return isa::parse_dtype(name) ? "a type" : "";
  }

  bool claim(const ast::Identifier& name, std::string_view what = {}) {
    if (is_instruction(name.text)) what = "an instruction";
    if (!what.empty()) {
      diagnostics_.error(Code::duplicate_name, name.span,
                         fmt::format("`{}` is {}; choose another name", name.text, what));
      return false;
    }
    const auto [known, is_new] = entries_.try_emplace(name.text, name.span);
    if (is_new) return true;
    add_note(diagnostics_.error(Code::duplicate_name, name.span,
                                fmt::format("`{}` exists already", name.text)),
             "the first one is here", known->second);
    return false;
  }

  void check(const ast::Function& node) {
    if (claim(node.name, known_call(node.name.text))) check_function(node, diagnostics_);
  }

  /// The parser has reported what cannot be included, if the source knows of it.
  void check(const ast::Include& node) {
    if (source_->include_at(node.path_span.begin) != nullptr) return;
    diagnostics_.error(Code::cannot_include, node.path_span,
                       fmt::format("`{}` was not looked for: nothing reads files here", node.path));
  }

  void bind(const ast::Kernel& node) {
    if (!claim(node.name)) return;
    program_.kernels.push_back(bind_kernel(node, constants_.constants(), functions_,
                                           options_.target, inlining_, diagnostics_));
    isa::warn_about_offsets(program_.kernels.back(), *program_.source, diagnostics_);
  }

  void bind(const ast::Pipeline& node) {
    if (!claim(node.name)) return;
    program_.pipelines.push_back(bind_pipeline(node, program_, constants_.constants(), functions_,
                                               options_.target, inlining_, diagnostics_));
  }

  const ast::Program& tree_;
  const BindOptions& options_;
  Diagnostics& diagnostics_;
  std::shared_ptr<SourceFile> source_;  // that knows the calls which are inlined
  Inlining inlining_;
  Functions functions_;
  ConstantBinder constants_;
  isa::Program program_;
  std::map<std::string, Span> entries_;
};

/// Faults that are kept before those of repeated calls are dropped.
constexpr std::size_t max_repeated_faults = 10'000;

/// A fault in a function is reported for the first call that meets it.
void forward_once(const Diagnostics& all, const SourceFile& source, Diagnostics& diagnostics) {
  std::set<std::tuple<Code, std::size_t, std::string>> seen;
  for (const Diagnostic& each : all.sorted()) {
    const std::size_t place = source.place_in_text(each.span.begin);
    if (seen.emplace(each.code, place, each.message).second) diagnostics.report(each);
  }
}

}  // namespace

isa::Program bind_partially(const ast::Program& tree,
                            const std::shared_ptr<const SourceFile>& source,
                            const BindOptions& options, Diagnostics& diagnostics) {
  Diagnostics own(max_repeated_faults);
  ProgramBinder binder(tree, *source, options, own);
  isa::Program program = binder.bind();
  forward_once(own, *binder.source(), diagnostics);
  return program;
}

LanguageWords language_words() {
  LanguageWords words{keywords(), layout_functions(), layout_operations(), decorator_names(),
                      builtin_names()};
  words.keywords.emplace_back("range");  // reserved only after `in`
  words.keywords.emplace_back("inout");  // reserved only before a tensor of a pipeline
  words.layouts.emplace_back(strides_function);
  return words;
}

std::optional<isa::Program> bind(const ast::Program& tree,
                                 const std::shared_ptr<const SourceFile>& source,
                                 const BindOptions& options, Diagnostics& diagnostics,
                                 std::shared_ptr<const SourceFile>* with_calls) {
  Diagnostics own(max_repeated_faults);
  ProgramBinder binder(tree, *source, options, own);
  isa::Program program = binder.bind();
  if (with_calls != nullptr) *with_calls = binder.source();
  forward_once(own, *binder.source(), diagnostics);
  if (own.has_errors()) return std::nullopt;
  return program;
}

std::optional<isa::Program> load(const std::shared_ptr<const SourceFile>& source,
                                 const BindOptions& options, Diagnostics& diagnostics,
                                 std::shared_ptr<const SourceFile>* with_calls) {
  const auto tree = parse(*source, diagnostics);
  if (!tree) return std::nullopt;
  return bind(*tree, source, options, diagnostics, with_calls);
}

}  // namespace tilevm::frontend
