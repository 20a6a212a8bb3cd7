#include "vm/report/diagnostic_json.h"

#include <fmt/format.h>

#include <vector>

#include "isa/base/origin.h"

namespace tilevm::vm {

namespace {

void set_location(Json& object, Span span, const SourceFile& source) {
  const LineColumn begin = source.locate(span.begin);
  const LineColumn end = source.locate(span.end);
  object.set("line", begin.line).set("column", begin.column);
  object.set("end_line", end.line).set("end_column", end.column);
}

/// The line that a statement of a generated program comes from.
void set_origin(Json& object, Span span, const SourceFile& source) {
  const auto origin = origin_at(source, span.begin);
  if (!origin) return;
  Json from = Json::object();
  from.set("file", std::string(origin->file)).set("line", origin->line);
  from.set("text", std::string(origin->text));
  object.set("origin", std::move(from));
}

Json notes_json(const std::vector<Note>& notes, const SourceFile& source) {
  Json list = Json::array();
  for (const Note& note : notes) {
    Json item = Json::object();
    item.set("message", note.message);
    if (note.has_span) {
      item.set("file", source.name_at(note.span.begin));
      set_location(item, note.span, source);
      set_origin(item, note.span, source);
    }
    list.push(std::move(item));
  }
  return list;
}

/// Whether a diagnostic tells of accesses, arrivals or waits that nothing orders.
bool is_hazard(Code code) {
  switch (code) {
    case Code::race:
    case Code::in_flight_access:
    case Code::deadlock:
    case Code::proxy_not_fenced:
    case Code::products_in_flight:
    case Code::barrier_phase:
    case Code::barrier_not_ready:
    case Code::named_barrier:
    case Code::exit_in_flight:
      return true;
    default:
      return false;
  }
}

/// The places of a hazard, that of the diagnostic first, and what would order them: the first note
/// that is not about a place.
void set_witnesses(Json& object, const Diagnostic& diagnostic, const SourceFile& source) {
  std::vector<Note> places = {{diagnostic.message, diagnostic.span, true}};
  for (const Note& note : diagnostic.notes) {
    if (note.has_span) places.push_back(note);
  }
  object.set("witnesses", notes_json(places, source));
  for (const Note& note : diagnostic.notes) {
    if (note.has_span || note.message.starts_with("in block")) continue;
    object.set("edge", note.message);
    return;
  }
}

}  // namespace

Json to_json(const Diagnostic& diagnostic, const SourceFile& source) {
  Json object = Json::object();
  object.set("code", to_string(diagnostic.code));
  object.set("severity", to_string(diagnostic.severity));
  object.set("file", source.name_at(diagnostic.span.begin));
  set_location(object, diagnostic.span, source);
  set_origin(object, diagnostic.span, source);
  object.set("message", diagnostic.message);
  if (!diagnostic.fix.empty()) object.set("fix", diagnostic.fix);
  std::vector<Note> notes = diagnostic.notes;
  for (const SourceFile::Call& call : source.calls_at(diagnostic.span.begin)) {
    notes.push_back({fmt::format("in `{}`, which is called here", call.function), call.call, true});
  }
  if (!notes.empty()) object.set("notes", notes_json(notes, source));
  if (is_hazard(diagnostic.code)) set_witnesses(object, diagnostic, source);
  return object;
}

void add_diagnostics(const Diagnostics& diagnostics, const SourceFile& source, Json& array) {
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    array.push(to_json(diagnostic, source));
  }
}

}  // namespace tilevm::vm
