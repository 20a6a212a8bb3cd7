// The table of words, and how each reads what follows it.
#include "vm/debug/words.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "vm/debug/expression_text.h"
#include "vm/debug/word_arguments.h"
#include "vm/debug/word_parts.h"

namespace tilevm::vm {

namespace {

namespace command = sim::debug::command;

Error no_arguments(const WordText& text) {
  return wrong(fmt::format("nothing may follow this word, but `{}` does", text.arguments));
}

Result<command::NamedLine> need_line(std::string_view text) {
  const auto line = line_of(text);
  if (!line) return line.error();
  if (!*line) return wrong(fmt::format("`{}` is not a line; write 14, or layouts.tile:14", text));
  return **line;
}

template <bool over, bool back>
Result<Input> parse_step(const WordText& text) {
  const auto count = count_of(text.arguments);
  if (!count) return count.error();
  return engine(command::Step{*count, over, back});
}

template <bool back>
Result<Input> parse_continue(const WordText& text) {
  const auto count = count_of(text.arguments);
  if (!count) return count.error();
  return engine(command::Continue{*count, back});
}

template <bool back>
Result<Input> parse_finish(const WordText& text) {
  if (!text.arguments.empty()) return no_arguments(text);
  return engine(command::Finish{back});
}

Result<Input> parse_until(const WordText& text) {
  if (text.arguments.empty()) return engine(command::Until{});
  const auto line = need_line(text.arguments);
  if (!line) return line.error();
  return engine(command::Until{*line});
}

template <class Plain>
Result<Input> parse_plain(const WordText& text) {
  if (!text.arguments.empty()) return no_arguments(text);
  return engine(Plain{});
}

Result<Input> parse_thread(const WordText& text) {
  if (text.arguments == "all") return engine(command::FocusThread{});
  const auto thread = parse_integer(text.arguments);
  if (!thread) return wrong("write the number of a thread, or `thread all`");
  return engine(command::FocusThread{*thread});
}

template <bool temporary>
Result<Input> parse_break(const WordText& text) {
  return parse_stop(text, temporary);
}

template <class Selecting>
Result<Input> parse_selecting(const WordText& text) {
  const auto what = need_selection(text.arguments);
  if (!what) return what.error();
  return engine(Selecting{*what});
}

Result<Input> parse_delete(const WordText& text) {
  if (text.arguments.empty()) return engine(command::Delete{});
  const auto number = number_of(text.arguments);
  if (!number) return number.error();
  return engine(command::Delete{*number});
}

template <bool enabled>
Result<Input> parse_enable(const WordText& text) {
  const auto number = number_of(text.arguments);
  if (!number) return number.error();
  return engine(command::Enable{*number, enabled});
}

Result<Input> parse_print(const WordText& text) {
  const auto format = format_of(text.suffix);
  if (!format) return format.error();
  if (text.arguments.empty()) return wrong("name what to print, as `print acc[0, 0:4]`");
  if (const auto selection = parse_selection(text.arguments)) {
    return engine(command::Print{*selection}, *format);
  }
  const auto expression = parse_debug_expression(text.arguments);
  if (!expression) return expression.error();
  return engine(command::Compute{*expression}, *format);
}

Result<Input> parse_layout(const WordText& text) {
  if (text.arguments.empty()) return wrong("name a tensor, as `layout acc`");
  return engine(command::Layout{std::string(text.arguments)});
}

Result<Input> parse_bits(const WordText& text) {
  const auto what = need_selection(text.arguments);
  if (!what) return what.error();
  if (!what->thread || !what->ranges.empty()) {
    return wrong("name a tensor and a thread, as `bits b1@5`");
  }
  return engine(command::Bits{what->tensor, *what->thread}, Format::bits);
}

Result<Input> parse_memory(const WordText& text) {
  const auto format = format_of(text.suffix);
  const auto what = need_selection(text.arguments);
  if (!format) return format.error();
  if (!what) return what.error();
  return engine(command::Memory{*what}, *format);
}

Result<Input> parse_info(const WordText& text) {
  const auto topic = topic_of(text.arguments);
  if (!topic) return topic.error();
  return engine(command::Info{*topic});
}

/// gdb's `set height 0`, `set pagination off`.
std::optional<Input> parse_height(std::string_view arguments) {
  if (arguments == "pagination off") return Input{HeightWord{0}, {}};
  if (!arguments.starts_with("height ")) return std::nullopt;
  const auto lines = parse_integer(arguments.substr(7));
  if (!lines || *lines < 0) return std::nullopt;
  return Input{HeightWord{static_cast<std::size_t>(*lines)}, {}};
}

Result<Input> parse_set(const WordText& text) {
  std::string_view arguments = text.arguments;
  if (const auto height = parse_height(arguments)) return *height;
  for (const std::string_view word : {"var ", "variable "}) {  // gdb's
    if (arguments.starts_with(word)) arguments = trim(arguments.substr(word.size()));
  }
  const std::size_t equals = arguments.find('=');
  if (equals == std::string_view::npos) {
    return wrong("write `set T[i, j] = VALUE`, `set i = VALUE` or `set height LINES`");
  }
  const auto what = need_selection(arguments.substr(0, equals));
  if (!what) return what.error();
  const auto value = parse_debug_expression(arguments.substr(equals + 1));
  if (!value) return value.error();
  return engine(command::Set{*what, *value});
}

Result<Input> parse_trace(const WordText& text) {
  if (text.arguments.empty()) return engine(command::Trace{});
  const auto count = count_of(text.arguments);
  if (!count) return count.error();
  return engine(command::Trace{std::min<std::uint64_t>(*count, 10'000)});
}

Result<Input> parse_list(const WordText& text) {
  if (text.arguments.empty()) return Input{ListLines{}, {}};
  const auto line = need_line(text.arguments);
  if (!line) return line.error();
  return Input{ListLines{*line}, {}};
}

Result<Input> parse_help(const WordText& text) {
  return Input{HelpWord{std::string(text.arguments)}, {}};
}
Result<Input> parse_quit(const WordText&) { return Input{QuitWord{}, {}}; }
Result<Input> parse_history(const WordText&) { return Input{HistoryWord{}, {}}; }
Result<Input> parse_source(const WordText& text) {
  if (text.arguments.empty()) return wrong("name a file of commands");
  return Input{SourceWord{std::string(text.arguments)}, {}};
}
Result<Input> parse_diff(const WordText& text) {
  if (text.arguments.empty()) return wrong("name what to compare with: cuda, emu or shadow");
  return Input{CompareWord{std::string(text.arguments)}, {}};
}

}  // namespace

std::span<const Word> debug_words() {
  static const std::vector<Word> words{
      {"step",
       {"s", "stepi", "si"},
       "step [N]",
       "runs N statements of the block in focus",
       true,
       parse_step<false, false>},
      {"next",
       {"n", "nexti", "ni"},
       "next [N]",
       "likewise, with a loop, a branch or a call as one statement",
       true,
       parse_step<true, false>},
      {"continue",
       {"c"},
       "continue [N]",
       "runs to the N-th next stop",
       true,
       parse_continue<false>},
      {"until",
       {"u", "advance"},
       "until [LINE]",
       "runs to a line; without one, past the statement and out of a loop that ends there",
       true,
       parse_until},
      {"finish",
       {"fin"},
       "finish",
       "runs to the end of the innermost loop or function, or of the block",
       true,
       parse_finish<false>},
      {"run",
       {"r"},
       "run",
       "goes to the begin of the run, and on to the first stop",
       false,
       parse_plain<command::Run>},
      {"back",
       {"reverse-step", "rs", "reverse-stepi", "rsi"},
       "back [N]",
       "goes N statements back",
       true,
       parse_step<false, true>},
      {"reverse-next",
       {"rn"},
       "reverse-next [N]",
       "likewise, with a loop, a branch or a call as one statement",
       true,
       parse_step<true, true>},
      {"reverse-continue",
       {"rc"},
       "reverse-continue [N]",
       "goes back to the N-th last stop",
       true,
       parse_continue<true>},
      {"reverse-finish",
       {},
       "reverse-finish",
       "goes back to the begin of the innermost loop or function, or of the block",
       true,
       parse_finish<true>},
      {"goto",
       {},
       "goto N | goto @M",
       "goes to a step of the last `why` or `trace`, or to a moment",
       false,
       parse_goto},
      {"break",
       {"b"},
       "break LINE|FILE:LINE|NAME [ignore N] [if EXPR]",
       "stops before a line, at the begin of a kernel or a function, or before an instruction",
       false,
       parse_break<false>},
      {"tbreak",
       {"tb"},
       "tbreak LINE|FILE:LINE|NAME [ignore N] [if EXPR]",
       "likewise, once",
       false,
       parse_break<true>},
      {"watch",
       {},
       "watch T[i, j] | S | T+BYTE:BYTES [if EXPR]",
       "stops after elements change: of a tile or a shared tensor of "
       "this block, or of global memory; or after a scalar does",
       false,
       parse_watch},
      {"delete",
       {"d"},
       "delete [N]",
       "deletes a breakpoint or a watchpoint, or all",
       false,
       parse_delete},
      {"enable", {}, "enable N", "lets a breakpoint stop again", false, parse_enable<true>},
      {"disable", {}, "disable N", "lets a breakpoint not stop", false, parse_enable<false>},
      {"block",
       {},
       "block X[,Y[,Z]]",
       "goes to the begin of a block; to a block that runs, only with the focus",
       false,
       parse_block},
      {"thread",
       {},
       "thread T | thread all",
       "shows tiles as a thread holds them",
       false,
       parse_thread},
      {"print",
       {"p", "inspect"},
       "print[/FORMAT] T | T[i, 0:4] | T@t | EXPR",
       "shows elements; formats: /x hexadecimal, /t bits, /c codes",
       true,
       parse_print},
      {"layout", {}, "layout T", "draws which thread holds which element", false, parse_layout},
      {"bits",
       {},
       "bits T@t",
       "which bits of a thread's registers are which element",
       false,
       parse_bits},
      {"memory",
       {"shared", "global"},
       "memory[/FORMAT] T[i, 0:4]",
       "elements of a shared or global tensor: where, who wrote them, which copy fills them, who "
       "may see them",
       true,
       parse_memory},
      {"x",
       {},
       "x[/COUNT FORMAT] T[i, j]",
       "likewise, so many elements from one on: `x/8x s[0, 4]`",
       true,
       parse_examine},
      {"info",
       {"i"},
       "info TOPIC",
       "blocks, races, groups, barriers, stats, cost, locals, scalars, tensors, breakpoints, "
       "snapshots",
       false,
       parse_info},
      {"set",
       {},
       "set T[i, j] = EXPR | height LINES",
       "changes elements or a scalar, or how many lines of an answer are shown (0: all)",
       false,
       parse_set},
      {"why",
       {},
       "why[/a] T[i, j] | S | N.K [levels N] [via V]",
       "where a value comes from, or branch K of step N of the last answer; /a shows copies; `via` "
       "chooses among several sources",
       false,
       parse_why},
      {"who",
       {},
       "who wrote T[i, j]",
       "the statement that wrote an element last",
       false,
       parse_who},
      {"when",
       {},
       "when did T[i, j] | S last change",
       "the statement that changed elements or a scalar last",
       false,
       parse_when},
      {"where",
       {"bt", "backtrace", "frame"},
       "where",
       "where the block in focus is",
       false,
       parse_plain<command::Where>},
      {"list", {"l"}, "list [LINE]", "shows lines of the program", true, parse_list},
      {"trace", {}, "trace [N]", "the last N statements of the block in focus", false, parse_trace},
      {"diff",
       {},
       "diff cuda|emu|shadow",
       "compares with another engine, or with the values without rounding",
       false,
       parse_diff},
      {"disassemble",
       {"disas"},
       "disassemble [cuda|ptx|sass] [LINE]",
       "what a line becomes on a GPU; PTX and machine code need CUDA's tools",
       false,
       parse_code},
      {"hash", {}, "hash", "a hash of the whole state", false, parse_plain<command::Hash>},
      {"history", {}, "history", "the commands so far", false, parse_history},
      {"source", {}, "source FILE", "runs the commands of a file", false, parse_source},
      {"help", {"h"}, "help [WORD]", "explains the words", false, parse_help},
      {"quit", {"q", "exit"}, "quit", "ends the debugger", false, parse_quit},
  };
  return words;
}

}  // namespace tilevm::vm
