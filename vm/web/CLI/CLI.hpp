// What the command line uses of CLI11, for the module: options and subcommands are read, helped and
// complained of in CLI11's words (2.1.2). The library itself reads configurations and environments
// too, and prints by streams, which takes a fifteenth of a module that has no use for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace CLI {  // NOLINT(readability-identifier-naming)

class App;

enum class ExitCodes { Success, ParseError, ExtrasError };

class ParseError : public std::runtime_error {
 public:
  explicit ParseError(const std::string& message, ExitCodes code = ExitCodes::ParseError)
      : std::runtime_error(message), code_(code) {}
  [[nodiscard]] int get_exit_code() const { return static_cast<int>(code_); }

 private:
  ExitCodes code_;
};
/// The end of parsing that the user asked for: the version, where there is a message, or help.
struct Success : ParseError {
  explicit Success(const std::string& message) : ParseError(message, ExitCodes::Success) {}
};
struct CallForHelp : Success {
  CallForHelp() : Success("") {}
};
struct CallForVersion : Success {
  using Success::Success;
};
/// Words that nothing takes.
struct ExtrasError : ParseError {
  explicit ExtrasError(const std::string& message) : ParseError(message, ExitCodes::ExtrasError) {}
};

using Words = std::vector<std::string>;

namespace detail {

inline std::string join(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (&word == words.data() ? "" : ",") + word;
  return text;
}

inline bool read(const std::string& text, std::string& value) {
  value = text;
  return true;
}

inline bool read(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size();
}

template <class Number>
std::enable_if_t<std::is_integral_v<Number>, bool> read(const std::string& text, Number& value) {
  using Wide = std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>;
  char* end = nullptr;
  Wide wide{};
  if constexpr (std::is_signed_v<Number>) {
    wide = std::strtoll(text.c_str(), &end, 0);
  } else {
    wide = std::strtoull(text.c_str(), &end, 0);
  }
  value = static_cast<Number>(wide);
  return !text.empty() && end == text.c_str() + text.size() && static_cast<Wide>(value) == wide;
}

template <class T>
bool read(const std::string& text, std::optional<T>& value) {
  return read(text, value.emplace());
}

/// The value of a flag that has one, `--flag=off`; nothing if it is none.
inline std::optional<bool> read_flag(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const char* const yes : {"true", "on", "yes", "enable", "t", "y", "+"}) {
    if (text == yes) return true;
  }
  for (const char* const no : {"false", "off", "no", "disable", "f", "n", "-", "0"}) {
    if (text == no) return false;
  }
  std::int64_t number = 0;
  if (!read(text, number)) return std::nullopt;
  return number > 0;
}

template <class T>
struct Type {
  static constexpr bool several = false;
  static constexpr const char* name = std::is_floating_point_v<T> ? "FLOAT"
                                      : !std::is_integral_v<T>    ? "TEXT"
                                      : std::is_signed_v<T>       ? "INT"
                                                                  : "UINT";
};
template <class T>
struct Type<std::optional<T>> : Type<T> {};
template <class T>
struct Type<std::vector<T>> : Type<T> {
  static constexpr bool several = true;
};

}  // namespace detail

/// What is said of a value that an option does not take; "" if it does.
struct Validator {
  std::function<std::string(const std::string&)> complaint;
  std::string description;
};

struct Range : Validator {
  template <class T>
  Range(T least, T most, std::string name = {}) {
    description = name.empty() ? fmt::format("{} in [{} - {}]", detail::Type<T>::name, least, most)
                               : std::move(name);
    complaint = [least, most](const std::string& text) {
      T value{};
      if (detail::read(text, value) && least <= value && value <= most) return std::string();
      constexpr const char* says = std::is_floating_point_v<T> ? "Value {} not in range {:f} to {:f}"
                                                               : "Value {} not in range {} to {}";
      return fmt::format(fmt::runtime(says), text, least, most);
    };
  }
};
inline const Range NonNegativeNumber(0.0, std::numeric_limits<double>::max(), "NONNEGATIVE");
inline const Range PositiveNumber(std::numeric_limits<double>::min(),
                                  std::numeric_limits<double>::max(), "POSITIVE");

struct IsMember : Validator {
  IsMember(std::initializer_list<const char*> list) {
    const Words words(list.begin(), list.end());
    description = "{" + detail::join(words) + "}";
    complaint = [words, all = description](const std::string& text) {
      const bool found = std::find(words.begin(), words.end(), text) != words.end();
      return found ? std::string() : text + " not in " + all;
    };
  }
};

class Option {
 public:
  Option(const std::string& names, std::string description) : description_(std::move(description)) {
    for (std::size_t begin = 0; begin <= names.size();) {
      const std::size_t end = std::min(names.find(',', begin), names.size());
      add_name(names.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  Option* required() { return set(required_, true); }
  Option* type_name(std::string name) { return set(type_, std::move(name)); }
  Option* description(std::string text) { return set(description_, std::move(text)); }
  Option* allow_extra_args(bool allowed) { return set(takes_more_, allowed); }
  Option* check(Validator validator) {
    validators_.push_back(std::move(validator));
    return this;
  }
  Option* check(std::function<std::string(const std::string&)> complaint, std::string description) {
    return check(Validator{std::move(complaint), std::move(description)});
  }

  [[nodiscard]] const Words& get_snames() const { return short_names_; }
  [[nodiscard]] const Words& get_lnames() const { return long_names_; }
  [[nodiscard]] const std::string& get_description() const { return description_; }
  [[nodiscard]] bool get_positional() const { return !operand_.empty(); }
  [[nodiscard]] bool get_required() const { return required_; }
  [[nodiscard]] int get_items_expected_max() const { return is_flag_ ? 0 : several_ ? 1 << 29 : 1; }
  [[nodiscard]] std::string get_name(bool positional = false) const {
    if (positional || (long_names_.empty() && short_names_.empty())) return operand_;
    return long_names_.empty() ? "-" + short_names_[0] : "--" + long_names_[0];
  }
  [[nodiscard]] std::string get_type_name() const {
    std::string name = type_;
    for (const Validator& validator : validators_) {
      if (!validator.description.empty()) name += ":" + validator.description;
    }
    return name;
  }

 private:
  friend class App;
  friend class Formatter;

  template <class T, class Value>
  Option* set(T& member, Value value) {
    member = std::move(value);
    return this;
  }

  void add_name(std::string name) {
    const bool negates = name.front() == '!';
    if (negates) name.erase(0, 1);
    if (name.starts_with("--")) {
      long_names_.push_back(name.substr(2));
      if (negates) negations_.push_back(long_names_.back());
    } else if (name.front() == '-') {
      short_names_.push_back(name.substr(1));
    } else {
      operand_ = name;
    }
  }

  [[nodiscard]] bool negates(const std::string& name) const { return has(negations_, name); }
  static bool has(const Words& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  /// Every name, as help shows them.
  [[nodiscard]] std::string all_names() const {
    Words names;
    for (const std::string& name : short_names_) names.push_back("-" + name);
    for (const std::string& name : long_names_) {
      names.push_back("--" + name + (negates(name) ? "{false}" : ""));
    }
    return detail::join(names);
  }

  /// A word's values; brackets hold a list, where several are taken.
  void add_value(const std::string& word) {
    if (!takes_more_ || word.size() < 2 || word.front() != '[' || word.back() != ']') {
      values_.push_back(word);
      return;
    }
    for (std::size_t begin = 1; begin < word.size();) {
      const std::size_t end = std::min(word.find(',', begin), word.size() - 1);
      if (end > begin) add_value(word.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  /// Whether a flag with this name and value is set.
  void add_flag_value(const std::string& name, const std::string& value) {
    const auto given = value.empty() ? std::optional(true) : detail::read_flag(value);
    values_.push_back(!given ? value : *given == negates(name) ? "false" : "true");
  }

  void store() const {
    if (values_.empty()) return;
    for (const std::string& value : values_) {
      for (const Validator& validator : validators_) {
        const std::string complaint = validator.complaint(value);
        if (!complaint.empty()) throw ParseError(get_name() + ": " + complaint);
      }
    }
    if (!is_flag_ && !several_ && values_.size() > 1) {
      throw ParseError(
          fmt::format("{}: At Most 1 required but received {}", get_name(), values_.size()));
    }
    if (!assign_(values_)) {
      throw ParseError("Could not convert: " + get_name() + " = " + detail::join(values_));
    }
  }

  Words short_names_, long_names_, negations_;
  std::string operand_, description_, type_;
  std::vector<Validator> validators_;
  bool required_ = false, is_flag_ = false, several_ = false, takes_more_ = false;
  std::function<bool(const Words&)> assign_;
  Words values_;
};

/// Help pages.
class Formatter {
 public:
  virtual ~Formatter() = default;
  virtual std::string make_description(const App* app) const = 0;
  virtual std::string make_footer(const App* app) const = 0;

  [[nodiscard]] std::string make_help(const App& app, const std::string& name) const;

 private:
  /// A name and what is said of it, in two columns.
  static std::string entry(std::string name, const std::string& description) {
    constexpr std::size_t width = 30;
    std::string text = fmt::format("  {:<{}}", name, width - 2);
    if (name.size() + 2 >= width && !description.empty()) text += "\n" + std::string(width, ' ');
    for (const char c : description) {
      text += c;
      if (c == '\n') text += std::string(width, ' ');
    }
    return text + "\n";
  }

  static std::string entry(const Option& option, bool is_operand) {
    std::string name = is_operand ? option.operand_ : option.all_names();
    if (!option.is_flag_) {
      const std::string type = option.get_type_name();
      if (!type.empty()) name += " " + type;
      if (option.several_) name += " ...";
      if (option.required_) name += " REQUIRED";
    }
    return entry(std::move(name), option.description_);
  }
};

class App {
 public:
  App(std::string description, std::string name, App* parent = nullptr)
      : description_(std::move(description)), name_(std::move(name)), parent_(parent) {
    help_ = add_flag("-h,--help")->description("Print this help message and exit");
    if (parent != nullptr) formatter_ = parent->formatter_;
  }
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  void formatter(std::shared_ptr<Formatter> made) { formatter_ = std::move(made); }
  /// How the command line is: one command or none, and the root's options also after it.
  void require_subcommand(int, int) {}
  void fallthrough() {}

  void set_version_flag(const std::string& names, const std::string& version) {
    add_flag(names)->description("Display program version information and exit")->assign_ =
        [version](const Words&) -> bool { throw CallForVersion(version); };
  }

  template <class T>
  Option* add_option(const std::string& names, T& value, const std::string& description) {
    Option* const option = add(names, description, detail::Type<T>::name);
    option->several_ = option->takes_more_ = detail::Type<T>::several;
    option->assign_ = [&value](const Words& words) {
      if constexpr (detail::Type<T>::several) {
        value = T(words.size());
        for (std::size_t i = 0; i < words.size(); ++i) {
          if (!detail::read(words[i], value[i])) return false;
        }
        return true;
      } else {
        return detail::read(words[0], value);
      }
    };
    return option;
  }

  template <class T>
  Option* add_option_function(const std::string& names, std::function<void(const T&)> f,
                              const std::string& description) {
    Option* const option = add(names, description, detail::Type<T>::name);
    option->assign_ = [f = std::move(f)](const Words& words) {
      T value{};
      const bool is_value = detail::read(words[0], value);
      if (is_value) f(value);
      return is_value;
    };
    return option;
  }

  Option* add_flag(const std::string& names) {
    Option* const option = add(names, "", "");
    option->is_flag_ = true;
    option->assign_ = [](const Words& words) {
      return detail::read_flag(words.back()).has_value();
    };
    return option;
  }

  Option* add_flag(const std::string& names, bool& value, const std::string& description) {
    Option* const option = add_flag(names)->description(description);
    option->assign_ = [&value](const Words& words) {
      const auto given = detail::read_flag(words.back());
      value = given.value_or(value);
      return given.has_value();
    };
    return option;
  }

  App* add_subcommand(const std::string& name, const std::string& summary) {
    return commands_.emplace_back(std::make_unique<App>(summary, name, this)).get();
  }

  [[nodiscard]] const std::string& get_name() const { return name_; }
  [[nodiscard]] const std::string& get_description() const { return description_; }
  [[nodiscard]] const App* get_parent() const { return parent_; }
  [[nodiscard]] const Option* get_help_ptr() const { return help_; }
  [[nodiscard]] bool parsed() const { return parsed_; }
  /// Words that nothing took.
  [[nodiscard]] const Words& remaining(bool) const { return extras_; }
  [[nodiscard]] std::vector<const Option*> get_options() const {
    std::vector<const Option*> all;
    for (const auto& option : options_) all.push_back(option.get());
    return all;
  }
  /// The command that was parsed, if one was.
  [[nodiscard]] std::vector<App*> get_subcommands() const {
    if (command_ == nullptr) return {};
    return {command_};
  }
  template <class Wanted>
  [[nodiscard]] std::vector<const App*> get_subcommands(Wanted wanted) const {
    std::vector<const App*> all;
    for (const auto& app : commands_) {
      if (wanted(app.get())) all.push_back(app.get());
    }
    return all;
  }

  [[nodiscard]] std::string help() const {
    return command_ == nullptr ? formatter_->make_help(*this, name_)
                               : formatter_->make_help(*command_, name_ + " " + command_->name_);
  }

  template <class Stream>
  void exit(const Success& asked, Stream& out, Stream&) const {
    const std::string version = asked.what();
    out << (version.empty() ? help() : version + "\n");
  }

  void parse(int count, const char* const* words) {
    words_.assign(words + 1, words + count);
    std::reverse(words_.begin(), words_.end());
    for (bool only_operands = false; !words_.empty();) {
      const std::string word = words_.back();
      words_.pop_back();
      if (only_operands) {
        take_operand(word);
      } else if (word == "--") {
        only_operands = true;
      } else if (App* const found = command_ == nullptr ? find_command(word) : nullptr) {
        command_ = found;
        found->parsed_ = true;
      } else if (!is_option(word)) {
        take_operand(word);
      } else {
        take_option(word);
      }
    }
    finish();
  }

 private:
  friend class Formatter;

  Option* add(const std::string& names, const std::string& description, const char* type) {
    return options_.emplace_back(std::make_unique<Option>(names, description))->type_name(type);
  }

  App* find_command(const std::string& name) const {
    for (const auto& app : commands_) {
      if (app->name_ == name) return app.get();
    }
    return nullptr;
  }

  /// The command's, else the root's.
  Option* find_option(const std::string& name, bool is_long) const {
    for (const App* app : {static_cast<const App*>(command_), this}) {
      if (app == nullptr) continue;
      for (const auto& option : app->options_) {
        if (Option::has(is_long ? option->long_names_ : option->short_names_, name)) {
          return option.get();
        }
      }
    }
    return nullptr;
  }

  /// Not a number below zero, but for an option that is called so.
  bool is_option(const std::string& word) const {
    const auto begins = [&](std::size_t at) {
      return word.size() > at && std::string_view("-! \n").find(word[at]) == std::string_view::npos;
    };
    if (word.starts_with("--")) return begins(2);
    if (!word.starts_with('-') || !begins(1)) return false;
    const bool is_digit = word[1] >= '0' && word[1] <= '9';
    return !is_digit || find_option(word.substr(1, 1), false) != nullptr;
  }

  void take_operand(const std::string& word) {
    for (const auto& option : (command_ == nullptr ? *this : *command_).options_) {
      if (option->get_positional() && (option->values_.empty() || option->takes_more_)) {
        return option->add_value(word);
      }
    }
    extras_.push_back(word);
  }

  void take_option(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::size_t equals = is_long ? word.find('=') : std::string::npos;
    const std::string name = is_long ? word.substr(2, equals - 2) : word.substr(1, 1);
    std::string value = is_long ? "" : word.substr(2);  // in the same word
    if (equals != std::string::npos) value = word.substr(equals + 1);
    Option* const option = find_option(name, is_long);
    if (option == nullptr) return extras_.push_back(word);
    if (option->is_flag_) {
      option->add_flag_value(name, is_long ? value : "");
      if (!is_long && !value.empty()) words_.push_back("-" + value);
      return;
    }
    if (value.empty()) {
      if (words_.empty()) {
        throw ParseError(
            fmt::format("{}: 1 required {} missing", option->get_name(), option->get_type_name()));
      }
      value = std::exchange(words_.back(), {});
      words_.pop_back();
    }
    option->add_value(value);
    while (option->takes_more_ && !words_.empty() && words_.back() != "--" &&
           !is_option(words_.back()) && operands_wanted() < words_.size()) {
      option->add_value(words_.back());
      words_.pop_back();
    }
  }

  /// Operands that must still come.
  std::size_t operands_wanted() const {
    const auto& options = (command_ == nullptr ? *this : *command_).options_;
    return static_cast<std::size_t>(
        std::count_if(options.begin(), options.end(), [](const std::unique_ptr<Option>& option) {
          return option->get_positional() && option->required_ && option->values_.empty();
        }));
  }

  void finish() {
    bool wants_help = false;
    for (App* app : {this, command_}) {
      if (app == nullptr) continue;
      for (const auto& option : app->options_) option->store();
      wants_help = wants_help || !app->help_->values_.empty();
    }
    if (wants_help) throw CallForHelp();
    if (command_ != nullptr) {
      for (const auto& option : command_->options_) {
        if (option->required_ && option->values_.empty()) {
          throw ParseError(option->get_name() + " is required");
        }
      }
    }
    if (!extras_.empty()) throw ExtrasError("words that nothing takes");
  }

  std::string description_, name_;
  App* parent_;
  std::shared_ptr<Formatter> formatter_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<App>> commands_;
  Option* help_ = nullptr;
  App* command_ = nullptr;  ///< the one that was given
  bool parsed_ = false;
  Words words_;   ///< what is still to be read, the next one last
  Words extras_;  ///< what nothing takes
};

inline std::string Formatter::make_help(const App& app, const std::string& name) const {
  std::string operands, list, options, commands;
  for (const auto& option : app.options_) {
    if (!option->get_positional()) {
      options += entry(*option, false);
      continue;
    }
    const std::string shown = option->operand_ + (option->several_ ? "..." : "");
    operands += option->required_ ? " " + shown : " [" + shown + "]";
    list += entry(*option, true);
  }
  for (const auto& command : app.commands_)
    commands += entry(command->name_, command->description_);
  std::string text = make_description(&app) + "Usage: " + name + " [OPTIONS]" + operands;
  if (!commands.empty()) text += " [SUBCOMMAND]";
  text += "\n";
  if (!list.empty()) text += "\nPositionals:\n" + list;
  text += "\nOptions:\n" + options;
  if (!commands.empty()) text += "\nSubcommands:\n" + commands;
  return text + "\n" + make_footer(&app);
}

}  // namespace CLI
