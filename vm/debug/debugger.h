// The debugger as one talks to it: lines in, text or JSON out. Where lines come from and go to is
// the caller's business.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/debug/session.h"
#include "vm/debug/code_listing.h"
#include "vm/debug/words.h"
#include "vm/text/json.h"
#include "vm/text/stream.h"

namespace tilevm::vm {

struct DebuggerOptions {
  bool json = false;
  bool color = false;
  std::size_t height = 0;  ///< the lines of an answer that are shown as text; 0: all
  /// `diff`: compares the program with another engine; the text of what was found. Null: there is
  /// no such comparison here.
  std::function<Result<std::string>(const std::string& engine)> compare = {};
};

/// What the word at the end of a line may become: a command, or a name.
[[nodiscard]] std::vector<std::string> complete_line(sim::debug::Session& session,
                                                     std::string_view line);

class Debugger {
 public:
  Debugger(std::unique_ptr<sim::debug::Session> session, OutputStream& out, DebuggerOptions options)
      : session_(std::move(session)), out_(out), options_(std::move(options)) {}

  /// What is said before the first line: where the run is.
  void greet();
  /// Does what a line says; an empty one repeats the last step or print. False after `quit`.
  bool line(std::string_view text);
  /// Does the lines of a script; false after `quit`. Lines are shown as they are read, with a
  /// prompt. `#` begins a comment.
  bool script(std::string_view text);

  /// The last stop since this was asked, for a client that shows where the run is.
  [[nodiscard]] std::optional<sim::debug::reply::Stopped> take_stop() {
    return std::exchange(stop_, std::nullopt);
  }
  /// The last error since this was asked.
  [[nodiscard]] std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }
  /// Whether a fault was met / a line was not understood or could not be done.
  [[nodiscard]] bool met_fault() const { return met_fault_; }
  [[nodiscard]] bool had_error() const { return had_error_; }
  [[nodiscard]] sim::debug::Session& session() { return *session_; }
  /// What the word at the end of a line may become.
  [[nodiscard]] std::vector<std::string> complete(std::string_view line) {
    return complete_line(*session_, line);
  }

  static constexpr std::string_view prompt = "(tilevm) ";

 private:
  void answer(const Input& input, std::string_view text);
  void show(const sim::debug::Reply& reply, std::string_view text, Format format);
  void say(const std::string& text);
  void put(const std::string& text);
  void say_error(const Error& error, std::string_view text);
  void write(Json object, std::string_view text);

  void run(const sim::debug::Command& request, const Input& input, std::string_view text);
  void run(const HelpWord& request, const Input& input, std::string_view text);
  void run(const ListLines& request, const Input& input, std::string_view text);
  void run(const QuitWord& request, const Input& input, std::string_view text);
  void run(const HistoryWord& request, const Input& input, std::string_view text);
  void run(const SourceWord& request, const Input& input, std::string_view text);
  void run(const HeightWord& request, const Input& input, std::string_view text);
  void run(const GoToStep& request, const Input& input, std::string_view text);
  void run(const CompareWord& request, const Input& input, std::string_view text);
  void run(const CodeWord& request, const Input& input, std::string_view text);

  std::unique_ptr<sim::debug::Session> session_;
  OutputStream& out_;
  DebuggerOptions options_;
  std::string last_;  // the line that an empty one repeats
  std::vector<std::string> history_;
  std::vector<sim::debug::Moment> steps_;         // of the last `why` or `trace`
  std::optional<sim::debug::SourceLine> listed_;  // the line after the last that `list` showed
  std::optional<sim::debug::reply::Stopped> stop_;
  std::optional<Error> error_;
  std::map<CodeKind, std::vector<CodeLine>> code_;
  int depth_ = 0;  // of scripts that run scripts
  bool met_fault_ = false, had_error_ = false, quit_ = false;
};

}  // namespace tilevm::vm
