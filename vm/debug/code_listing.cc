#include "vm/debug/code_listing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "backend/compile/kernel_cache.h"
#include "backend/emit/emit.h"
#include "backend/host/subprocess.h"
#include "backend/host/tool_search.h"
#include "isa/numeric/target.h"

namespace tilevm::vm {

namespace {

using sim::debug::SourceLine;

constexpr std::chrono::seconds patience{60};

/// Calls f(line) for each line of a text.
template <class F>
void for_each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin);
}

/// Reads a number and the blanks before it; nothing if there is none.
std::optional<int> take_number(std::string_view& text) {
  text = without_blanks(text);
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

/// The text between quotes, which goes; nothing if there are none.
std::optional<std::string> take_quoted(std::string_view& text) {
  const std::size_t begin = text.find('"');
  if (begin == std::string_view::npos) return std::nullopt;
  std::string found;
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return found;
    }
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    found += text[i];
  }
  return std::nullopt;
}

/// Where lines of a named file are in the program; none if it is not a file of the program.
SourceLine line_of_file(const SourceFile& source, std::string_view name, int line) {
  for (std::size_t i = 0; i < source.files().size(); ++i) {
    const std::string& known = source.files()[i].name;
    // Compilers put the current folder before a relative path.
    if (name == known || name.ends_with("/" + known)) return {line, i};
  }
  return {};
}

std::vector<CodeLine> read_cuda(const SourceFile& source, std::string_view text) {
  constexpr std::string_view directive = "#line ";
  std::vector<CodeLine> lines;
  SourceLine here;
  std::string file;
  std::size_t begun = std::string::npos;  // the first line of a statement that has no #line yet
  for_each_line(text, [&](std::string_view line) {
    if (line.starts_with(directive)) {
      line.remove_prefix(directive.size());
      const int named = take_number(line).value_or(0);
      if (auto quoted = take_quoted(line)) file = *std::move(quoted);
      here = line_of_file(source, file, named);
      for (std::size_t i = begun; i < lines.size(); ++i) lines[i].line = here;
      begun = std::string::npos;
    } else if (here.line > 0 && !line.empty()) {
      // The comment that quotes a statement is before its first #line.
      if (without_blanks(line).starts_with("//")) begun = std::min(begun, lines.size());
      lines.push_back({here, std::to_string(lines.size() + 1), std::string(line)});
    }
  });
  return lines;
}

/// Places in PTX: a file's number, a line, a column.
using PtxPlace = std::array<int, 3>;

std::optional<PtxPlace> take_place(std::string_view& text) {
  PtxPlace place{};
  for (int& part : place) {
    const auto number = take_number(text);
    if (!number) return std::nullopt;
    part = *number;
  }
  return place;
}

/// The files that a PTX text names, by number.
std::map<int, std::string> ptx_files(std::string_view text) {
  std::map<int, std::string> files;
  for_each_line(text, [&](std::string_view line) {
    line = without_blanks(line);
    if (!line.starts_with(".file")) return;
    line.remove_prefix(5);
    const auto number = take_number(line);
    const auto name = take_quoted(line);
    if (number && name) files[*number] = *name;
  });
  return files;
}

Result<std::string> disassemble(const std::string& cubin) {
  const Result<std::string> tool = backend::find_tool("nvdisasm");
  if (!tool) {
    return Error{
        ErrorKind::unavailable,
        tool.error().message +
            "; it is part of the CUDA toolkit and reads machine code (PTX and CUDA C++ need "
            "no such tool)"};
  }
  const auto folder = backend::TemporaryFolder::make();
  if (!folder) return folder.error();
  const std::string path = folder->path() + "/kernel.cubin";
  const Status written = backend::write_whole_file(path, cubin);
  if (!written) return written.error();
  backend::ProcessRequest request{
      *tool, {"-gi", "-c", path}, folder->path(), {}, std::chrono::steady_clock::now() + patience};
  auto result = backend::run_process(request);
  if (!result) return result.error();
  if (result->exit_status != 0) {
    return Error{ErrorKind::unavailable, fmt::format("{} failed: {}", *tool, result->output)};
  }
  return std::move(result->output);
}

}  // namespace

Result<CodeKind> parse_code_kind(std::string_view word) {
  if (word == "cuda") return CodeKind::cuda;
  if (word == "ptx") return CodeKind::ptx;
  if (word == "sass") return CodeKind::sass;
  return Error{ErrorKind::usage,
               fmt::format("`{}` is not a kind of code; there are cuda, ptx and sass", word)};
}

SourceLine root_line(const SourceFile& source, const sim::debug::Position& position) {
  if (position.line.line == 0) return {};
  return {source.root_line(position.span.begin), 0};
}

std::vector<CodeLine> read_ptx(const SourceFile& source, std::string_view text) {
  const std::map<int, std::string> files = ptx_files(text);
  std::map<PtxPlace, PtxPlace> inlined;  // where the function that a place is in was called last
  std::vector<CodeLine> lines;
  SourceLine here;
  const auto in_program = [&](PtxPlace place) -> SourceLine {
    for (int depth = 0; depth < 64; ++depth) {
      const auto file = files.find(place[0]);
      const SourceLine found =
          file == files.end() ? SourceLine{} : line_of_file(source, file->second, place[1]);
      const auto outer = inlined.find(place);
      if (found.line > 0 || outer == inlined.end()) return found;
      place = outer->second;
    }
    return {};
  };
  for_each_line(text, [&](std::string_view line) {
    const std::string_view word = without_blanks(line);
    if (word.starts_with(".loc")) {
      std::string_view rest = word.substr(4);
      const auto place = take_place(rest);
      if (!place) return;
      constexpr std::string_view at = "inlined_at";
      if (const std::size_t found = rest.find(at); found != std::string_view::npos) {
        rest.remove_prefix(found + at.size());
        if (const auto outer = take_place(rest)) inlined[*place] = *outer;
      }
      if (const SourceLine found = in_program(*place); found.line > 0) here = found;
    } else if (word.starts_with(".visible .entry") || word.starts_with(".entry")) {
      here = {};
      lines.push_back({here, std::to_string(lines.size() + 1), std::string(line)});
    } else if (!word.empty() && here.line > 0 && (word.front() != '.' && word.front() != '}')) {
      lines.push_back({here, std::to_string(lines.size() + 1), std::string(line)});
    }
  });
  return lines;
}

std::vector<CodeLine> read_sass(const SourceFile& source, std::string_view text) {
  std::vector<CodeLine> lines;
  SourceLine here;
  bool known = false;  // by an earlier line of the same group of notes
  for_each_line(text, [&](std::string_view line) {
    const std::string_view word = without_blanks(line);
    constexpr std::string_view note = "//## File ";
    if (word.starts_with(note)) {
      if (known) return;
      std::string_view rest = word;
      const auto file = take_quoted(rest);
      const std::size_t at = rest.find("line ");
      if (!file || at == std::string_view::npos) return;
      rest.remove_prefix(at + 5);
      const SourceLine found = line_of_file(source, *file, take_number(rest).value_or(0));
      if (found.line > 0) here = found, known = true;
    } else if (word.starts_with("/*")) {
      known = false;
      const std::size_t end = word.find("*/");
      if (end == std::string_view::npos) return;
      lines.push_back({here, "0x" + std::string(word.substr(2, end - 2)),
                       std::string(without_blanks(word.substr(end + 2)))});
    } else if (word.starts_with(".text.")) {
      here = {};
      lines.push_back({here, "", std::string(word.substr(6))});
    } else if (word.starts_with(".L_")) {
      lines.push_back({here, "", std::string(word)});
    }
  });
  return lines;
}

Result<std::vector<CodeLine>> list_code(const isa::VerifiedProgram& program, CodeKind kind) {
  const backend::CudaSource emitted = backend::emit_cuda(program);
  if (kind == CodeKind::cuda) return read_cuda(program.source(), emitted.text);
  backend::CompileRequest request;
  request.source = emitted.text;
  request.name = program.source().name() + ".cu";
  request.target = isa::to_string(isa::compile_target(program.target()));
  request.artifact = kind == CodeKind::ptx ? backend::Artifact::ptx : backend::Artifact::cubin;
  request.timeout = patience;
  const auto compiled = backend::compile_cached(request);
  if (!compiled) return compiled.error();
  if (kind == CodeKind::ptx) return read_ptx(program.source(), compiled->image);
  const Result<std::string> text = disassemble(compiled->image);
  if (!text) return text.error();
  return read_sass(program.source(), *text);
}

}  // namespace tilevm::vm
