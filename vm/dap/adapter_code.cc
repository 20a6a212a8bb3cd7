// What statements become on a GPU, in the place of a disassembly.
#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "vm/dap/adapter.h"
#include "vm/dap/arguments.h"

namespace tilevm::vm::dap {

namespace {

constexpr std::int64_t most_instructions = 10'000, farthest = std::int64_t{1} << 40;

/// An address is the number of a line of the code, in hexadecimal.
std::optional<std::int64_t> parse_address(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

/// The code of the kind that the client launched with; it is made once.
Result<const std::vector<CodeLine>*> Adapter::code() {
  if (no_code_) return *no_code_;
  if (!code_) {
    auto listed = list_code(session_->program(), code_kind_);
    if (!listed) {
      no_code_ = listed.error();
      return *no_code_;
    }
    code_ = *std::move(listed);
  }
  return &*code_;
}

/// Where the code of a line begins; nothing if there is none.
std::optional<std::string> Adapter::code_address(sim::debug::SourceLine line) {
  const bool told = no_code_.has_value();
  const auto listed = code();
  if (!listed) {
    if (!told) output("no code is shown: " + listed.error().message + "\n", "stderr");
    return std::nullopt;
  }
  const auto begin =
      std::ranges::find(**listed, line, [](const CodeLine& one) { return one.line; });
  if (begin == (*listed)->end()) return std::nullopt;
  return fmt::format("{:#x}", begin - (*listed)->begin());
}

Adapter::Answer Adapter::disassemble(const Object& arguments) {
  const auto listed = code();
  if (!listed) return listed.error();
  const std::vector<CodeLine>& lines = **listed;
  const auto reference = parse_address(text_in(arguments, "memoryReference").value_or(""));
  if (!reference) {
    return Error{ErrorKind::usage,
                 "the code begins where a frame's instructionPointerReference says"};
  }
  const auto clamped = [&](const char* name) {
    return std::clamp<std::int64_t>(integer_in(arguments, name).value_or(0), -farthest, farthest);
  };
  const std::int64_t first = std::clamp<std::int64_t>(*reference, 0, farthest) + clamped("offset") +
                             clamped("instructionOffset");
  const std::int64_t count =
      std::clamp<std::int64_t>(clamped("instructionCount"), 0, most_instructions);
  Json list = Json::array();
  for (std::int64_t i = first; i < first + count; ++i) {
    Json instruction = Json::object();
    const bool known = i >= 0 && i < static_cast<std::int64_t>(lines.size());
    instruction.set("address", fmt::format("{:#x}", std::max<std::int64_t>(i, 0)));
    if (known) {
      const CodeLine& line = lines[static_cast<std::size_t>(i)];
      instruction.set("instruction", line.text);
      if (line.line.line > 0) {
        instruction.set("location", source_json(line.line.file));
        instruction.set("line", line.line.line - (client_.lines_from_one ? 0 : 1));
      }
    } else {
      instruction.set("instruction", "").set("presentationHint", "invalid");
    }
    list.push(std::move(instruction));
  }
  Json body = Json::object();
  return body.set("instructions", std::move(list));
}

}  // namespace tilevm::vm::dap
