// Every barrier and wait of the programs that ship is needed, or called redundant.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/unit/vm/commands_support.h"
#include "vm/cli/cmd_support.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

using Lines = std::vector<std::string>;

Lines read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// The -D options of the `# args:` lines of a program, one list for each line.
std::vector<Lines> sizes_of(const Lines& lines) {
  std::vector<Lines> sizes;
  for (const std::string& line : lines) {
    if (!line.starts_with("# args:")) continue;
    sizes.emplace_back();
    std::istringstream words(line.substr(7));
    for (std::string word; words >> word;) {
      if (word == "-D" && words >> word) sizes.back().push_back(word);
    }
  }
  return sizes;
}

struct Ran {
  Exit exit;
  std::set<std::size_t> redundant;  ///< lines, from 1
  std::string said;
};

Ran run_text(const std::string& text, const Lines& defines) {
  Streams streams(text);
  RunOptions options;
  options.program.file = "-";
  options.program.defines = defines;
  const Exit exit = run(options, streams.io);
  Ran ran{exit, {}, streams.err.str()};
  std::istringstream said(ran.said);
  for (std::string line; std::getline(said, line);) {
    const std::size_t place = line.find("<stdin>:");
    if (place != std::string::npos && contains(line, "[TV0408]")) {
      ran.redundant.insert(std::stoul(line.substr(place + 8)));
    }
  }
  return ran;
}

Result<Loaded> load_with(const std::string& text, const Lines& defines) {
  Streams streams(text);
  ProgramOptions options;
  options.file = "-";
  options.defines = defines;
  return load_program(options, "sm_90", streams.io);
}

/// The lines with statements of kernels, from 1. Blocks that constants exclude have none.
std::set<std::size_t> statement_lines(const isa::VerifiedProgram& program) {
  std::set<std::size_t> lines;
  for (const isa::Kernel& kernel : program.program().kernels) {
    isa::for_each_statement(kernel.body, [&](const isa::Stmt& stmt) {
      lines.insert(static_cast<std::size_t>(program.source().locate(stmt.span.begin).line));
    });
  }
  return lines;
}

/// Bytes of shared memory that the kernels of a program need on a GPU, all together.
std::int64_t shared_footprint(const std::string& text, const Lines& defines) {
  const Result<Loaded> loaded = load_with(text, defines);
  REQUIRE((loaded && loaded->program));
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < loaded->program->program().kernels.size(); ++k) {
    bytes += loaded->program->info(static_cast<int>(k)).shared_footprint;
  }
  return bytes;
}

/// Without the barrier a tensor cannot take another's place.
bool memory_grows(const std::string& with, const std::string& without, const Lines& defines) {
  return shared_footprint(without, defines) > shared_footprint(with, defines);
}

bool is_barrier(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin != std::string::npos && (line.substr(begin).starts_with("Synchronize()") ||
                                        line.substr(begin).starts_with("CopyAsyncWaitGroup("));
}

}  // namespace

TEST_CASE(
    "without any one barrier or wait a program faults or takes more memory, or it was called "
    "redundant") {
  std::size_t removed = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::string(TILEVM_SOURCE_DIR) + "/programs")) {
    if (entry.is_directory()) continue;
    const Lines lines = read_lines(entry.path());
    // Nothing is called redundant in a kernel with groups of warps: one size must need each.
    const bool has_groups = joined(lines).find("with warps(") != std::string::npos;
    std::map<std::size_t, bool> needed;
    for (const Lines& defines : sizes_of(lines)) {
      const Ran whole = run_text(joined(lines), defines);
      if (whole.exit != Exit::ok) continue;  // a program that is wrong on purpose
      const std::set<std::size_t> used =
          statement_lines(*load_with(joined(lines), defines)->program);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!is_barrier(lines[i]) || !used.contains(i + 1)) continue;
        Lines without = lines;
        // Not without the line: its block may have no other.
        without[i] = std::string(lines[i].find_first_not_of(' '), ' ') + "pass";
        const Ran ran = run_text(joined(without), defines);
        const bool redundant = whole.redundant.contains(i + 1);
        INFO(entry.path().filename().string(), ":", i + 1, "\n", ran.said);
        const bool frees =
            ran.exit == Exit::ok && memory_grows(joined(lines), joined(without), defines);
        ++removed;
        if (has_groups) {
          needed[i + 1] = needed[i + 1] || ran.exit == Exit::fault;
          continue;
        }
        CHECK(ran.exit == (redundant || frees ? Exit::ok : Exit::fault));
      }
    }
    for (const auto& [line, is_needed] : needed) {
      INFO(entry.path().filename().string(), ":", line);
      CHECK(is_needed);
    }
  }
  CHECK(removed >= 10);
}

TEST_CASE("a note tells of a barrier that separates nothing, and does not fail the run") {
  const std::string text =
      "def f<2>(i32* x_ptr, i32* y_ptr):\n"
      "    s = AllocateShared(i32, shape=[4, 8])\n"
      "    StoreShared(LoadGlobal(ViewGlobal(x_ptr, shape=[4, 8]), layout=spatial(4, 8)), s)\n"
      "    Synchronize()\n"
      "    y = LoadShared(s, layout=column_spatial(4, 8))\n"
      "    Synchronize()\n"
      "    b = BlockIndices()\n"
      "    StoreGlobal(y, ViewGlobal(y_ptr, shape=[2, 4, 8]), offset=[b, 0:, 0:])\n";
  const Ran ran = run_text(text, {});
  CHECK(ran.exit == Exit::ok);
  CHECK(ran.redundant == std::set<std::size_t>{6});
  CHECK(contains(ran.said, "for these sizes it is redundant"));
  // Two in a row: each alone is redundant.
  std::string twice = text;
  twice.insert(twice.find("    y ="), "    Synchronize()\n");
  CHECK(run_text(twice, {}).redundant == std::set<std::size_t>{4, 5, 7});
}

TEST_CASE("of two waits before a turn each alone is redundant") {
  const Ran ran = run_text(
      "@threads(32)\n"
      "def f<2>(i32* x_ptr, i32* y_ptr):\n"
      "    b = BlockIndices()\n"
      "    s = AllocateShared(i32, shape=[32])\n"
      "    c = AllocateGlobal(i32, shape=[1], init=0)\n"
      "    CopyAsync(s, ViewGlobal(x_ptr, shape=[64]), offset=[b * 32:])\n"
      "    CopyAsyncCommitGroup()\n"
      "    CopyAsyncWaitGroup(0)\n"
      "    CopyAsyncWaitGroup(0)\n"
      "    n = AtomicAdd(c, 1)\n"
      "    StoreGlobal(LoadShared(s, layout=spatial(32)), ViewGlobal(y_ptr, shape=[64]), "
      "offset=[b * 32:])\n",
      {});
  CHECK(ran.exit == Exit::ok);
  CHECK(ran.redundant == std::set<std::size_t>{8, 9});
}

TEST_CASE("a wait is needed if another block overwrites, after a release, what the copy reads") {
  const Ran ran = run_text(
      "@threads(32)\n"
      "def f<2>(i32* x_ptr):\n"
      "    b = BlockIndices()\n"
      "    x = ViewGlobal(x_ptr, shape=[32])\n"
      "    s = AllocateShared(i32, shape=[32])\n"
      "    c = AllocateGlobal(i32, shape=[1], init=0)\n"
      "    if b == 0:\n"
      "        CopyAsync(s, x)\n"
      "        CopyAsyncCommitGroup()\n"
      "        CopyAsyncWaitGroup(0)\n"
      "        ReleaseSemaphore(c, 1)\n"
      "    else:\n"
      "        LockSemaphore(c, 1)\n"
      "        StoreGlobal(AllocateRegister(i32, layout=spatial(32), init=1), x)\n",
      {});
  CHECK(ran.exit == Exit::ok);
  CHECK(ran.redundant.empty());
}
