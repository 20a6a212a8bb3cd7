#include <fmt/format.h>

#include "frontend/print/print.h"
#include "vm/lsp/features.h"

namespace tilevm::vm {

namespace {

/// DiagnosticSeverity of the protocol.
int protocol_severity(Severity severity) {
  switch (severity) {
    case Severity::error:
      return 1;
    case Severity::warning:
      return 2;
    case Severity::note:
      return 3;
  }
  return 3;
}

Json to_protocol(const DocumentView& view, const Diagnostic& diagnostic) {
  const Span own = view.analysis().bound->in_own_file(diagnostic.span);
  return diagnostic_json(view, diagnostic, view.range(own));
}

std::size_t bound_place(const DocumentView& view, Span span) {
  return view.analysis().bound->place_in_text(span.begin);
}

/// A note at its place; in the standard library, which is not a file, at the `include`.
void add_related(const DocumentView& view, Span span, const std::string& message, Json& related) {
  const auto& files = view.analysis().bound->files();
  const bool own = files.size() == 1 || bound_place(view, span) < files[1].begin;
  const bool library = !own && view.place_in_file(span).path.empty();
  const Span shown = own || library ? view.analysis().bound->in_own_file(span) : span;
  Json place = Json::object();
  related.push(place.set("location", view.location(shown)).set("message", message));
}

bool touches(Span a, Span b) { return a.begin <= b.end && b.begin <= a.end; }

}  // namespace

Json diagnostic_json(const DocumentView& view, const Diagnostic& diagnostic, const Json& range) {
  Json item = Json::object();
  item.set("range", range);
  item.set("severity", protocol_severity(diagnostic.severity));
  item.set("code", to_string(diagnostic.code)).set("source", "tilevm");
  std::string message = diagnostic.message;
  Json related = Json::array();
  for (const Note& note : diagnostic.notes) {
    if (!note.has_span) {
      message += "\n" + note.message;
      continue;
    }
    add_related(view, note.span, note.message, related);
  }
  // Where it is, if that is a file that the document includes.
  const auto at = static_cast<std::uint32_t>(bound_place(view, diagnostic.span));
  if (!view.analysis().names.is_own({at, at})) add_related(view, diagnostic.span, "here", related);
  return item.set("message", message).set("relatedInformation", std::move(related));
}

Json diagnostics_of(const DocumentView& view) {
  Json list = Json::array();
  for (const Diagnostic& diagnostic : view.analysis().diagnostics.sorted()) {
    list.push(to_protocol(view, diagnostic));
  }
  return list;
}

Json code_actions(const DocumentView& view, Span span) {
  Json list = Json::array();
  Json all = Json::array();
  std::size_t fixes = 0;
  for (const Diagnostic& diagnostic : view.analysis().diagnostics.sorted()) {
    // What is wrong in another file is not fixed here.
    if (diagnostic.fix.empty() || diagnostic.span.end > view.source().text().size()) continue;
    ++fixes;
    all.push(view.edit(diagnostic.span, diagnostic.fix));
    if (!touches(diagnostic.span, span)) continue;
    Json edits = Json::array();
    edits.push(view.edit(diagnostic.span, diagnostic.fix));
    Json diagnostics = Json::array();
    diagnostics.push(to_protocol(view, diagnostic));
    Json action = Json::object();
    action.set("title", fmt::format("Replace by `{}`", diagnostic.fix)).set("kind", "quickfix");
    action.set("diagnostics", std::move(diagnostics)).set("isPreferred", true);
    list.push(action.set("edit", view.workspace_edit(std::move(edits))));
  }
  if (fixes > 1) {
    Json action = Json::object();
    action.set("title", fmt::format("Apply all {} fixes", fixes)).set("kind", "source.fixAll");
    list.push(action.set("edit", view.workspace_edit(std::move(all))));
  }
  return list;
}

Json formatting(const DocumentView& view) {
  if (!view.analysis().parsed) return {};
  const std::string text = frontend::print(view.analysis().tree);
  Json edits = Json::array();
  if (text == view.source().text()) return edits;
  edits.push(view.edit({0, static_cast<std::uint32_t>(view.source().text().size())}, text));
  return edits;
}

}  // namespace tilevm::vm
