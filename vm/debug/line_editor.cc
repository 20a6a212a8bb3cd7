#include "vm/debug/line_editor.h"

#ifdef TILEVM_LIBEDIT
#include <editline/readline.h>
#endif

#include <cstdlib>
#include <cstring>
#include <istream>
#include <ostream>
#include <vector>

namespace tilevm::vm {

namespace {

/// Lines of a stream.
class PlainLines final : public LineEditor {
 public:
  PlainLines(std::istream& in, std::ostream& out, bool prompts)
      : in_(in), out_(out), prompts_(prompts) {}

  std::optional<std::string> read(std::string_view prompt) override {
    if (prompts_) out_ << prompt;
    out_.flush();
    std::string line;
    if (!std::getline(in_, line)) return std::nullopt;
    return line;
  }

 private:
  std::istream& in_;
  std::ostream& out_;
  bool prompts_;
};

#ifdef TILEVM_LIBEDIT

Debugger* completing = nullptr;  // the library's callbacks have no argument for it
std::vector<std::string>* completions = nullptr;

char* next_completion(const char*, int state) {
  const auto index = static_cast<std::size_t>(state);
  return index < completions->size() ? strdup((*completions)[index].c_str()) : nullptr;
}

char** complete(const char* word, int begin, int) {
  static std::vector<std::string> found;
  const std::string line(rl_line_buffer, static_cast<std::size_t>(begin));
  found = completing->complete(line + word);
  completions = &found;
  rl_attempted_completion_over = 1;
  return rl_completion_matches(word, next_completion);
}

/// A terminal with libedit: editing, history, search with Ctrl-R, completion with Tab.
class EditedLines final : public LineEditor {
 public:
  explicit EditedLines(Debugger& debugger) {
    completing = &debugger;
    rl_readline_name = const_cast<char*>("tilevm");
    rl_attempted_completion_function = complete;
    using_history();
  }

  std::optional<std::string> read(std::string_view prompt) override {
    char* const line = readline(std::string(prompt).c_str());
    if (line == nullptr) return std::nullopt;
    std::string text = line;
    std::free(line);
    if (!text.empty()) add_history(text.c_str());
    return text;
  }
};

#endif

}  // namespace

std::unique_ptr<LineEditor> make_line_editor(std::istream& in, std::ostream& out, bool edits,
                                             [[maybe_unused]] Debugger& debugger) {
#ifdef TILEVM_LIBEDIT
  if (edits) return std::make_unique<EditedLines>(debugger);
#endif
  return std::make_unique<PlainLines>(in, out, edits);
}

}  // namespace tilevm::vm
