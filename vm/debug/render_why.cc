#include "vm/debug/render_why.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vm/debug/render_tile.h"

namespace tilevm::vm {

namespace {

namespace reply = sim::debug::reply;

/// What the value was made of; with several sources each has a number, by which it is followed.
std::string sources_text(const reply::Cause& cause) {
  std::string text;
  for (const reply::Cause::Source& source : cause.sources) {
    text += "         ";
    if (cause.branches > 1) text += fmt::format("({}) ", fmt::join(source.branches, ", "));
    text += source.text;
    const auto& numbers = source.branches;
    const bool followed =
        cause.branches > 1 && std::ranges::find(numbers, cause.followed) != numbers.end();
    if (followed) {
      text += numbers.size() == 1 ? ", followed" : fmt::format(", {} followed", cause.followed);
    }
    text += '\n';
  }
  if (cause.more > 0) text += fmt::format("         and {} smaller ones\n", cause.more);
  return text;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin);
}

}  // namespace

std::string cause_text(const reply::Cause& cause, int number, const isa::VerifiedProgram& program,
                       Format format) {
  std::string text;
  if (cause.skipped > 0) {
    text +=
        fmt::format("     ... copied {} time{}\n", cause.skipped, cause.skipped == 1 ? "" : "s");
  }
  text += fmt::format("{:>3}  {}", number, cause.place.empty() ? "a value" : cause.place);
  if (cause.has_element) {
    text += " = " + element_text(cause.dtype, cause.element, format);
    if (format == Format::value) {
      text += fmt::format(" ({} {})", isa::to_string(cause.dtype),
                          element_text(cause.dtype, cause.element, Format::hex));
    }
  }
  if (cause.scalar) {
    text += fmt::format(" = {} ({})", scalar_text(*cause.scalar, format),
                        isa::to_string(cause.scalar->kind));
  }
  if (cause.thread) text += fmt::format(", thread {} place {}", *cause.thread, *cause.local);
  text += '\n';
  if (!cause.bits.empty()) text += fmt::format("       {}\n", cause.bits);
  using Kind = reply::Cause::Kind;
  switch (cause.kind) {
    case Kind::statement:
      text += fmt::format("       by line {}, {} {}, moment {}:  {}\n",
                          line_text(program.source(), cause.position.line), cause.position.kernel,
                          block_text(cause.position.block), cause.position.moment,
                          trimmed(program.source().line_at(cause.position.span.begin)));
      break;
    case Kind::input:
      text += "       as it was when the run began\n";
      break;
    case Kind::parameter:
      text += "       as the launch gave it\n";
      break;
    case Kind::zeros:
      text += "       never written in this block\n";
      break;
    case Kind::unknown:
      text += "       nothing is known before\n";
      break;
  }
  if (cause.outside) text += fmt::format("       {}\n", outside_text(*cause.outside));
  return text + sources_text(cause);
}

}  // namespace tilevm::vm
