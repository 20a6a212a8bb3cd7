// Diagnostics: what is wrong with a user's program, as values with source locations.
//
// A phase that finds a fault reports a Diagnostic to the Diagnostics list and goes on where it can,
// so that one run shows every fault of a file. Only render.h makes text of them. Each kind of fault
// has a stable Code, whose title and explanation are in codes.cc (`tilevm explain TV0104`).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/codes.h"
#include "isa/base/source.h"

namespace tilevm {

enum class Severity { note, warning, error };
[[nodiscard]] std::string_view to_string(Severity severity);

/// A second location that helps to understand a diagnostic. `has_span` is false for a plain
/// remark.
struct Note {
  std::string message;
  Span span{};
  bool has_span = false;
};

/// One fault. `span` is what the caret line underlines.
///
/// Style: lower case, no final period, names and code in backticks; first what was seen, then the
/// rule. `fix` is text that could replace `span` (shown below the carets), or empty.
struct Diagnostic {
  Code code;
  Severity severity = Severity::error;
  Span span{};
  std::string message;
  std::string fix;
  std::vector<Note> notes;
};

/// The list of diagnostics of one run, in the order they were found; it keeps at most `limit`
/// errors and counts the rest, so that garbage input cannot flood the terminal.
class Diagnostics {
 public:
  explicit Diagnostics(std::size_t limit = 20) : limit_(limit) {}

  void report(Diagnostic diagnostic);

  /// Reports an error; the returned reference is valid until the next report and lets the caller
  /// add notes or a fix.
  Diagnostic& error(Code code, Span span, std::string message);
  Diagnostic& warning(Code code, Span span, std::string message);

  [[nodiscard]] bool has_errors() const { return error_count_ > 0; }
  [[nodiscard]] std::size_t error_count() const { return error_count_; }
  [[nodiscard]] std::size_t warning_count() const { return warning_count_; }

  /// What was kept, sorted by location (stable).
  [[nodiscard]] std::vector<Diagnostic> sorted() const;

  /// Errors that were counted but not kept.
  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  std::size_t limit_;
  std::size_t error_count_ = 0;
  std::size_t warning_count_ = 0;
  std::size_t dropped_ = 0;
  std::vector<Diagnostic> kept_;
  Diagnostic overflow_{};  // takes what is not kept
};

/// Adds a note with a location / without one; returns the diagnostic for chaining.
Diagnostic& add_note(Diagnostic& diagnostic, std::string message, Span span);
Diagnostic& add_note(Diagnostic& diagnostic, std::string message);

}  // namespace tilevm
