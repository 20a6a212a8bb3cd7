#include "vm/cli/io.h"

#include <span>

#include <fmt/format.h>

#include "isa/base/render.h"
#include "isa/base/shown.h"
#include "vm/report/diagnostic_json.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

/// What a stranger's words may make of a message.
constexpr std::size_t longest_message = 4000;

bool has_place(const DataPlace& place) {
  return !place.file.empty() || !place.tensor.empty() || !place.index.empty();
}

Json place_json(const DataPlace& place) {
  Json object = Json::object();
  if (!place.file.empty()) object.set("file", place.file);
  if (!place.tensor.empty()) object.set("tensor", place.tensor);
  if (place.index.empty()) return object;
  Json index = Json::array();
  for (const std::int64_t i : place.index) index.push(i);
  return std::move(object.set("index", std::move(index)));
}

}  // namespace

Exit fail(Io& io, const Error& error) {
  io.err << "tilevm: " << paint("error:", Style::red, io.color_err) << ' '
         << printable(shortened(error.message, longest_message)) << '\n';
  return exit_of(error.kind);
}

void show(Io& io, const Diagnostics& diagnostics, const SourceFile& source) {
  if (diagnostics.sorted().empty()) return;
  io.err << render(diagnostics, source, io.color_err);
}

void show(Io& io, const std::vector<DataNote>& notes) {
  for (const DataNote& note : notes) {
    io.err << "tilevm: " << paint("note:", Style::bold, io.color_err) << ' '
           << printable(note.message) << fmt::format(" [{}]", to_string(note.code)) << '\n';
  }
}

Reporter::Reporter(Io& io, std::string_view command, bool json) : io_(io), json_(json) {
  object_.set("schema", 1).set("command", command);
}

void Reporter::set(std::string key, Json value) {
  if (json_) object_.set(std::move(key), std::move(value));
}

void Reporter::diagnostics(const Diagnostics& diagnostics, const SourceFile& source) {
  if (!json_) {
    show(io_, diagnostics, source);
    return;
  }
  add_diagnostics(diagnostics, source, diagnostics_);
}

Exit Reporter::finish(Exit status) {
  if (json_) {
    object_.set("diagnostics", std::move(diagnostics_)).set("status", static_cast<int>(status));
    const std::string text = object_.text();
    io_.out << (has_begun_ ? ", " + text.substr(1) : text) << '\n';
  }
  return status;
}

void Reporter::begin_list(std::string_view key) {
  if (!json_) return;
  std::string text = object_.text();
  text.pop_back();
  io_.out << (has_begun_ ? ", " + text.substr(1) : text) << fmt::format(", \"{}\": [", key);
  object_ = Json::object();
  has_begun_ = true;
  has_items_ = false;
}

void Reporter::add_item(const Json& item) {
  if (!json_) return;
  io_.out << (has_items_ ? ", " : "") << item.text();
  has_items_ = true;
}

void Reporter::end_list() {
  if (json_) io_.out << ']';
}

void Reporter::notes(const std::vector<DataNote>& notes) {
  if (notes.empty()) return;
  if (!json_) return show(io_, notes);
  Json list = Json::array();
  for (const DataNote& note : notes) {
    Json item = Json::object();
    item.set("code", to_string(note.code)).set("message", note.message);
    item.set("place", place_json(note.place)).set("count", note.count);
    list.push(std::move(item.set("largest_error", note.largest_error)));
  }
  set("notes", std::move(list));
}

Exit Reporter::fail(const Error& error) {
  const Exit status = exit_of(error.kind);
  if (json_) {
    set("error", error.message);
    if (!error.code.empty()) set("error_code", error.code);
    if (has_place(error.place)) set("place", place_json(error.place));
  } else {
    vm::fail(io_, error);
  }
  return finish(status);
}

Exit Reporter::fail(const Failure& failure, const SourceFile& source) {
  if (const auto* error = std::get_if<Error>(&failure)) return fail(*error);
  diagnostics(std::get<Diagnostics>(failure), source);
  return finish(exit_of(failure));
}

Status write_result(Io& io, const std::string& path, std::string_view bytes) {
  if (path != "-") {
    return write_file_atomic(path, {reinterpret_cast<const std::uint8_t*>(bytes.data()),  // bytes
                                    bytes.size()});
  }
  io.out.write(bytes.data(), static_cast<std::ptrdiff_t>(bytes.size()));
  io.out.flush();
  if (!io.out) return Error{ErrorKind::usage, "cannot write to standard output"};
  return Done{};
}

}  // namespace tilevm::vm
