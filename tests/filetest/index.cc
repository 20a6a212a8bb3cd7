#include "tests/filetest/index.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/syntax/grammar.h"
#include "isa/program/program.h"
#include "tests/filetest/arguments.h"
#include "tests/filetest/instructions_of.h"
#include "tests/filetest/messages.h"
#include "tests/filetest/test_source.h"

namespace tilevm::filetest {

namespace {

/// What a test shows of its instructions.
enum class Aspect : std::uint8_t { results, faults, checks, code };
constexpr std::size_t aspect_count = 4;

/// The instructions of one file, by aspect.
struct IndexedFile {
  std::string path;
  std::array<Mnemonics, aspect_count> instructions;

  [[nodiscard]] Mnemonics& of(Aspect aspect) {
    return instructions[static_cast<std::size_t>(aspect)];
  }
};

/// The kernels that a case is about: of a run those that it launches.
std::vector<const isa::Kernel*> kernels_of(const isa::VerifiedProgram& program, const Case& test,
                                           const Arguments& arguments) {
  std::vector<const isa::Kernel*> kernels;
  if (test.kind == Kind::run) {
    const auto entry = resolve_entry(program, arguments.entry, arguments.data);
    if (!entry) return kernels;
    for (const isa::Launch& launch : entry->launches) {
      kernels.push_back(&program.kernel(launch.kernel));
    }
    return kernels;
  }
  for (const isa::Kernel& kernel : program.program().kernels) kernels.push_back(&kernel);
  return kernels;
}

Aspect aspect_of(const Case& test, bool fails) {
  switch (test.kind) {
    case Kind::run:
      return fails ? Aspect::faults : Aspect::results;
    case Kind::explain:
    case Kind::emit:
      return Aspect::code;
    case Kind::check:
    case Kind::format:
      break;
  }
  return Aspect::checks;
}

void add_tree(const SourceFile& source, IndexedFile& indexed) {
  Diagnostics ignored;
  if (const auto tree = frontend::parse(source, ignored)) {
    add_instructions(*tree, indexed.of(Aspect::checks));
  }
}

Result<IndexedFile> index_file(const std::string& path) {
  const Result<TestSource> test = read_test_source(path);
  if (!test) return Error{test.error().kind, path + ": " + test.error().message};
  IndexedFile indexed;
  indexed.path = path;
  for (const Case& one : test->file.cases) {
    const Result<Arguments> arguments = parse_arguments(one);
    if (!arguments) continue;
    const Result<vm::Loaded> loaded = load_case(*arguments, test->program);
    if (!loaded) continue;
    if (!loaded->program) {
      add_tree(*test->program, indexed);
      continue;
    }
    const Aspect aspect = aspect_of(one, !test->file.errors.empty());
    for (const isa::Kernel* kernel : kernels_of(*loaded->program, one, *arguments)) {
      add_instructions(*kernel, indexed.of(aspect));
    }
  }
  return indexed;
}

/// Links to the tests of an instruction. The test with the fewest other instructions is the one to
/// read first.
std::string cell(std::string_view mnemonic, Aspect aspect, std::vector<IndexedFile>& files,
                 const std::filesystem::path& folder) {
  constexpr std::size_t most = 5;
  std::vector<std::pair<std::size_t, std::string>> found;
  for (IndexedFile& file : files) {
    const Mnemonics& instructions = file.of(aspect);
    if (instructions.contains(mnemonic)) found.emplace_back(instructions.size(), file.path);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> links;
  for (std::size_t i = 0; i < std::min(found.size(), most); ++i) {
    const std::filesystem::path path = found[i].second;
    links.push_back(fmt::format("[{}]({})", path.stem().string(),
                                path.lexically_relative(folder).generic_string()));
  }
  if (found.size() > most) links.push_back(fmt::format("{} more", found.size() - most));
  return fmt::format("{}", fmt::join(links, ", "));
}

constexpr std::string_view introduction = R"(# Tests by instruction

Generated from the programs of the tests by `filetest index`; a test tells when this page is stale, and
how it is written again. Tests with the fewest other instructions come first.

- *Results*: the program runs, and what it computes or prints is compared.
- *Faults*: a run must end with the expected report.
- *Checks*: the program must be accepted, or refused with the expected errors.
- *Code*: what the CUDA backend decides (`# test: explain`) or writes (`# test: emit`).

What a test may contain is in [expectations.h](../filetest/expectations.h).

| instruction | results | faults | checks | code |
|---|---|---|---|---|
)";

}  // namespace

Result<std::string> make_index(const std::string& readme, const std::vector<std::string>& folders) {
  std::vector<IndexedFile> files;
  for (const std::string& path : tests_below(folders)) {
    Result<IndexedFile> indexed = index_file(path);
    if (!indexed) return indexed.error();
    files.push_back(std::move(*indexed));
  }
  const std::filesystem::path folder = std::filesystem::path(readme).parent_path();
  std::string text(introduction);
  std::vector<std::string_view> missing;
  for (const std::string_view mnemonic : all_mnemonics()) {
    const auto links = [&](Aspect aspect) { return cell(mnemonic, aspect, files, folder); };
    const std::string results = links(Aspect::results);
    if (results.empty()) missing.push_back(mnemonic);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", mnemonic, results, links(Aspect::faults),
                        links(Aspect::checks), links(Aspect::code));
  }
  if (missing.empty()) return text;
  return Error{ErrorKind::usage,
               fmt::format("no test runs {} and compares the results; add one below {}",
                           fmt::join(missing, ", "), fmt::join(folders, ", "))};
}

}  // namespace tilevm::filetest
