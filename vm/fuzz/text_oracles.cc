#include "vm/fuzz/text_oracles.h"

#include <cctype>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/emit.h"
#include "frontend/print/print.h"
#include "frontend/syntax/grammar.h"
#include "isa/base/render.h"
#include "vm/fuzz/program_text.h"

namespace tilevm::vm::fuzz {
namespace {

using Source = std::shared_ptr<const SourceFile>;

Source as_source(std::string text) {
  return std::make_shared<const SourceFile>("case.tile", std::move(text));
}

/// Parsing what was printed gives an equal tree, and printing that the same text.
std::optional<Finding> check_printing(const Source& source) {
  Diagnostics diagnostics;
  const auto tree = frontend::parse(*source, diagnostics);
  if (!tree) {
    return Finding{"text is not parsed", render(diagnostics, *source, false), {}};
  }
  const std::string printed = frontend::print(*tree);
  const Source again = as_source(printed);
  const auto second = frontend::parse(*again, diagnostics);
  if (!second) return Finding{"printed text is not parsed", render(diagnostics, *again, false), {}};
  if (!(*second == *tree)) return Finding{"printed text is another tree", printed, {}};
  if (frontend::print(*second) != printed) return Finding{"printing again differs", printed, {}};
  return std::nullopt;
}

/// The first line in which two texts differ.
std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t at = 0, line = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) {
    if (a[at] == '\n') line = at + 1;
    ++at;
  }
  return fmt::format("`{}` became `{}`", a.substr(line, a.find('\n', line) - line),
                     b.substr(line, b.find('\n', line) - line));
}

/// Two verifications of one program: what they plan shows in what is emitted.
std::optional<Finding> check_verify_again(const isa::VerifiedProgram& program) {
  Diagnostics diagnostics;
  const auto again = isa::verify(program.program(), program.target(), diagnostics);
  if (!again) return Finding{"verify refuses what it took", {}, {}};
  const std::string first = backend::emit_cuda(program).text;
  const std::string second = backend::emit_cuda(*again).text;
  if (first == second) return std::nullopt;
  return Finding{"verify is not deterministic", first_difference(first, second), {}};
}

}  // namespace

std::string instruction_at(const SourceFile& source, Span span) {
  const std::string_view line = source.line_at(span.begin);
  const std::size_t open = line.find('(');
  if (open == std::string_view::npos) return "scalar";
  std::size_t begin = open;
  while (begin > 0 && std::isalnum(static_cast<unsigned char>(line[begin - 1])) != 0) --begin;
  const std::string_view word = line.substr(begin, open - begin);
  const bool instruction = !word.empty() && std::isupper(static_cast<unsigned char>(word[0])) != 0;
  return instruction ? std::string(word) : "scalar";
}

std::string fault_signature(const Failure& failure, const SourceFile& source) {
  if (const auto* error = std::get_if<Error>(&failure)) {
    return error->kind == ErrorKind::limit ? "limit" : "error";
  }
  const std::vector<Diagnostic> sorted = std::get_if<Diagnostics>(&failure)->sorted();
  if (sorted.empty()) return "no message";
  return fmt::format("{} {}", to_string(sorted[0].code), instruction_at(source, sorted[0].span));
}

std::string failure_text(const Failure& failure, const SourceFile& source) {
  if (const auto* error = std::get_if<Error>(&failure)) return error->message;
  return render(*std::get_if<Diagnostics>(&failure), source, false);
}

std::optional<Finding> check_generated(const GeneratedCase& generated, const isa::Target& target) {
  if (!generated.defect.empty()) {
    const std::string name = generated.defect.substr(0, generated.defect.find(':'));
    return Finding{"generator: " + name, generated.defect, {}};
  }
  Diagnostics diagnostics;
  if (isa::verify(generated.program, target, diagnostics)) return std::nullopt;
  const Diagnostic first = diagnostics.sorted().front();
  return Finding{"generator: " + to_string(first.code), first.message, {}};
}

std::variant<ReadyCase, Finding> make_ready(const FuzzCase& each) {
  const Source source = as_source(each.text);
  if (auto finding = check_printing(source)) return *std::move(finding);
  Loaded loaded = load(source, {}, each.target);
  if (!loaded.program) {
    const Failure failure = loaded.diagnostics;
    return Finding{
        "not loaded: " + fault_signature(failure, *source), failure_text(failure, *source), {}};
  }
  const std::string text = program_text(loaded.program->program());
  if (const Loaded second = load(as_source(text), {}, each.target);
      !second.program || program_text(second.program->program()) != text) {
    return Finding{"loading changes the program", text, {}};
  }
  if (auto finding = check_verify_again(*loaded.program)) return *std::move(finding);
  Result<Entry> entry = resolve_entry(*loaded.program, {}, {each.inputs, {}});
  if (!entry) return Finding{"no entry", entry.error().message, {}};
  Result<std::vector<HostTensor>> tensors = make_tensors(*entry, {});
  if (!tensors) return Finding{"no data", tensors.error().message, {}};
  return ReadyCase{each.seed, *std::move(loaded.program), *std::move(entry), *std::move(tensors)};
}

}  // namespace tilevm::vm::fuzz
