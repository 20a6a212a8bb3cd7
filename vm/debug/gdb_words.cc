#include "vm/debug/gdb_words.h"

#include <algorithm>
#include <array>
#include <span>

namespace tilevm::vm {

namespace {

struct Advice {
  std::string_view word, text;
};

constexpr std::array gdb_words{
    Advice{"up", "`where` shows the calls that a statement is in"},
    Advice{"down", "`where` shows the calls that a statement is in"},
    Advice{"display", "each stop shows the scalars that changed; `print` shows the rest"},
    Advice{"undisplay", "each stop shows the scalars that changed; nothing else is displayed"},
    Advice{"ptype", "`layout T` shows the type and the layout of a tile, `info tensors` all types"},
    Advice{"whatis",
           "`layout T` shows the type and the layout of a tile, `info tensors` all types"},
    Advice{"condition", "write the condition with the breakpoint: `break 14 if i == 3`"},
    Advice{"ignore", "write the count with the breakpoint: `break 14 ignore 3`"},
    Advice{"commands", "a script does it: `source FILE`, or `tilevm debug -x FILE`"},
    Advice{"clear", "`delete N` deletes a breakpoint, `delete` all; `info breakpoints` lists them"},
    Advice{"call", "functions are part of the kernel; `print EXPR` computes"},
    Advice{"return", "`finish` runs to the end of a function, `reverse-finish` to its begin"},
    Advice{"jump", "`goto @M` goes to a moment of the run, forwards or backwards"},
    Advice{"kill", "`run` begins again, `quit` ends the debugger"},
    Advice{"start", "a session begins at the first statement; `run` begins again"},
    Advice{"starti", "a session begins at the first statement; `run` begins again"},
    Advice{"file", "give the program when the debugger begins: `tilevm debug FILE`"},
    Advice{"load", "give the program when the debugger begins: `tilevm debug FILE`"},
    Advice{"symbol-file", "give the program when the debugger begins: `tilevm debug FILE`"},
    Advice{"attach", "give the program when the debugger begins: `tilevm debug FILE`"},
    Advice{"detach", "`quit` ends the debugger"},
    Advice{"target", "give the program when the debugger begins: `tilevm debug FILE`"},
    Advice{"record", "the whole run is recorded; `back` and `reverse-continue` go back"},
    Advice{"checkpoint", "every moment can be gone back to: `goto @M`"},
    Advice{"restart", "every moment can be gone back to: `goto @M`"},
    Advice{"rwatch", "`watch` stops after writes; `memory T[i]` shows who has read"},
    Advice{"awatch", "`watch` stops after writes; `memory T[i]` shows who has read"},
    Advice{"hbreak", "`break` does it"},
    Advice{"thbreak", "`tbreak` does it"},
    Advice{"rbreak", "`break NAME` stops at a kernel, a function or an instruction"},
    Advice{"catch", "faults stop every run; `break LockSemaphore` stops at an instruction"},
    Advice{"handle", "there are no signals; faults stop every run"},
    Advice{"signal", "there are no signals; faults stop every run"},
    Advice{"printf", "`print EXPR` shows a value"},
    Advice{"dprintf", "`break LINE`, then `print`; an editor's logpoint does both"},
    Advice{"output", "`print EXPR` shows a value"},
    Advice{"echo", "a line of a script is shown as it is read"},
    Advice{"cuda", "`block X,Y,Z` and `thread T` choose what is in focus, `info blocks` lists"},
    Advice{"tui", "an editor shows the program beside: `tilevm dap`"},
    Advice{"show", "`help` lists the words, `info` what can be shown"},
    Advice{"shell", "`diff` and `disassemble` run other tools; a shell is another program"},
    Advice{"define", "`source FILE` runs the commands of a file"},
    Advice{"python", "`tilevm debug --json` and `tilevm dap` are for programs"},
    Advice{"find", "`print T` shows a tensor; nan(T), inf(T) and undefined(T) count elements"},
    Advice{"dump", "`tilevm run --out NAME=FILE` writes outputs; `print T` shows them"},
    Advice{"restore",
           "`tilevm debug --in NAME=FILE` gives inputs; `set T[i] = V` changes elements"},
    Advice{"skip", "`next` takes a call as one statement"},
    Advice{"edit", "an editor's debugger shows the program: `tilevm dap`"},
    Advice{"search", "`list LINE` shows lines of the program"},
};

constexpr std::array gdb_topics{
    Advice{"args", "`info scalars` has the scalar parameters, `info tensors` the tensors"},
    Advice{"variables", "`info locals` has the variables of the block"},
    Advice{"registers", "`info locals` lists tiles, `bits T@t` shows the registers of a thread"},
    Advice{"threads", "`info blocks` lists blocks, `print T@t` shows what a thread holds"},
    Advice{"frame", "`where` shows the statement and its calls"},
    Advice{"stack", "`where` shows the statement and its calls"},
    Advice{"line", "`where` shows the statement, `list` the lines around"},
    Advice{"source", "`list` shows the program"},
    Advice{"functions", "`break NAME` stops at a kernel, a function or an instruction"},
    Advice{"watchpoints", "`info breakpoints` has watchpoints, too"},
    Advice{"display", "each stop shows the scalars that changed"},
    Advice{"symbol", "`info tensors` lists tensors, `info scalars` scalars"},
    Advice{"address", "`memory T[i]` shows where elements are"},
    Advice{"checkpoints", "every moment can be gone back to: `goto @M`"},
    Advice{"record", "`info snapshots` shows what going back costs"},
    Advice{"program", "`where` shows where the run is"},
    Advice{"cuda", "`info blocks` lists blocks"},
    Advice{"signals", "there are no signals; faults stop every run"},
};

std::optional<std::string_view> find_advice(std::span<const Advice> all, std::string_view word) {
  const auto found = std::ranges::find(all, word, &Advice::word);
  return found != all.end() ? std::optional(found->text) : std::nullopt;
}

}  // namespace

std::optional<std::string_view> gdb_word(std::string_view word) {
  return find_advice(gdb_words, word);
}

std::optional<std::string_view> gdb_topic(std::string_view topic) {
  return find_advice(gdb_topics, topic.substr(0, topic.find(' ')));
}

}  // namespace tilevm::vm
