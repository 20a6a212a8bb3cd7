#include "vm/debug/debugger.h"
#include "vm/debug/word_parts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "vm/debug/expression_text.h"
#include "vm/debug/json_parts.h"
#include "vm/debug/render.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

constexpr int max_depth = 8;
constexpr int most_code_lines = 200;
constexpr std::uint64_t max_script = std::uint64_t{1} << 22;

}  // namespace

void Debugger::greet() {
  const sim::debug::Reply where = session_->execute(sim::debug::command::Where{});
  show(where, "", Format::value);
}

bool Debugger::line(std::string_view text) {
  text = trim(text);
  if (text.starts_with('#')) return true;
  if (text.empty()) {
    if (last_.empty()) return true;
    text = last_;
  }
  const std::string kept(text);
  history_.push_back(kept);
  const Result<Input> input = parse_line(kept);
  if (!input) {
    last_.clear();
    say_error(input.error(), kept);
    return true;
  }
  const Result<const Word*> word = find_word(kept.substr(0, kept.find_first_of(" /\t")));
  last_ = word && (*word)->repeats ? kept : std::string();
  answer(*input, kept);
  return !quit_;
}

bool Debugger::script(std::string_view text) {
  while (!text.empty() && !quit_) {
    const std::size_t end = text.find('\n');
    const std::string_view here = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (here.empty() || here.starts_with('#')) continue;
    if (!options_.json) out_ << prompt << here << '\n';
    line(here);
  }
  return !quit_;
}

void Debugger::answer(const Input& input, std::string_view text) {
  std::visit([&](const auto& request) { run(request, input, text); }, input.request);
}

void Debugger::write(Json object, std::string_view text) {
  Json line = Json::object();
  line.set("schema", 1).set("command", text).set("answer", std::move(object));
  out_ << line.text() << '\n';
}

void Debugger::show(const sim::debug::Reply& reply, std::string_view text, Format format) {
  if (const auto* error = std::get_if<Error>(&reply)) {
    had_error_ = true;
    error_ = *error;
  }
  if (const auto* stop = std::get_if<sim::debug::reply::Stopped>(&reply)) {
    met_fault_ = met_fault_ || stop->fault.has_value();
    stop_ = *stop;
    listed_.reset();
  }
  const auto past = session_->take_past();
  if (options_.json) {
    Json object = reply_json(reply, session_->program());
    if (past) object.set("past", position_json(*past, session_->program().source()));
    return write(std::move(object), text);
  }
  std::string shown;
  if (past) {
    shown = fmt::format("as it was in {}\n", position_text(*past, session_->program().source()));
  }
  put(shown + render_reply(reply, session_->program(), {format, options_.color}));
}

/// Shows a text, of a long one the first lines.
void Debugger::put(const std::string& text) {
  std::size_t end = 0, lines = 0;
  while (options_.height > 0 && lines < options_.height && end < text.size()) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
    ++lines;
  }
  const bool cut = options_.height > 0 && end < text.size();
  out_ << (cut ? text.substr(0, end) : text);
  if (!cut) return;
  const auto more = std::count(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), '\n');
  out_ << fmt::format("... and {} more line{}; `set height 0` shows all\n", more,
                      more == 1 ? "" : "s");
}

void Debugger::say(const std::string& text) {
  if (options_.json) {
    Json object = Json::object();
    write(object.set("reply", "text").set("text", text), "");
  } else {
    put(text);
  }
}

void Debugger::say_error(const Error& error, std::string_view text) {
  show(sim::debug::Reply(error), text, Format::value);
}

void Debugger::run(const sim::debug::Command& request, const Input& input, std::string_view text) {
  const sim::debug::Reply reply = session_->execute(request);
  if (const auto* why = std::get_if<sim::debug::reply::WhyShown>(&reply)) {
    steps_.clear();
    for (const auto& cause : why->causes) {
      const bool known = cause.kind == sim::debug::reply::Cause::Kind::statement;
      steps_.push_back(known ? cause.position.moment : session_->timeline().now());
    }
  }
  if (const auto* trace = std::get_if<sim::debug::reply::TraceShown>(&reply)) {
    steps_.clear();
    for (const auto& step : trace->steps) steps_.push_back(step.position.moment);
  }
  show(reply, text, input.format);
}

void Debugger::run(const GoToStep& request, const Input& input, std::string_view text) {
  if (request.number < 1 || request.number > steps_.size()) {
    return say_error({ErrorKind::usage,
                      steps_.empty() ? std::string("`goto N` goes to a step of `why` or `trace`; "
                                                   "write `goto @M` for a moment")
                                     : fmt::format("there are steps 1 to {}", steps_.size())},
                     text);
  }
  run(sim::debug::Command(sim::debug::command::GoTo{steps_[request.number - 1]}), input, text);
}

void Debugger::run(const HelpWord& request, const Input&, std::string_view text) {
  const Result<std::string> help = debug_help(request.word);
  if (!help) return say_error(help.error(), text);
  say(*help);
}

void Debugger::run(const ListLines& request, const Input&, std::string_view as_typed) {
  const SourceFile& source = session_->program().source();
  const sim::debug::SourceLine here = session_->position().line;
  sim::debug::SourceLine line = listed_.value_or(here);
  if (request.line) {
    const auto named = session_->find_line(*request.line);
    if (!named) return say_error(named.error(), as_typed);
    line = *named;
  }
  if (request.line || !listed_) line.line = std::max(line.line - 5, 1);
  std::string text;
  const std::vector<std::string_view> lines = sim::debug::lines_of(source, line.file);
  const int end = std::min(line.line + 10, static_cast<int>(lines.size()) + 1);
  for (; line.line < end; ++line.line) {
    text += fmt::format("{}{:>4}  {}\n", line == here ? '>' : ' ', line.line,
                        lines[static_cast<std::size_t>(line.line) - 1]);
  }
  listed_ = line;
  if (text.empty()) text = fmt::format("the file ends at line {}\n", lines.size());
  say(text);
}

void Debugger::run(const HeightWord& request, const Input&, std::string_view) {
  options_.height = request.lines;
  say(request.lines == 0 ? std::string("answers are shown whole\n")
                         : fmt::format("answers are shown up to {} lines\n", request.lines));
}

void Debugger::run(const QuitWord&, const Input&, std::string_view) { quit_ = true; }

void Debugger::run(const HistoryWord&, const Input&, std::string_view) {
  std::string text;
  for (std::size_t i = 0; i < history_.size(); ++i) {
    text += fmt::format("{:>4}  {}\n", i + 1, history_[i]);
  }
  say(text);
}

void Debugger::run(const SourceWord& request, const Input&, std::string_view text) {
  if (depth_ >= max_depth) {
    return say_error({ErrorKind::usage, "scripts are nested too deep"}, text);
  }
  const auto bytes = read_file(request.path, max_script);
  if (!bytes) return say_error(bytes.error(), text);
  ++depth_;
  script({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  --depth_;
}

void Debugger::run(const CompareWord& request, const Input&, std::string_view text) {
  if (!options_.compare) {
    return say_error({ErrorKind::usage, "there is nothing to compare with here"}, text);
  }
  const Result<std::string> found = options_.compare(request.engine);
  if (!found) return say_error(found.error(), text);
  say(*found);
}

void Debugger::run(const CodeWord& request, const Input&, std::string_view text) {
  const sim::debug::Position position = session_->position();
  sim::debug::SourceLine line = root_line(session_->program().source(), position);
  if (request.line) {
    const auto named = session_->find_line(*request.line);
    if (!named) return say_error(named.error(), text);
    line = *named;
  }
  if (line.line == 0) {
    return say_error({ErrorKind::usage, "no statement is in focus; name a line"}, text);
  }
  if (!code_.contains(request.kind)) {
    auto listed = list_code(session_->program(), request.kind);
    if (!listed) return say_error(listed.error(), text);
    code_[request.kind] = *std::move(listed);
  }
  std::string shown;
  int count = 0;
  for (const CodeLine& one : code_[request.kind]) {
    if (one.line != line || ++count > most_code_lines) continue;
    shown += fmt::format("{:>8}  {}\n", one.address, one.text);
  }
  const std::string where = line_text(session_->program().source(), line);
  if (count == 0) {
    shown = fmt::format("line {} becomes no code of its own{}\n", where,
                        line.file == 0 ? "" : "; that of a function is at the lines that call it");
  }
  if (count > most_code_lines) shown += fmt::format("and {} more\n", count - most_code_lines);
  say(shown);
}

std::vector<std::string> complete_line(sim::debug::Session& session, std::string_view line) {
  const std::size_t blank = line.find_last_of(" \t[(");
  if (blank == std::string_view::npos) return complete_word(line);
  const std::string_view begin = line.substr(blank + 1);
  const Result<const Word*> word = find_word(line.substr(0, line.find_first_of(" \t")));
  if (word && (*word)->name == "info") return complete_topic(begin);
  if (word && (*word)->name == "help") return complete_word(begin);
  std::vector<std::string> found;
  const sim::debug::Reply tensors =
      session.execute(sim::debug::command::Info{sim::debug::command::Topic::tensors});
  const sim::debug::Reply scalars =
      session.execute(sim::debug::command::Info{sim::debug::command::Topic::scalars});
  const auto add = [&](const std::string& name) {
    if (name.starts_with(begin)) found.push_back(name);
  };
  if (const auto* shown = std::get_if<sim::debug::reply::Tensors>(&tensors)) {
    for (const auto& info : shown->tensors) add(info.name);
  }
  if (const auto* shown = std::get_if<sim::debug::reply::Scalars>(&scalars)) {
    for (const auto& scalar : shown->scalars) add(scalar.name);
  }
  return found;
}

}  // namespace tilevm::vm
