// Which top folder may include which, and where each library may be used.
//
//         tests --> vm --> { frontend, sim, backend } --> isa --> std, fmt
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/architecture/source_tree.h"

namespace {

namespace fs = std::filesystem;
using tilevm::architecture::find_includes;
using tilevm::architecture::Include;
using tilevm::architecture::is_source;
using tilevm::architecture::repository_root;
using tilevm::architecture::source_files;
using tilevm::architecture::SourceFile;
using tilevm::architecture::top_folders;
using tilevm::architecture::top_of;

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

constexpr std::array<Fence, 11> fences = {{
    {"boost/spirit", [](std::string_view file) { return file == "frontend/syntax/grammar.cc"; },
     "Boost.Spirit is used in frontend/syntax/grammar.cc only"},
    {"boost/context", [](std::string_view file) { return file == "backend/emu/fibre.cc"; },
     "Boost.Context is used in backend/emu/fibre.cc only"},
    {"boost/",
     [](std::string_view file) {
       return file == "frontend/syntax/grammar.cc" || file == "backend/emu/fibre.cc" ||
              file.starts_with("vm/") || in_tests(file);
     },
     "Boost is used in frontend/syntax/grammar.cc, backend/emu/fibre.cc and vm only"},
    {"CLI/",
     [](std::string_view file) {
       return file == "vm/cli/main.cc" || file == "vm/cli/command_line.cc";
     },
     "CLI11 is used in vm/cli/main.cc and vm/cli/command_line.cc only"},
    {"doctest", in_tests, "doctest is used in tests only"},
    {"rapidcheck", in_tests, "RapidCheck is used in tests only"},
    {"fmt/", [](std::string_view file) { return file.ends_with(".cc"); },
     "fmt is used in .cc files only: every header that has it slows all builds"},
    {"cuda", is_check_of_cuda,
     "CUDA's headers are used in check_cuda_headers.cc and in their oracle only"},
    {"cublas", is_check_of_cuda,
     "CUDA's headers are used in check_cuda_headers.cc and in their oracle only"},
    {"nvrtc", is_check_of_cuda,
     "CUDA's headers are used in check_cuda_headers.cc and in their oracle only"},
    {"dlfcn.h", [](std::string_view file) { return file.starts_with("backend/"); },
     "only the backend opens libraries at run time"},
}};

/// What is wrong with one include of `file` (from the repository's root), or "".
std::string fault_of(std::string_view file, const Include& include) {
  if (include.quoted) {
    const std::string_view to = top_of(include.path);
    if (std::find(top_folders().begin(), top_folders().end(), to) == top_folders().end()) {
      return "quoted includes begin at the repository's root";
    }
    return may_include(top_of(file), to) ? "" : "this direction is not in the graph";
  }
  for (const Fence& fence : fences) {
    if (!include.path.starts_with(fence.prefix)) continue;
    if (!fence.allowed(file)) return std::string(fence.rule);
  }
  const bool from_isa = top_of(file) == "isa";
  if (from_isa && !is_standard(include.path) && !include.path.starts_with("fmt/")) {
    return "isa uses the standard library and fmt alone";
  }
  return "";
}

/// "file:line: include: fault" for each fault of a file.
std::vector<std::string> faults_of(std::string_view file, const std::vector<Include>& includes) {
  std::vector<std::string> faults;
  for (const Include& include : includes) {
    const std::string fault = fault_of(file, include);
    if (fault.empty()) continue;
    faults.push_back(std::string(file) + ":" + std::to_string(include.line) + ": " + include.path +
                     ": " + fault);
  }
  return faults;
}

int fault_count(const std::string& file, const std::string& text) {
  return static_cast<int>(faults_of(file, find_includes(text)).size());
}

}  // namespace

TEST_CASE("every include of the repository points along the graph") {
  CHECK(source_files().size() > 20);
  for (const SourceFile& file : source_files()) {
    for (const std::string& fault : faults_of(file.path, file.includes)) FAIL_CHECK(fault);
  }
}

TEST_CASE("every quoted include names a file that exists") {
  for (const SourceFile& file : source_files()) {
    for (const Include& include : file.includes) {
      if (!include.quoted) continue;
      CHECK_MESSAGE(fs::exists(repository_root() / include.path),
                    file.path << ":" << include.line << ": " << include.path);
    }
  }
}

TEST_CASE("every header is guarded and leaves other namespaces alone") {
  for (const SourceFile& file : source_files()) {
    if (!file.path.ends_with(".h")) continue;
    CHECK_MESSAGE(file.text.find("#pragma once") != std::string::npos, file.path);
    CHECK_MESSAGE(file.text.find("using namespace") == std::string::npos, file.path);
    CHECK_MESSAGE(file.text.starts_with("//"), file.path << " does not open with what it models");
  }
}

TEST_CASE("C++ is in the six top folders only") {
  const auto& folders = top_folders();
  // An extension of Python is built by itself (docs/guides/python.md), and includes nothing of the
  // tree.
  const fs::path extension = repository_root() / "python/fast/fast.cc";
  for (const auto& entry : fs::directory_iterator(repository_root())) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || name.starts_with('.') || name.starts_with("build")) continue;
    if (std::find(folders.begin(), folders.end(), name) != folders.end()) continue;
    for (const auto& inner : fs::recursive_directory_iterator(entry.path())) {
      CHECK_MESSAGE((!is_source(inner.path()) || inner.path() == extension), inner.path().string());
    }
  }
}

TEST_CASE("an include against the direction is found") {
  CHECK(fault_count("isa/a.h", "#include \"sim/launch/block_interpreter.h\"\n") == 1);
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
  CHECK(fault_count("vm/a.cc", "#include <boost/context/fiber.hpp>\n") == 1);
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
