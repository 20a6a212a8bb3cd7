#include "vm/manual/completion.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilevm::vm {

namespace {

constexpr std::string_view bash_script =
    R"(# Completion of tilevm in bash, made by `tilevm completion bash`.
_tilevm() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= words= i
  COMPREPLY=()
  # The first word that is neither an option nor the value of --color.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in
      --color) ((++i)) ;;
      -*) ;;
      *) command=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  case $command:$before in
{values}  esac
  if [[ $current == -* ]]; then
    case $command in
{options}    esac
  elif [[ -z $command ]]; then
    words='{commands}'
  else
    case $command in
{operands}    esac
  fi
  [[ -n $words ]] && mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _tilevm tilevm
)";

std::vector<std::string> names_of(const CommandEntry& command) {
  std::vector<std::string> names;
  for (const OptionEntry& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

/// Each command with its own options and those of all.
std::vector<CommandEntry> whole_commands(const CommandTable& table) {
  std::vector<CommandEntry> commands = table.commands;
  for (CommandEntry& command : commands) {
    command.options.insert(command.options.end(), table.common.options.begin(),
                           table.common.options.end());
  }
  return commands;
}

std::string bash(const CommandTable& table) {
  std::string values, options, operands;
  std::vector<std::string> commands;
  const auto add_values = [&](const std::string& command, const OptionEntry& option) {
    if (option.names.empty() || option.form.empty()) return;
    std::vector<std::string> cases;
    for (const std::string& name : option.names) cases.push_back(command + ":" + name);
    const std::string words =
        option.words.empty()
            ? std::string("return")  // files
            : fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\"); return",
                          fmt::join(option.words, " "));
    values += fmt::format("    {}) {} ;;\n", fmt::join(cases, " | "), words);
  };
  for (const OptionEntry& option : table.common.options) add_values("*", option);
  for (const CommandEntry& command : table.commands) {
    commands.push_back(command.name);
    for (const OptionEntry& option : command.options) {
      add_values(command.name, option);
      if (!option.names.empty() || option.words.empty()) continue;
      operands +=
          fmt::format("      {}) words='{}' ;;\n", command.name, fmt::join(option.words, " "));
    }
  }
  for (const CommandEntry& command : whole_commands(table)) {
    options +=
        fmt::format("      {}) words='{}' ;;\n", command.name, fmt::join(names_of(command), " "));
  }
  options += fmt::format("      '') words='{}' ;;\n", fmt::join(names_of(table.common), " "));
  if (operands.empty()) operands = "      *) ;;\n";
  return fmt::format(fmt::runtime(bash_script), fmt::arg("values", values),
                     fmt::arg("options", options), fmt::arg("operands", operands),
                     fmt::arg("commands", fmt::join(commands, " ")));
}

/// A text in single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// A text in the brackets of zsh's _arguments.
std::string for_zsh(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_value(const OptionEntry& option) {
  if (option.form.empty() && option.operand.empty()) return {};
  const std::string form = for_zsh(option.form.empty() ? option.operand : option.form);
  if (!option.words.empty()) {
    return fmt::format(":{}:({})", form, fmt::join(option.words, " "));
  }
  return fmt::format(":{}:{}", form, option.takes_folder() ? "_files -/" : "_files");
}

std::string zsh_line(const OptionEntry& option) {
  if (option.names.empty()) {
    return "      " + quoted((option.several ? "*" : "") + zsh_value(option)) + " \\\n";
  }
  std::string lines;
  for (const std::string& name : option.names) {
    lines += "      " +
             quoted(fmt::format("{}{}[{}]{}", option.several ? "*" : "", name, for_zsh(option.text),
                                zsh_value(option))) +
             " \\\n";
  }
  return lines;
}

std::string zsh(const CommandTable& table) {
  std::string commands, cases;
  for (const CommandEntry& command : whole_commands(table)) {
    commands += "    " + quoted(command.name + ":" + command.summary) + "\n";
    std::string lines;
    for (const OptionEntry& option : command.options) lines += zsh_line(option);
    cases += fmt::format("    {})\n      _arguments -S \\\n{}      && return 0 ;;\n", command.name,
                         lines);
  }
  std::string common;
  for (const OptionEntry& option : table.common.options) common += zsh_line(option);
  return fmt::format(
      "#compdef tilevm\n"
      "# Completion of tilevm in zsh, made by `tilevm completion zsh`.\n"
      "_tilevm() {{\n"
      "  local state line\n"
      "  local -a commands=(\n{}  )\n"
      "  _arguments -C -S \\\n{}      '1:command:->command' '*::arguments:->arguments'\n"
      "  if [[ $state == command ]]; then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case $line[1] in\n{}  esac\n"
      "}}\n"
      "_tilevm \"$@\"\n",
      commands, common, cases);
}

std::string fish_line(const OptionEntry& option, const std::string& condition) {
  if (option.names.empty()) {
    if (option.words.empty()) return {};
    return fmt::format("complete -c tilevm {} -f -a {}\n", condition,
                       quoted(fmt::format("{}", fmt::join(option.words, " "))));
  }
  std::string line = "complete -c tilevm " + condition;
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  line += " -d " + quoted(option.text);
  if (!option.form.empty()) line += " -r";
  if (!option.words.empty()) {
    line += " -f -a " + quoted(fmt::format("{}", fmt::join(option.words, " ")));
  }
  return line + "\n";
}

std::string fish(const CommandTable& table) {
  std::string script = "# Completion of tilevm in fish, made by `tilevm completion fish`.\n";
  const std::string none = "-n __fish_use_subcommand";
  for (const OptionEntry& option : table.common.options) script += fish_line(option, "");
  for (const CommandEntry& command : table.commands) {
    script += fmt::format("complete -c tilevm {} -f -a {} -d {}\n", none, command.name,
                          quoted(command.summary));
    const std::string condition = fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionEntry& option : command.options) script += fish_line(option, condition);
  }
  return script;
}

}  // namespace

Result<std::string> completion(const CommandTable& table, const std::string& shell) {
  if (shell == "bash") return bash(table);
  if (shell == "zsh") return zsh(table);
  if (shell == "fish") return fish(table);
  return Error{
      ErrorKind::usage,
      fmt::format("there is no completion for `{}`; there is for bash, zsh and fish", shell)};
}

}  // namespace tilevm::vm
