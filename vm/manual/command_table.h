// The command line as data: what help pages, man pages and completion are made of.
#pragma once

#include <string>
#include <vector>

namespace tilevm::vm {

/// An option, or an operand.
struct OptionEntry {
  std::vector<std::string> names;  ///< "-o", "--output"; empty: an operand
  std::string operand;             ///< "file"; empty: an option
  std::string form;  ///< form of its value: "FILE", "NAME=VALUE"; empty: it takes none
  std::string text;
  std::vector<std::string> words;  ///< words that its value is one of; empty: anything
  bool required = false;
  bool several = false;  ///< whether it may be given several times

  [[nodiscard]] bool takes_file() const { return form.starts_with("FILE") || form == "SCRIPT"; }
  [[nodiscard]] bool takes_folder() const { return form == "DIR"; }
};

struct CommandEntry {
  std::string name;  ///< "run"; "tilevm" for what all have
  std::string summary;
  std::string examples;  ///< lines, each with its line break
  std::string statuses;  ///< exit statuses, a line each
  std::vector<OptionEntry> options;
};

struct CommandTable {
  std::string version;
  CommandEntry common;  ///< options that every command has
  std::vector<CommandEntry> commands;
};

}  // namespace tilevm::vm
