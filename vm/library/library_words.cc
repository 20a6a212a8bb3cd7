#include "vm/library/library_words.h"

#include <array>
#include <string_view>
#include <utility>

namespace tilevm::vm {
namespace {

/// What the command says, and what a function says instead; longer phrases first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> phrases = {
    {{"; --exact refuses them", ""},
     {" with -D", ""},
     {"(`--engine sim`)", "(engine \"sim\")"},
     {"with --entry NAME", "by its name"},
     {"give it with --in ", "give "},
     {"--max-steps", "`max_steps`"},
     {"-D ", ""},
     {"--in ", ""},
     {"--out ", ""}}};

}  // namespace

std::string without_options(std::string message) {
  for (const auto& [command, function] : phrases) {
    for (std::size_t at = message.find(command); at != std::string::npos;
         at = message.find(command, at + function.size())) {
      message.replace(at, command.size(), function);
    }
  }
  return message;
}

Diagnostics without_options(const Diagnostics& diagnostics) {
  Diagnostics result;
  for (Diagnostic diagnostic : diagnostics.sorted()) {
    diagnostic.message = without_options(std::move(diagnostic.message));
    for (Note& note : diagnostic.notes) note.message = without_options(std::move(note.message));
    result.report(std::move(diagnostic));
  }
  for (std::size_t i = 0; i < diagnostics.dropped(); ++i) {
    result.report({Code::syntax_error, Severity::error, {}, {}, {}, {}});  // counted, not kept
  }
  return result;
}

}  // namespace tilevm::vm
