// Who may include whom, checked on the sources themselves.
//
//         tests --> vm --> { frontend, sim, backend } --> isa --> std, fmt
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> folders = {"isa",     "frontend", "sim",
                                                     "backend", "vm",       "tests"};

struct Include {
  std::string path;
  bool quoted = false;
  int line = 0;
};

std::string_view folder_of(std::string_view path) { return path.substr(0, path.find('/')); }

/// `#include` of one line, if it is one.
std::optional<Include> parse_include(std::string_view line, int number) {
  const auto skip = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(7);
  skip();
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const bool quoted = line[0] == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos) return {};
  return Include{std::string(line.substr(1, end - 1)), quoted, number};
}

/// Whether files of folder `from` may include those of folder `to`.
bool may_include(std::string_view from, std::string_view to) {
  if (from == to || to == "isa" || from == "tests") return true;
  return from == "vm" && (to == "frontend" || to == "sim" || to == "backend");
}

bool is_standard(std::string_view header) {
  return header.find('/') == std::string_view::npos && header.find('.') == std::string_view::npos;
}

/// A library that only some places may see; `prefix` begins its headers' names.
struct Fence {
  std::string_view prefix;
  bool (*allowed)(std::string_view file);
  std::string_view rule;
};

bool in_tests(std::string_view file) { return file.starts_with("tests/"); }
bool is_check_of_cuda(std::string_view file) {
  return file.ends_with("/check_cuda_headers.cc") || file == "tests/oracles/nvidia_headers_test.cc";
}

constexpr std::array<Fence, 10> fences = {{
    {"boost/spirit", [](std::string_view file) { return file == "frontend/syntax/grammar.cc"; },
     "Boost.Spirit stands in frontend/syntax/grammar.cc only"},
    {"boost/",
     [](std::string_view file) {
       return file == "frontend/syntax/grammar.cc" || file.starts_with("vm/") || in_tests(file);
     },
     "Boost stands in frontend/syntax/grammar.cc and vm only"},
    {"CLI/",
     [](std::string_view file) {
       return file == "vm/cli/main.cc" || file == "vm/cli/command_line.cc";
     },
     "CLI11 stands in vm/cli/main.cc and vm/cli/command_line.cc only"},
    {"doctest", in_tests, "doctest stands in tests only"},
    {"rapidcheck", in_tests, "RapidCheck stands in tests only"},
    {"fmt/", [](std::string_view file) { return file.ends_with(".cc"); },
     "fmt stands in .cc files only: every header that has it slows all builds"},
    {"cuda", is_check_of_cuda,
     "CUDA's headers stand in check_cuda_headers.cc and in their oracle only"},
    {"cublas", is_check_of_cuda,
     "CUDA's headers stand in check_cuda_headers.cc and in their oracle only"},
    {"nvrtc", is_check_of_cuda,
     "CUDA's headers stand in check_cuda_headers.cc and in their oracle only"},
    {"dlfcn.h", [](std::string_view file) { return file.starts_with("backend/"); },
     "only the backend opens libraries at run time"},
}};

/// What is wrong with one include of `file` (from the repository's root), or "".
std::string fault_of(std::string_view file, const Include& include) {
  if (include.quoted) {
    const std::string_view to = folder_of(include.path);
    if (std::find(folders.begin(), folders.end(), to) == folders.end()) {
      return "quoted includes begin at the repository's root";
    }
    return may_include(folder_of(file), to) ? "" : "this direction is not in the graph";
  }
  for (const Fence& fence : fences) {
    if (!include.path.starts_with(fence.prefix)) continue;
    if (!fence.allowed(file)) return std::string(fence.rule);
  }
  const bool from_isa = folder_of(file) == "isa";
  if (from_isa && !is_standard(include.path) && !include.path.starts_with("fmt/")) {
    return "isa stands on the standard library and fmt alone";
  }
  return "";
}

/// "file:line: include: fault" for each fault of a file's text.
std::vector<std::string> faults_of(const std::string& file, const std::string& text) {
  std::vector<std::string> faults;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const std::optional<Include> include = parse_include(line, ++number);
    if (!include) continue;
    const std::string fault = fault_of(file, *include);
    if (!fault.empty()) {
      faults.push_back(file + ":" + std::to_string(number) + ": " + include->path + ": " + fault);
    }
  }
  return faults;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_source(const fs::path& path) {
  return path.extension() == ".cc" || path.extension() == ".h";
}

/// Every source file, as a path from the repository's root.
std::vector<std::string> source_files() {
  const fs::path root = TILEVM_SOURCE_DIR;
  std::vector<std::string> files;
  for (const std::string_view folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (is_source(entry.path())) files.push_back(entry.path().lexically_relative(root).string());
    }
  }
  return files;
}

int fault_count(const std::string& file, const std::string& text) {
  return static_cast<int>(faults_of(file, text).size());
}

}  // namespace

TEST_CASE("every include of the repository points along the graph") {
  const std::vector<std::string> files = source_files();
  CHECK(files.size() > 20);
  for (const std::string& file : files) {
    for (const std::string& fault : faults_of(file, read(fs::path(TILEVM_SOURCE_DIR) / file))) {
      FAIL_CHECK(fault);
    }
  }
}

TEST_CASE("every quoted include names a file that exists") {
  for (const std::string& file : source_files()) {
    std::ifstream in(fs::path(TILEVM_SOURCE_DIR) / file);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      const std::optional<Include> include = parse_include(line, number);
      if (!include || !include->quoted) continue;
      CHECK_MESSAGE(fs::exists(fs::path(TILEVM_SOURCE_DIR) / include->path),
                    file << ":" << number << ": " << include->path);
    }
  }
}

TEST_CASE("every header is guarded and leaves other namespaces alone") {
  for (const std::string& file : source_files()) {
    if (!file.ends_with(".h")) continue;
    const std::string text = read(fs::path(TILEVM_SOURCE_DIR) / file);
    CHECK_MESSAGE(text.find("#pragma once") != std::string::npos, file);
    CHECK_MESSAGE(text.find("using namespace") == std::string::npos, file);
    CHECK_MESSAGE(text.starts_with("//"), file << " does not open with what it models");
  }
}

TEST_CASE("C++ stands in the six folders only") {
  for (const auto& entry : fs::directory_iterator(TILEVM_SOURCE_DIR)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with('.') || name.starts_with("build")) continue;
    if (std::find(folders.begin(), folders.end(), name) != folders.end()) continue;
    for (const auto& inner : fs::recursive_directory_iterator(entry.path())) {
      CHECK_MESSAGE(!is_source(inner.path()), inner.path().string());
    }
  }
}

TEST_CASE("an include against the direction is found") {
  CHECK(fault_count("isa/a.h", "#include \"sim/launch/machine.h\"\n") == 1);
  CHECK(fault_count("sim/a.cc", "#include \"backend/emit/emit.h\"\n") == 1);
  CHECK(fault_count("backend/a.cc", "  #  include \"frontend/syntax/ast.h\"") == 1);
  CHECK(fault_count("frontend/a.cc", "#include \"vm/data/npy.h\"\n") == 1);
  CHECK(fault_count("vm/a.cc", "#include \"tests/unit/x.h\"\n") == 1);
  CHECK(fault_count("sim/a.cc", "#include \"../isa/a.h\"\n#include \"b.h\"\n") == 2);
}

TEST_CASE("a library outside its place is found") {
  CHECK(fault_count("frontend/a.cc", "#include <boost/spirit/home/x3.hpp>\n") == 1);
  CHECK(fault_count("vm/a.cc", "#include <boost/spirit/home/x3.hpp>\n") == 1);
  CHECK(fault_count("sim/a.cc", "#include <boost/json.hpp>\n") == 1);
  CHECK(fault_count("vm/run.cc", "#include <CLI/CLI.hpp>\n") == 1);
  CHECK(fault_count("vm/run.cc", "#include <doctest/doctest.h>\n") == 1);
  CHECK(fault_count("isa/a.h", "#include <fmt/format.h>\n") == 1);
  CHECK(fault_count("isa/a.cc", "#include <unistd.h>\n") == 1);
  CHECK(fault_count("backend/driver.cc", "#include <cuda.h>\n") == 1);
  CHECK(fault_count("vm/run.cc", "#include <dlfcn.h>\n") == 1);
}

TEST_CASE("an include along the direction is let through") {
  CHECK(fault_count("isa/a.cc",
                    "#include <vector>\n#include <fmt/core.h>\n#include \"isa/b.h\"\n") == 0);
  CHECK(fault_count("vm/cli/main.cc", "#include <CLI/CLI.hpp>\n#include \"sim/a.h\"\n") == 0);
  CHECK(fault_count("frontend/syntax/grammar.cc", "#include <boost/spirit/home/x3.hpp>\n") == 0);
  CHECK(fault_count("backend/engine/check_cuda_headers.cc",
                    "#include <cuda.h>\n#include <nvrtc.h>\n") == 0);
  CHECK(fault_count("tests/unit/vm/a.cc",
                    "#include \"vm/data/npy.h\"\n#include <rapidcheck.h>\n") == 0);
  CHECK(fault_count("sim/a.cc", "// #include \"vm/data/npy.h\"\nint include;\n") == 0);
}
