#include "isa/base/diagnostic.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilevm {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

void Diagnostics::report(Diagnostic diagnostic) {
  const bool is_error = diagnostic.severity == Severity::error;
  if (is_error) ++error_count_;
  if (diagnostic.severity == Severity::warning) ++warning_count_;
  if (kept_.size() >= limit_) {
    if (is_error) ++dropped_;
    overflow_ = std::move(diagnostic);
    return;
  }
  kept_.push_back(std::move(diagnostic));
}

Diagnostic& Diagnostics::error(Code code, Span span, std::string message) {
  report({code, Severity::error, span, std::move(message), {}, {}});
  return dropped_ > 0 ? overflow_ : kept_.back();
}

Diagnostic& Diagnostics::warning(Code code, Span span, std::string message) {
  const bool full = kept_.size() >= limit_;
  report({code, Severity::warning, span, std::move(message), {}, {}});
  return full ? overflow_ : kept_.back();
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<std::size_t> order(kept_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(kept_[a].span.begin, a) < std::pair(kept_[b].span.begin, b);
  });
  std::vector<Diagnostic> result;
  for (const std::size_t i : order) result.push_back(kept_[i]);
  return result;
}

Diagnostic& add_note(Diagnostic& diagnostic, std::string message, Span span) {
  diagnostic.notes.push_back({std::move(message), span, true});
  return diagnostic;
}

Diagnostic& add_note(Diagnostic& diagnostic, std::string message) {
  diagnostic.notes.push_back({std::move(message), {}, false});
  return diagnostic;
}

}  // namespace tilevm
