#include "vm/dap/adapter.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isa/base/render.h"
#include "vm/dap/arguments.h"

namespace tilevm::vm::dap {

namespace {

/// The constants of a launch: an object, or a list of "NAME=VALUE".
/// The texts of a list; others are left out.
std::vector<std::string> texts(const boost::json::value* value) {
  std::vector<std::string> list;
  if (value == nullptr || !value->is_array()) return list;
  for (const auto& each : value->get_array()) {
    if (each.is_string()) list.emplace_back(each.get_string());
  }
  return list;
}

std::vector<std::string> definitions(const boost::json::value* value) {
  std::vector<std::string> found;
  if (value == nullptr) return found;
  if (const auto* members = value->if_object()) {
    for (const auto& [name, member] : *members) {
      const std::string text =
          member.is_string() ? std::string(member.get_string()) : boost::json::serialize(member);
      found.push_back(std::string(name) + "=" + text);
    }
  } else if (const auto* items = value->if_array()) {
    for (const auto& item : *items) {
      if (item.is_string()) found.emplace_back(item.get_string());
    }
  }
  return found;
}

}  // namespace

const std::vector<Adapter::Request>& Adapter::requests() {
  static const std::vector<Request> all{
      {"initialize", &Adapter::initialize, false},
      {"launch", &Adapter::launch, false},
      {"attach", &Adapter::launch, false},
      {"configurationDone", &Adapter::configuration_done},
      {"setBreakpoints", &Adapter::set_breakpoints},
      {"setFunctionBreakpoints", &Adapter::set_function_breakpoints},
      {"setDataBreakpoints", &Adapter::set_data_breakpoints},
      {"dataBreakpointInfo", &Adapter::data_breakpoint_info},
      {"setExceptionBreakpoints", &Adapter::nothing, false},
      {"breakpointLocations", &Adapter::breakpoint_locations},
      {"exceptionInfo", &Adapter::exception_info},
      {"continue", &Adapter::move_continue},
      {"next", &Adapter::move_next},
      {"stepIn", &Adapter::move_in},
      {"stepOut", &Adapter::move_out},
      {"stepBack", &Adapter::move_back},
      {"reverseContinue", &Adapter::move_reverse},
      {"tilevm/reverseNext", &Adapter::move_reverse_next},
      {"tilevm/reverseStepOut", &Adapter::move_reverse_out},
      {"pause", &Adapter::pause},
      {"gotoTargets", &Adapter::goto_targets},
      {"goto", &Adapter::move_goto},
      {"threads", &Adapter::threads},
      {"stackTrace", &Adapter::stack_trace},
      {"scopes", &Adapter::scopes},
      {"variables", &Adapter::variables},
      {"setVariable", &Adapter::set_variable},
      {"setExpression", &Adapter::set_expression},
      {"evaluate", &Adapter::evaluate},
      {"completions", &Adapter::completions},
      {"readMemory", &Adapter::read_memory},
      {"writeMemory", &Adapter::write_memory},
      {"disassemble", &Adapter::disassemble},
      {"source", &Adapter::source},
      {"loadedSources", &Adapter::loaded_sources},
      {"cancel", &Adapter::nothing, false},
      {"terminate", &Adapter::terminate, false},
      {"disconnect", &Adapter::terminate, false},
  };
  return all;
}

bool Adapter::handle(const Object& message) {
  const auto command = text_in(message, "command");
  const auto kind = text_in(message, "type");
  if (!command || kind != "request") {
    output("a message that is not a request was ignored\n", "stderr");
    return true;
  }
  const Object* given = object_in(message, "arguments");
  const Object none;
  const Object& arguments = given != nullptr ? *given : none;
  for (const Request& request : requests()) {
    if (request.name != *command) continue;
    if (request.needs_session && session_ == nullptr) {
      respond(message, Error{ErrorKind::usage, "no program is launched"});
      return true;
    }
    const Answer answer = (this->*request.answer)(arguments);
    respond(message, answer);
    if (*command == "initialize") return true;
    const bool launches = *command == "launch" || *command == "attach";
    if (launches && answer && !configured_) event("initialized", Json::object());
    if (*command == "disconnect") done_ = true;
    if (*command == "terminate") event("terminated", Json::object());
    run_pending();
    return !done_;
  }
  respond(message, Error{ErrorKind::usage, fmt::format("there is no request `{}`", *command)});
  return true;
}

void Adapter::respond(const Object& request, const Answer& answer) {
  Json response = Json::object();
  response.set("seq", sequence_++).set("type", "response");
  response.set("request_seq", integer_in(request, "seq").value_or(0));
  response.set("success", answer.ok());
  response.set("command", text_in(request, "command").value_or(""));
  if (answer) {
    response.set("body", *answer);
  } else {
    Json error = Json::object(), body = Json::object();
    error.set("id", 1).set("format", answer.error().message).set("showUser", true);
    response.set("message", answer.error().message);
    response.set("body", std::move(body.set("error", std::move(error))));
  }
  host_.send(response);
}

/// Some clients want a body where the protocol needs none.
void Adapter::event(const char* name, Json body) {
  Json message = Json::object();
  message.set("seq", sequence_++).set("type", "event").set("event", name);
  host_.send(message.set("body", std::move(body)));
}

void Adapter::output(const std::string& text, const char* category) {
  Json body = Json::object();
  event("output", body.set("category", category).set("output", text));
}

void Adapter::tell(Progress progress, double seconds) {
  if (!client_.progress) return;
  Json body = Json::object();
  const std::string message = fmt::format("running for {:.1f} s", seconds);
  switch (progress) {
    case Progress::begins:
      body.set("progressId", std::to_string(++progress_)).set("title", "tilevm runs");
      event("progressStart", std::move(body.set("cancellable", true).set("message", message)));
      return;
    case Progress::goes_on:
      body.set("progressId", std::to_string(progress_));
      event("progressUpdate", std::move(body.set("message", message)));
      return;
    case Progress::ends:
      event("progressEnd", std::move(body.set("progressId", std::to_string(progress_))));
      return;
  }
}

/// Clients that say nothing of an ability do not have it.
void Adapter::read_client(const Object& arguments) {
  client_.lines_from_one = flag_in(arguments, "linesStartAt1", true);
  client_.columns_from_one = flag_in(arguments, "columnsStartAt1", true);
  client_.progress = flag_in(arguments, "supportsProgressReporting", false);
  client_.styles = flag_in(arguments, "supportsANSIStyling", false);
  client_.types = flag_in(arguments, "supportsVariableType", false);
  client_.paging = flag_in(arguments, "supportsVariablePaging", false);
  client_.memory_references = flag_in(arguments, "supportsMemoryReferences", false);
  client_.memory_events = flag_in(arguments, "supportsMemoryEvent", false);
  client_.invalidated_events = flag_in(arguments, "supportsInvalidatedEvent", false);
}

Adapter::Answer Adapter::initialize(const Object& arguments) {
  read_client(arguments);
  Json body = Json::object();
  for (const char* capability : {"supportsConfigurationDoneRequest",
                                 "supportsFunctionBreakpoints",
                                 "supportsConditionalBreakpoints",
                                 "supportsHitConditionalBreakpoints",
                                 "supportsLogPoints",
                                 "supportsEvaluateForHovers",
                                 "supportsStepBack",
                                 "supportsSetVariable",
                                 "supportsGotoTargetsRequest",
                                 "supportsCompletionsRequest",
                                 "supportsExceptionInfoRequest",
                                 "supportsDataBreakpoints",
                                 "supportsReadMemoryRequest",
                                 "supportsDisassembleRequest",
                                 "supportsWriteMemoryRequest",
                                 "supportsTerminateRequest",
                                 "supportsCancelRequest",
                                 "supportsValueFormattingOptions",
                                 "supportsANSIStyling",
                                 "supportsSetExpression",
                                 "supportsLoadedSourcesRequest",
                                 "supportsBreakpointLocationsRequest"}) {
    body.set(capability, true);
  }
  body.set("supportsDataBreakpointBytes", true);
  Json modes = Json::array();
  for (const auto& [mode, label] :
       {std::pair{"all", "in every block"}, std::pair{"focus", "in this block"}}) {
    Json applies = Json::array(), item = Json::object();
    applies.push("source");
    modes.push(item.set("mode", mode).set("label", label).set("appliesTo", std::move(applies)));
  }
  body.set("breakpointModes", std::move(modes));
  return body;
}

Adapter::Answer Adapter::launch(const Object& arguments) {
  if (session_ != nullptr) return Error{ErrorKind::usage, "a program is launched already"};
  LaunchArguments launch;
  launch.program = text_in(arguments, "program").value_or("");
  if (launch.program.empty()) launch.program = text_in(arguments, "bundle").value_or("");
  if (launch.program.empty()) {
    return Error{ErrorKind::usage, "launch needs `program`, the path of a file, or `bundle`"};
  }
  launch.defines = definitions(arguments.if_contains("defines"));
  launch.inputs = definitions(arguments.if_contains("inputs"));
  launch.folders = texts(arguments.if_contains("include"));
  launch.entry = text_in(arguments, "entry").value_or("");
  launch.target = text_in(arguments, "target").value_or("");
  launch.wild = flag_in(arguments, "wild", false);
  launch.exact = flag_in(arguments, "exact", false);
  const auto count = [&](const char* name) -> std::optional<std::uint64_t> {
    const auto number = integer_in(arguments, name);
    return number && *number >= 0 ? std::optional(static_cast<std::uint64_t>(*number))
                                  : std::nullopt;
  };
  launch.seed = count("seed").value_or(0);
  launch.memory = std::min<std::uint64_t>(count("memory").value_or(512), 1U << 20);
  launch.max_steps = count("maxSteps");
  const Result<CodeKind> code = parse_code_kind(text_in(arguments, "code").value_or("cuda"));
  if (!code) return code.error();
  code_kind_ = *code;
  stops_on_entry_ = flag_in(arguments, "stopOnEntry", false);
  cuda_threads_ = text_in(arguments, "threads") == "cuda";
  Result<Launched> launched = host_.open(launch);
  if (!launched) return launched.error();
  for (const std::string& note : launched->notes) output(note + '\n', "console");
  console_ = std::make_unique<Debugger>(
      std::move(launched->session), said_,
      DebuggerOptions{false, client_.styles, 0, std::move(launched->compare)});
  session_ = &console_->session();
  return Json::object();
}

Adapter::Answer Adapter::configuration_done(const Object&) {
  configured_ = true;
  if (stops_on_entry_) {
    pending_ = sim::debug::command::Where{};
  } else {
    pending_ = sim::debug::command::Run{};
  }
  return Json::object();
}

Adapter::Answer Adapter::terminate(const Object&) { return Json::object(); }
Adapter::Answer Adapter::nothing(const Object&) { return Json::object(); }

Adapter::Answer Adapter::exception_info(const Object&) {
  if (!fault_) return Error{ErrorKind::usage, "the run has met no fault"};
  Json details = Json::object(), body = Json::object();
  details.set("message", fault_->diagnostic.message);
  details.set("stackTrace", render(fault_->diagnostic, session_->program().source(), false));
  body.set("exceptionId", to_string(fault_->diagnostic.code));
  body.set("description", fault_->diagnostic.message);
  body.set("breakMode", "always").set("details", std::move(details));
  return body;
}

}  // namespace tilevm::vm::dap
