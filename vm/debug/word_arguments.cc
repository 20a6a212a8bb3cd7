#include "vm/debug/word_arguments.h"

#include <utility>

#include <fmt/format.h>

#include "vm/debug/expression_text.h"
#include "vm/debug/word_parts.h"

namespace tilevm::vm {

namespace command = sim::debug::command;

Input engine(sim::debug::Command request, Format format) {
  return {Request(std::move(request)), format};
}

Result<Input> parse_goto(const WordText& text) {
  const bool moment = text.arguments.starts_with('@');
  const auto number = parse_integer(text.arguments.substr(moment ? 1 : 0));
  if (!number || *number < 0) {
    return wrong("write `goto N` for a step of the last `why` or `trace`, `goto @M` for a moment");
  }
  if (moment) return engine(command::GoTo{static_cast<std::uint64_t>(*number)});
  return Input{GoToStep{static_cast<std::size_t>(*number)}, {}};
}

Result<Input> parse_block(const WordText& text) {
  command::FocusBlock block;
  std::string_view rest = text.arguments;
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  for (std::size_t d = 0; d < block.block.size(); ++d) {
    const std::size_t comma = rest.find(',');
    const auto index = parse_integer(rest.substr(0, comma));
    if (!index) break;
    block.block[d] = *index;
    if (comma == std::string_view::npos) return engine(block);
    rest.remove_prefix(comma + 1);
  }
  return wrong(
      fmt::format("`{}` is not a block; write its indices as X, X,Y or X,Y,Z", text.arguments));
}

Result<Input> parse_stop(const WordText& text, bool temporary) {
  command::Break stop;
  stop.temporary = temporary;
  const std::size_t blank = text.arguments.find(' ');
  const std::string_view where = text.arguments.substr(0, blank);
  if (where.empty()) {
    return wrong(
        "name a line, a kernel, a function or an instruction, as `break 14` or `break Dot`");
  }
  const auto line = line_of(where);
  if (!line) return line.error();
  stop.line = *line;
  if (!stop.line) stop.name = where;
  std::string_view rest =
      blank == std::string_view::npos ? std::string_view{} : trim(text.arguments.substr(blank));
  if (rest.starts_with("ignore ")) {
    rest = trim(rest.substr(7));
    const std::size_t end = rest.find(' ');
    const auto ignore = parse_integer(rest.substr(0, end));
    if (!ignore || *ignore < 0) return wrong("`ignore` needs how many hits do not stop");
    stop.ignore = static_cast<std::uint64_t>(*ignore);
    rest = end == std::string_view::npos ? std::string_view{} : trim(rest.substr(end));
  }
  if (rest.empty()) return engine(std::move(stop));
  if (!rest.starts_with("if ")) {
    return wrong(fmt::format("`{}`: a condition begins with `if`", rest));
  }
  const auto condition = parse_debug_expression(rest.substr(3));
  if (!condition) return condition.error();
  stop.condition = *condition;
  return engine(std::move(stop));
}

Result<Input> parse_watch(const WordText& text) {
  command::Watch watch;
  const auto [watched, condition] = split_at(text.arguments, " if ");
  if (!condition.empty()) {
    const auto expression = parse_debug_expression(condition);
    if (!expression) return expression.error();
    watch.condition = *expression;
  }
  const std::size_t plus = watched.find('+');
  const auto what = need_selection(watched.substr(0, plus));
  if (!what) return what.error();
  watch.what = *what;
  watch.what.text = watched;
  if (plus == std::string_view::npos) return engine(std::move(watch));
  const std::string_view range = watched.substr(plus + 1);
  const std::size_t colon = range.find(':');
  const auto begin = parse_integer(range.substr(0, colon));
  const auto bytes = colon == std::string_view::npos ? std::optional<std::int64_t>(1)
                                                     : parse_integer(range.substr(colon + 1));
  constexpr std::int64_t most = std::int64_t{1} << 48;
  if (!begin || !bytes || *begin < 0 || *bytes < 1 || *begin > most || *bytes > most ||
      !what->ranges.empty()) {
    return wrong(fmt::format("`{}` names no bytes; write them as s+0x40:16", watched));
  }
  watch.begin = static_cast<std::size_t>(*begin);
  watch.end = static_cast<std::size_t>(*begin + *bytes);
  return engine(std::move(watch));
}

Result<Input> parse_why(const WordText& text) {
  const auto [before, via] = split_at(text.arguments, " via ");
  const auto [what, levels] = split_at(before, " levels ");
  command::Why why;
  const std::size_t dot = what.find('.');
  const auto step =
      dot == std::string_view::npos ? std::nullopt : parse_integer(what.substr(0, dot));
  const auto branch =
      dot == std::string_view::npos ? std::nullopt : parse_integer(what.substr(dot + 1));
  if (step && branch && *step > 0 && *branch > 0) {
    why.from = {static_cast<std::size_t>(*step), static_cast<std::size_t>(*branch)};
    why.what.text = what;
  } else {
    const auto selection = need_selection(what);
    if (!selection) return selection.error();
    why.what = *selection;
  }
  why.via = via;
  if (!levels.empty()) {
    const auto number = parse_integer(levels);
    if (!number || *number < 1) return wrong(fmt::format("`{}` is not a count of steps", levels));
    why.levels = static_cast<std::size_t>(*number);
  }
  if (text.suffix == "a") {
    why.copies = true;
  } else if (!text.suffix.empty()) {
    return wrong("`why/a` shows copies, too; there are no other forms");
  }
  return engine(std::move(why));
}

/// `[cuda|ptx|sass] [LINE]`
Result<Input> parse_code(const WordText& text) {
  CodeWord code;
  std::string_view rest = text.arguments;
  const std::size_t blank = std::min(rest.find(' '), rest.size());
  const Result<CodeKind> kind = parse_code_kind(rest.substr(0, blank));
  if (kind) {
    code.kind = *kind;
    rest = trim(rest.substr(blank));
  }
  if (rest.empty()) return Input{code, {}};
  const auto line = line_of(rest);
  if (!line) return line.error();
  if (!*line) return kind ? wrong(fmt::format("`{}` is not a line", rest)) : kind.error();
  code.line = *line;
  return Input{code, {}};
}

/// `x/4xw`: a count, a format and the size of a word, all of which may be left out. Elements have
/// the size of their type.
Result<Input> parse_examine(const WordText& text) {
  std::size_t end = 0;
  while (end < text.suffix.size() && text.suffix[end] >= '0' && text.suffix[end] <= '9') ++end;
  const std::string_view digits = text.suffix.substr(0, end);
  std::string_view format = text.suffix.substr(end);
  for (const char size : {'b', 'h', 'w', 'g'}) {
    if (!format.ends_with(size)) continue;
    return wrong(
        fmt::format("elements have the size of their type, so `/{}` has no `{}`; write "
                    "`x/{}{} T[i]`",
                    text.suffix, size, digits, format.substr(0, format.size() - 1)));
  }
  if (format == "i") return wrong("`disassemble` shows the code of a line");
  if (format == "s") return wrong("there are no strings; `x/8x T[i]` shows elements");
  const auto known = format_of(format);
  const auto what = need_selection(text.arguments);
  if (!known) return known.error();
  if (!what) return what.error();
  if (digits.empty()) return engine(command::Memory{*what}, *known);
  const auto count = count_of(digits);
  if (!count) return count.error();
  return engine(command::Memory{*what, static_cast<std::int64_t>(*count)}, *known);
}

Result<Input> parse_who(const WordText& text) {
  std::string_view rest = text.arguments;
  if (!rest.starts_with("wrote ")) return wrong("write `who wrote T[i, j]`");
  const auto what = need_selection(trim(rest.substr(6)));
  if (!what) return what.error();
  return engine(command::WhoWrote{*what});
}

Result<Input> parse_when(const WordText& text) {
  std::string_view rest = text.arguments;
  if (rest.starts_with("did ")) rest = trim(rest.substr(4));
  rest = split_at(rest, "last change").first;
  const auto what = need_selection(rest);
  if (!what) return what.error();
  return engine(command::LastChange{*what});
}

}  // namespace tilevm::vm
