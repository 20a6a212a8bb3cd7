// The files of a program: its own, those that it includes, and the standard library's, which are on
// no disk.
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "vm/dap/adapter.h"
#include "vm/dap/arguments.h"

namespace tilevm::vm::dap {

namespace {

namespace fs = std::filesystem;

bool is_on_disk(const std::string& name) {
  std::error_code error;
  return !name.starts_with("std/") && fs::is_regular_file(name, error);
}

/// Two paths of one file are equal here.
fs::path canonical(const std::string& path) {
  std::error_code error;
  fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path(path) : found;
}

}  // namespace

/// A file of the disk has its path; another one a reference, with which the client asks for it.
Json Adapter::source_json(std::size_t file) {
  const std::string& name = session_->program().source().files()[file].name;
  Json source = Json::object();
  source.set("name", fs::path(name).filename().string());
  if (is_on_disk(name)) return std::move(source.set("path", canonical(name).string()));
  return std::move(source.set("path", name).set("sourceReference", file + 1));
}

/// The file that `source` names; the program's own if it names none, nothing if it is not a file of
/// the program.
std::optional<std::size_t> Adapter::file_of(const Object& arguments) {
  const auto& files = session_->program().source().files();
  const Object* source = object_in(arguments, "source");
  const Object none;
  const Object& named = source != nullptr ? *source : none;
  const std::int64_t reference = integer_in(named, "sourceReference").value_or(0);
  if (reference > 0) {
    return reference <= static_cast<std::int64_t>(files.size())
               ? std::optional(static_cast<std::size_t>(reference) - 1)
               : std::nullopt;
  }
  const auto path = text_in(named, "path");
  if (!path) return 0;
  const fs::path wanted = canonical(*path);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].name == *path || canonical(files[i].name) == wanted) return i;
  }
  return std::nullopt;
}

Adapter::Answer Adapter::loaded_sources(const Object&) {
  Json list = Json::array();
  for (std::size_t i = 0; i < session_->program().source().files().size(); ++i) {
    list.push(source_json(i));
  }
  Json body = Json::object();
  return body.set("sources", std::move(list));
}

Adapter::Answer Adapter::source(const Object& arguments) {
  const SourceFile& source = session_->program().source();
  Object named = arguments;
  if (object_in(arguments, "source") == nullptr) {  // older clients name the reference alone
    named["source"] =
        Object{{"sourceReference", integer_in(arguments, "sourceReference").value_or(0)}};
  }
  const auto file = file_of(named);
  if (!file) return Error{ErrorKind::usage, "this is not a file of the program"};
  const SourceFile::File& found = source.files()[*file];
  Json body = Json::object();
  return body.set("content", source.text().substr(found.begin, found.end - found.begin));
}

}  // namespace tilevm::vm::dap
