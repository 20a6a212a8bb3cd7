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
  Json item = Json::object();
  const SourceFile& bound = *view.analysis().bound;
  item.set("range", view.range(bound.in_own_file(diagnostic.span)));
  item.set("severity", protocol_severity(diagnostic.severity));
  item.set("code", to_string(diagnostic.code)).set("source", "tilevm");
  std::string message = diagnostic.message;
  Json related = Json::array();
  for (const Note& note : diagnostic.notes) {
    if (!note.has_span) {
      message += "\n" + note.message;
      continue;
    }
    Json place = Json::object();
    const Span span = bound.in_own_file(note.span);
    related.push(place.set("location", view.location(span)).set("message", note.message));
  }
  return item.set("message", message).set("relatedInformation", std::move(related));
}

bool touches(Span a, Span b) { return a.begin <= b.end && b.begin <= a.end; }

}  // namespace

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
    // What is wrong in another file is not mended here.
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
