#include "vm/run/load.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "frontend/syntax/includes.h"
#include "frontend/syntax/lines.h"
#include "isa/base/shown.h"
#include "vm/run/edited_files.h"
#include "vm/run/include_folders.h"

namespace tilevm::vm {

namespace {

/// Reads to the end, but at most one byte more than the frontend takes. `read` fills a buffer as
/// far as it can, and tells how many bytes it has read.
template <class Read>
std::string read_all(const Read& read) {
  std::string text;
  std::vector<char> chunk(std::size_t{1} << 16);
  for (std::size_t count = chunk.size();
       count == chunk.size() && text.size() <= frontend::max_file_bytes;) {
    count = read(chunk);
    text.append(chunk.data(), count);
  }
  if (text.size() > frontend::max_file_bytes + 1) text.resize(frontend::max_file_bytes + 1);
  return text;
}

/// Error (usage): it cannot be opened, or not be read, as a folder.
Result<std::string> read_text(const std::string& path) {
  const auto close = [](std::FILE* file) { static_cast<void>(std::fclose(file)); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  if (!file) {
    return Error{ErrorKind::usage, fmt::format("cannot open `{}`: {}", path, std::strerror(errno))};
  }
  std::string text = read_all([&](std::vector<char>& chunk) {
    return std::fread(chunk.data(), 1, chunk.size(), file.get());
  });
  if (std::ferror(file.get()) != 0) {
    return Error{ErrorKind::usage, fmt::format("cannot read `{}`: {}", path, std::strerror(errno))};
  }
  return text;
}

Result<std::string> read_text(InputStream& stream) {
  errno = 0;
  std::string text = read_all([&](std::vector<char>& chunk) {
    stream.read(chunk.data(), static_cast<std::ptrdiff_t>(chunk.size()));
    return static_cast<std::size_t>(stream.gcount());
  });
  if (stream.bad()) {
    return Error{ErrorKind::usage, fmt::format("cannot read `<stdin>`: {}", std::strerror(errno))};
  }
  return text;
}

/// A file, or standard input for `-`.
Result<std::shared_ptr<const SourceFile>> read_source(const std::string& path,
                                                      InputStream* standard_input) {
  const bool is_file = path != "-";
  Result<std::string> text = is_file                     ? read_text(path)
                             : standard_input == nullptr ? std::string()
                                                         : read_text(*standard_input);
  if (!text) return text.error();
  return std::make_shared<const SourceFile>(is_file ? path : "<stdin>", *std::move(text));
}

}  // namespace

Result<std::shared_ptr<const SourceFile>> read_source(const std::string& path,
                                                      InputStream& standard_input) {
  return read_source(path, &standard_input);
}

namespace {

namespace fs = std::filesystem;

Error cannot_include(const std::string& message) { return {ErrorKind::program, message}; }

/// Whether a canonical path is inside of a canonical folder.
bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [end, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  static_cast<void>(at);
  return end == folder.end() || (std::next(end) == folder.end() && end->empty());
}

/// Finds the files of one program.
class IncludedFiles {
 public:
  /// `path` is the program's own, `-` if it has none.
  IncludedFiles(std::string path, const IncludeFolders& folders)
      : path_(std::move(path)), folders_(folders) {
    std::error_code error;
    if (has_folder()) {
      key_ = fs::weakly_canonical(path_, error);
      roots_.push_back(key_.parent_path());
    }
    for (const std::string& folder : folders_) {
      roots_.push_back(fs::weakly_canonical(fs::absolute(folder, error), error));
    }
  }

  [[nodiscard]] std::string key() const { return key_.generic_string(); }

  /// A file by its path from the folder of the file `from`, or from one of the folders. Its
  /// canonical path is the same for every way to it.
  [[nodiscard]] Result<frontend::FoundFile> find(const std::string& path,
                                                 const std::string& from) const {
    std::error_code error;
    const fs::path first = beside(from) / path;
    fs::path place = first;
    for (auto folder = folders_.begin(); !fs::exists(place, error); ++folder) {
      if (folder == folders_.end()) {
        return cannot_include(fmt::format("there is no file `{}`", first.generic_string()));
      }
      place = fs::path(*folder) / path;
    }
    return read(path, place);
  }

 private:
  [[nodiscard]] bool has_folder() const { return path_ != "-"; }

  [[nodiscard]] fs::path beside(const std::string& from) const {
    if (from != key_) return fs::path(from).parent_path();
    return has_folder() ? fs::path(path_).parent_path() : fs::path(folders_.front());
  }

  /// Text that a fault may show is only that of files where the user keeps programs.
  [[nodiscard]] Result<frontend::FoundFile> read(const std::string& path,
                                                 const fs::path& place) const {
    std::error_code error;
    const fs::path canonical = fs::canonical(place, error);
    if (!fs::is_regular_file(canonical, error)) {
      return cannot_include(fmt::format("`{}` is not a file", place.generic_string()));
    }
    for (const char* system : {"/dev", "/proc", "/sys"}) {
      if (!is_inside(canonical, system)) continue;
      return cannot_include(fmt::format("`{}` is in {}, whose files are not programs",
                                        place.generic_string(), system));
    }
    const bool permitted = std::ranges::any_of(
        roots_, [&](const fs::path& root) { return is_inside(canonical, root); });
    if (!permitted) {
      return cannot_include(fmt::format(
          "`{}` is outside of the program's own folder; `-I DIR` permits another folder", path));
    }
    Result<std::string> text = read_text(canonical.string());
    if (!text) {
      return cannot_include(fmt::format("`{}` cannot be read", place.generic_string()));
    }
    return frontend::FoundFile{place.generic_string(), canonical.generic_string(),
                               *std::move(text)};
  }

  std::string path_;
  IncludeFolders folders_;
  fs::path key_;
  std::vector<fs::path> roots_;  // canonical
};

}  // namespace

std::shared_ptr<const SourceFile> with_includes(const std::shared_ptr<const SourceFile>& source,
                                                const std::string& path, const EditedText& edited,
                                                const IncludeFolders& folders) {
  if (path == "-" && folders.empty()) return frontend::with_standard_library(source);
  const IncludedFiles files(path, folders);
  return frontend::with_includes(source, files.key(),
                                 [&](const std::string& name, const std::string& from) {
                                   auto found = files.find(name, from);
                                   if (!found || !edited) return found;
                                   if (auto text = edited(found->key))
                                     found->text = *std::move(text);
                                   return found;
                                 });
}

std::shared_ptr<const SourceFile> with_includes(const std::shared_ptr<const SourceFile>& source,
                                                const std::string& path,
                                                const IncludeFolders& folders) {
  return with_includes(source, path, {}, folders);
}

std::shared_ptr<const SourceFile> with_includes(const std::shared_ptr<const SourceFile>& source,
                                                const std::string& path) {
  return with_includes(source, path, IncludeFolders{});
}

Result<std::shared_ptr<const SourceFile>> read_program(const std::string& path,
                                                       InputStream& standard_input) {
  return read_program(path, standard_input, {});
}

Result<std::shared_ptr<const SourceFile>> read_program(const std::string& path) {
  return read_program(path, IncludeFolders{});
}

Result<std::shared_ptr<const SourceFile>> read_program(const std::string& path,
                                                       InputStream& standard_input,
                                                       const IncludeFolders& folders) {
  auto source = read_source(path, standard_input);
  if (!source) return source;
  return with_includes(*source, path, folders);
}

Result<std::shared_ptr<const SourceFile>> read_program(const std::string& path,
                                                       const IncludeFolders& folders) {
  auto source = read_source(path, nullptr);
  if (!source) return source;
  return with_includes(*source, path, folders);
}

namespace {

/// Whether a text has a name as a whole word.
bool has_word(std::string_view text, std::string_view word) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_part(text[at - 1]);
    if (begins && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

/// Errors about a constant that the command line has replaced say so, since the text shows another
/// value. One mistake there is one error, however often the constant is used.
Diagnostics with_defines(const Diagnostics& diagnostics, const SourceFile& source,
                         const std::vector<frontend::Define>& defines) {
  std::vector<Diagnostic> kept;
  std::map<std::pair<std::string, Code>, std::pair<std::size_t, std::size_t>> first;
  for (Diagnostic diagnostic : diagnostics.sorted()) {
    bool repeats = false;
    for (const frontend::Define& define : defines) {
      const bool is_error = diagnostic.severity == Severity::error;
      const std::string option = fmt::format("-D {}={}", define.name, shortened(define.value));
      if (!is_error || diagnostic.message.find(option) != std::string::npos) continue;
      if (!has_word(source.text(diagnostic.span), define.name)) continue;
      const auto [known, is_new] =
          first.try_emplace({define.name, diagnostic.code}, std::pair{kept.size(), std::size_t{0}});
      known->second.second += 1;
      repeats = !is_new;
      if (repeats) break;
      add_note(diagnostic,
               fmt::format("`{}` is {} here: {}", define.name, shortened(define.value), option));
    }
    if (!repeats) kept.push_back(std::move(diagnostic));
  }
  for (const auto& [what, place] : first) {
    if (place.second == 1) continue;
    add_note(kept[place.first],
             fmt::format("the same is wrong at {} more places", place.second - 1));
  }
  Diagnostics result;
  for (Diagnostic& diagnostic : kept) result.report(std::move(diagnostic));
  return result;
}

void remove_assertions(isa::Block& block) {
  std::erase_if(block, [](const isa::Stmt& stmt) {
    const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
    return inst != nullptr && std::holds_alternative<isa::Assert>(inst->inst);
  });
  for (isa::Stmt& stmt : block) {
    isa::for_each_block_of(stmt, [](isa::Block& inner) { remove_assertions(inner); });
  }
}

/// The program without assertions.
std::optional<isa::VerifiedProgram> without_assertions(const isa::VerifiedProgram& verified,
                                                       const isa::Target& target) {
  isa::Program program = verified.program();
  for (isa::Kernel& kernel : program.kernels) remove_assertions(kernel.body);
  Diagnostics said_before;
  return isa::verify(std::move(program), target, said_before);
}

}  // namespace

Loaded load(std::shared_ptr<const SourceFile> source, const std::vector<frontend::Define>& defines,
            const isa::Target& target, Assertions assertions) {
  Loaded loaded{std::move(source), Diagnostics{}, std::nullopt};
  std::shared_ptr<const SourceFile> with_calls;
  std::optional<isa::Program> program =
      frontend::load(loaded.source, {defines, target}, loaded.diagnostics, &with_calls);
  if (with_calls != nullptr) loaded.source = std::move(with_calls);
  if (program) loaded.program = isa::verify(*std::move(program), target, loaded.diagnostics);
  if (loaded.program && assertions == Assertions::left_out) {
    loaded.program = without_assertions(*loaded.program, target);
  }
  if (loaded.diagnostics.has_errors() && loaded.diagnostics.dropped() == 0) {
    loaded.diagnostics = with_defines(loaded.diagnostics, *loaded.source, defines);
  }
  return loaded;
}

Result<std::pair<std::string, std::string>> split_assignment(std::string_view text,
                                                             std::string_view option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Error{ErrorKind::usage, fmt::format("`{} {}` is not an assignment: write {} NAME=VALUE",
                                               option, shortened(text), option)};
  }
  return std::pair{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<std::vector<frontend::Define>> parse_defines(const std::vector<std::string>& texts) {
  std::vector<frontend::Define> defines;
  std::set<std::string> seen;
  for (const std::string& text : texts) {
    Result<std::pair<std::string, std::string>> pair = split_assignment(text, "-D");
    if (!pair) return pair.error();
    if (!seen.insert(pair->first).second) {
      return Error{ErrorKind::usage, fmt::format("`-D {}` is given twice", shortened(pair->first))};
    }
    defines.push_back({std::move(pair->first), std::move(pair->second)});
  }
  return defines;
}

}  // namespace tilevm::vm
