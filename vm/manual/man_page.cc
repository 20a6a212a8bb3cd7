#include "vm/manual/man_page.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "isa/base/suggest.h"

namespace tilevm::vm {

namespace {

/// Text as roff prints it: a backslash and a hyphen have meanings there, as have a dot and an
/// apostrophe where a line begins.
std::string escaped(const std::string& text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    begins = c == '\n';
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string title(const CommandTable& table, const std::string& command) {
  const std::string name = command.empty() ? "tilevm" : "tilevm-" + command;
  return fmt::format(".TH {} 1 \"\" \"tilevm {}\" \"tilevm\"\n", escaped(upper(name)),
                     escaped(table.version));
}

/// "\fB\-o\fR, \fB\-\-output\fR \fIFILE\fR".
std::string heading(const OptionEntry& option) {
  if (option.names.empty()) return fmt::format("\\fI{}\\fR", escaped(option.operand));
  std::string line;
  for (const std::string& name : option.names) {
    line += fmt::format("{}\\fB{}\\fR", line.empty() ? "" : ", ", escaped(name));
  }
  return option.form.empty() ? line : line + fmt::format(" \\fI{}\\fR", escaped(option.form));
}

std::string options_of(const CommandEntry& command) {
  std::string text;
  for (const OptionEntry& option : command.options) {
    text += fmt::format(".TP\n{}\n{}\n", heading(option), escaped(option.text));
    if (option.several) text += "It may be given several times.\n";
  }
  return text;
}

std::string synopsis(const CommandEntry& command) {
  std::string line = fmt::format(".B tilevm {}\n", escaped(command.name));
  for (const OptionEntry& option : command.options) {
    if (!option.names.empty()) continue;
    const std::string several = option.several ? " ..." : "";
    line += option.required ? fmt::format("\\fI{}\\fR{}\n", escaped(option.operand), several)
                            : fmt::format("[\\fI{}\\fR]{}\n", escaped(option.operand), several);
  }
  return line + "[\\fIoptions\\fR]\n";
}

std::string literal(const std::string& lines) { return ".nf\n" + escaped(lines) + ".fi\n"; }

/// Names and pages that a reader may want next.
std::string see_also(const std::vector<std::string>& names) {
  std::string line = ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    line += fmt::format(".BR {} (1){}\n", escaped(names[i]), i + 1 < names.size() ? "," : "");
  }
  return line;
}

/// "Exit status:" is the section's title in a man page.
std::string statuses_of(const CommandEntry& command) {
  const std::size_t begin = command.statuses.find('\n');
  if (begin == std::string::npos) return {};
  return ".SH EXIT STATUS\n" + literal(command.statuses.substr(begin + 1));
}

std::string page_of_all(const CommandTable& table) {
  std::string page = title(table, "") + ".SH NAME\ntilevm \\- " + escaped(table.common.summary) +
                     "\n.SH SYNOPSIS\n.B tilevm\n\\fIcommand\\fR [\\fIoptions\\fR]\n.SH COMMANDS\n";
  std::vector<std::string> names;
  for (const CommandEntry& command : table.commands) {
    page += fmt::format(".TP\n.B {}\n{}\n", escaped(command.name), escaped(command.summary));
    names.push_back("tilevm-" + command.name);
  }
  page += ".SH OPTIONS\n" + options_of(table.common);
  page += ".SH EXAMPLES\n" + literal(table.common.examples);
  return page + statuses_of(table.common) + see_also(names);
}

}  // namespace

std::string man_page_name(const std::string& command) {
  return command.empty() ? "tilevm.1" : fmt::format("tilevm-{}.1", command);
}

Result<std::string> man_page(const CommandTable& table, const std::string& command) {
  if (command.empty()) return page_of_all(table);
  std::vector<std::string> names;
  for (const CommandEntry& each : table.commands) names.push_back(each.name);
  const auto found = std::find(names.begin(), names.end(), command);
  if (found == names.end()) {
    const std::string near = nearest(command, names);
    return Error{ErrorKind::usage,
                 fmt::format("there is no command `{}`{}", command,
                             near.empty() ? "" : fmt::format("; did you mean `{}`?", near))};
  }
  const CommandEntry& entry = table.commands[static_cast<std::size_t>(found - names.begin())];
  std::string summary = entry.summary;
  if (summary.ends_with('.')) summary.pop_back();
  std::string page = title(table, command);
  page += fmt::format(".SH NAME\ntilevm\\-{} \\- {}\n", escaped(command), escaped(summary));
  page += ".SH SYNOPSIS\n" + synopsis(entry);
  if (!entry.examples.empty()) page += ".SH EXAMPLES\n" + literal(entry.examples);
  page += ".SH OPTIONS\n" + options_of(entry) + options_of(table.common);
  return page + statuses_of(entry) + see_also({"tilevm"});
}

}  // namespace tilevm::vm
