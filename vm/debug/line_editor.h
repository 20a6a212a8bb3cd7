// Where the debugger's lines come from: a stream, or a terminal with editing, history and
// completion where the build has libedit.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "vm/debug/debugger.h"

namespace tilevm::vm {

class LineEditor {
 public:
  LineEditor() = default;
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  virtual ~LineEditor() = default;

  /// The next line; nothing at the end of the input.
  [[nodiscard]] virtual std::optional<std::string> read(std::string_view prompt) = 0;
};

/// `edits`: the streams are a terminal, and a prompt is wanted.
[[nodiscard]] std::unique_ptr<LineEditor> make_line_editor(std::istream& in, std::ostream& out,
                                                           bool edits, Debugger& debugger);

}  // namespace tilevm::vm
