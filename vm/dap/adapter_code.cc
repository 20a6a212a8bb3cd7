// The CUDA C++ that statements become, in the place of a disassembly.
#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/emit.h"
#include "vm/dap/adapter.h"
#include "vm/dap/arguments.h"

namespace tilevm::vm::dap {

namespace {

constexpr std::int64_t most_instructions = 10'000, farthest = std::int64_t{1} << 40;

/// Reads `#line N` or `#line N "FILE"`; false if a line is something else.
bool read_line_directive(std::string_view line, int& number, std::string_view& file) {
  constexpr std::string_view word = "#line ";
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc{}) return false;
  const std::size_t quote = line.find('"');
  file = quote == std::string_view::npos ? std::string_view{} : line.substr(quote);
  return true;
}

/// The lines of the kernels, each with the line of the program that it comes from.
std::vector<Adapter::EmittedLine> lines_of_kernels(const std::string& text,
                                                   const std::string& file) {
  std::vector<Adapter::EmittedLine> lines;
  bool in_program = false;
  int number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::string_view named;
    if (read_line_directive(line, number, named)) {
      if (!named.empty()) in_program = named.find(file) != std::string_view::npos;
    } else if (in_program && !line.empty()) {
      lines.push_back({number, std::string(line)});
    }
  }
  return lines;
}

}  // namespace

/// A reference is the number of a line of the program; the instructions are the lines of CUDA C++
/// from the first one of this line on.
Adapter::Answer Adapter::disassemble(const Object& arguments) {
  if (emitted_.empty()) {
    emitted_ = lines_of_kernels(backend::emit_cuda(session_->program()).text,
                                session_->program().source().name());
  }
  const std::string reference = text_in(arguments, "memoryReference").value_or("");
  int line = 0;
  const auto [stop, error] =
      std::from_chars(reference.data(), reference.data() + reference.size(), line);
  if (error != std::errc{} || stop != reference.data() + reference.size()) {
    return Error{ErrorKind::usage, "an instruction's reference is the number of a line"};
  }
  const auto begin = std::find_if(emitted_.begin(), emitted_.end(),
                                  [&](const EmittedLine& emitted) { return emitted.line == line; });
  const std::int64_t first =
      (begin - emitted_.begin()) +
      std::clamp<std::int64_t>(integer_in(arguments, "instructionOffset").value_or(0), -farthest,
                               farthest);
  const std::int64_t count = std::clamp<std::int64_t>(
      integer_in(arguments, "instructionCount").value_or(0), 0, most_instructions);
  Json list = Json::array();
  for (std::int64_t i = first; i < first + count; ++i) {
    Json instruction = Json::object();
    const bool known = i >= 0 && i < static_cast<std::int64_t>(emitted_.size());
    instruction.set("address", fmt::format("{}", std::max<std::int64_t>(i, 0)));
    if (known) {
      const EmittedLine& emitted = emitted_[static_cast<std::size_t>(i)];
      instruction.set("instruction", emitted.text);
      instruction.set("location", source_json());
      instruction.set("line", emitted.line - (lines_from_one_ ? 0 : 1));
    } else {
      instruction.set("instruction", "").set("presentationHint", "invalid");
    }
    list.push(std::move(instruction));
  }
  Json body = Json::object();
  return body.set("instructions", std::move(list));
}

}  // namespace tilevm::vm::dap
