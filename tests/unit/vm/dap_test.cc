// `tilevm dap`: a client's messages and what comes back, without an editor.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "vm/dap/adapter.h"
#include "vm/dap/transport.h"
#include "vm/debug/open.h"
#include "vm/debug/target.h"
#include "vm/text/message_header.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;
namespace json = boost::json;

/// Appends a message to the file that TILEVM_DAP_RECORD names: tests/editors/dap_test.py holds all
/// of them against the protocol's schema.
void record(const char* from, const json::object& message, bool valid) {
  const char* path = std::getenv("TILEVM_DAP_RECORD");
  if (path == nullptr) return;
  const json::object entry{{"from", from}, {"message", message}, {"valid", valid}};
  std::ofstream(path, std::ios::app) << json::serialize(entry) << '\n';
}

/// A client that keeps what it is sent.
class Client {
 public:
  Client()
      : adapter_({[](const dap::LaunchArguments& launch) { return open(launch); },
                  [this](const Json& message) {
                    sent_.push_back(json::parse(message.text()).as_object());
                    record("adapter", sent_.back(), true);
                  }}) {}

  /// Sends a request, which is as the protocol wants it unless it says so; gives its response.
  json::object request(const std::string& command, const std::string& arguments = "{}",
                       bool valid = true) {
    sent_.clear();
    json::object message;
    message["seq"] = ++sequence_;
    message["type"] = "request";
    message["command"] = command;
    message["arguments"] = json::parse(arguments);
    record("client", message, valid);
    goes_on_ = adapter_.handle(message);
    for (const json::object& answer : sent_) {
      if (answer.at("type") != "response") continue;
      CHECK(answer.at("request_seq") == sequence_);
      CHECK(answer.at("command") == json::value(command));
      return answer;
    }
    FAIL("no response to ", command);
    return {};
  }
  /// The body of a response that must be a success.
  json::object body(const std::string& command, const std::string& arguments = "{}") {
    const json::object response = request(command, arguments);
    INFO(json::serialize(response));
    REQUIRE(response.at("success").as_bool());
    const json::value* const found = response.if_contains("body");
    return found != nullptr && found->is_object() ? found->get_object() : json::object();
  }
  /// The body of the last event of a kind since the last request, which must be there.
  json::object event(const std::string& name) {
    for (auto at = sent_.rbegin(); at != sent_.rend(); ++at) {
      if (at->at("type") == "event" && at->at("event") == json::value(name)) {
        return at->at("body").as_object();
      }
    }
    FAIL("no event ", name);
    return {};
  }
  int line() {
    const json::object trace = body("stackTrace", R"({"threadId": 1})");
    return static_cast<int>(trace.at("stackFrames").at(0).at("line").as_int64());
  }
  bool goes_on() const { return goes_on_; }
  bool handle(const json::object& message) { return adapter_.handle(message); }

  /// Up to the first stop.
  void start(const std::string& program, const std::string& more = "") {
    const json::object can = body("initialize", R"({"adapterID": "tilevm", "linesStartAt1": true,
                               "supportsVariableType": true, "supportsVariablePaging": true,
                               "supportsMemoryReferences": true, "supportsMemoryEvent": true,
                               "supportsInvalidatedEvent": true})");
    CHECK(can.at("supportsStepBack").as_bool());
    CHECK(can.at("supportsDataBreakpoints").as_bool());
    body("launch", R"({"program": ")" + std::string(TILEVM_SOURCE_DIR) + "/" + program +
                       "\", \"stopOnEntry\": true" + more + "}");
    event("initialized");
    body("configurationDone");
    CHECK(event("stopped").at("reason") == "entry");
  }

 private:
  static Result<dap::Launched> open(const dap::LaunchArguments& launch) {
    TargetRequest request;
    request.path = launch.program;
    request.defines = launch.defines;
    request.entry = launch.entry;
    request.data.inputs = launch.inputs;
    Result<FoundTarget> found = find_target(request);
    if (!found) return found.error();
    if (!found->target) return Error{ErrorKind::program, "the program has an error"};
    auto session = open_session(found->target->program, found->target->entry,
                                std::move(found->target->tensors), {});
    if (!session) return session.error();
    return dap::Launched{*std::move(session)};
  }

  std::vector<json::object> sent_;
  dap::Adapter adapter_;
  std::int64_t sequence_ = 0;
  bool goes_on_ = true;
};

const std::string small_figure2 =
    R"(, "defines": {"M": 16, "N": 8, "K": 32}, "inputs": ["a_ptr=full:1"])";

TEST_CASE("dap: breakpoints, steps and steps back") {
  Client client;
  client.start("programs/figure2.tile", small_figure2);
  const json::object set = client.body(
      "setBreakpoints",
      R"({"source": {}, "breakpoints": [{"line": 22, "condition": "bk == 1"}, {"line": 999}]})");
  CHECK(set.at("breakpoints").at(0).at("verified").as_bool());
  CHECK(set.at("breakpoints").at(0).at("line") == 22);
  CHECK_FALSE(set.at("breakpoints").at(1).at("verified").as_bool());

  client.body("continue", R"({"threadId": 1})");
  const json::object stop = client.event("stopped");
  CHECK(stop.at("reason") == "breakpoint");
  CHECK(stop.at("hitBreakpointIds").at(0) == set.at("breakpoints").at(0).at("id"));
  CHECK(client.line() == 22);
  client.body("stepBack", R"({"threadId": 1})");
  CHECK(client.line() == 21);
  client.body("next", R"({"threadId": 1})");
  CHECK(client.line() == 22);
  client.body("stepOut", R"({"threadId": 1})");
  CHECK(client.line() == 23);
  client.body("reverseContinue", R"({"threadId": 1})");
  CHECK(client.line() == 22);
  client.body("tilevm/reverseStepOut", R"({"threadId": 1})");
  CHECK(client.line() == 17);
  client.body("setBreakpoints", R"({"source": {}, "breakpoints": []})");
  client.body("setFunctionBreakpoints", R"({"breakpoints": [{"name": "StoreGlobal"}]})");
  client.body("continue", R"({"threadId": 1})");
  CHECK(client.line() == 24);
  const json::object targets = client.body("gotoTargets", R"({"source": {}, "line": 16})");
  client.body("goto", json::serialize(json::object{
                          {"threadId", 1}, {"targetId", targets.at("targets").at(0).at("id")}}));
  CHECK(client.line() == 16);
}

TEST_CASE("dap: scopes, tensors by dimensions, values, changes") {
  Client client;
  client.start("programs/figure2.tile", small_figure2);
  client.body("setFunctionBreakpoints", R"({"breakpoints": [{"name": "Dot"}]})");
  client.body("continue", R"({"threadId": 1})");
  const json::object scopes = client.body("scopes", R"({"frameId": 1})");
  const auto variables = [&](const json::value& of, const std::string& more = "") {
    return client
        .body("variables", R"({"variablesReference": )" +
                               json::serialize(of.at("variablesReference")) + more + "}")
        .at("variables")
        .as_array();
  };
  const json::array registers = variables(scopes.at("scopes").at(1));
  const auto named = [](const json::array& list, const std::string& name) {
    for (const json::value& item : list) {
      if (item.at("name") == json::value(name)) return item;
    }
    FAIL("no variable ", name);
    return json::value();
  };
  const json::value a = named(registers, "a");
  CHECK(a.at("indexedVariables") == 16);
  const json::array rows = variables(a, R"(, "start": 2, "count": 3)");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("name") == "[2]");
  CHECK(variables(rows[0]).at(5).at("value") == "1");
  CHECK(variables(rows[0], R"(, "format": {"hex": true})").at(5).at("value") == "0x3c00");
  CHECK(variables(a, R"(, "start": 100, "count": 3)").empty());
  CHECK(named(variables(scopes.at("scopes").at(0)), "bk").at("value") == "0");

  const json::object changed =
      client.body("setVariable", R"({"variablesReference": )" +
                                     json::serialize(rows[0].at("variablesReference")) +
                                     R"(, "name": "[2, 5]", "value": "2.5"})");
  CHECK(changed.at("value") == "2.5");
  client.event("invalidated");
  CHECK(client.body("evaluate", R"({"expression": "a[2, 5] + 1", "context": "watch"})")
            .at("result") == "3.5");
  const json::object repl =
      client.body("evaluate", R"({"expression": "why a[2, 6]", "context": "repl"})");
  CHECK(std::string(repl.at("result").as_string()).find("by line 18") != std::string::npos);
}

TEST_CASE("dap: data breakpoints and memory") {
  Client client;
  client.start("tests/filetests/debug/rotated_rows.tile", R"(, "inputs": {"x_ptr": "iota"})");
  client.body("evaluate", R"({"expression": "goto @3", "context": "repl"})");
  const json::object info = client.body("dataBreakpointInfo", R"({"name": "s[0, 0]"})");
  client.body("setDataBreakpoints",
              json::serialize(json::object{{"breakpoints", {{{"dataId", info.at("dataId")}}}}}));
  client.body("continue", R"({"threadId": 1})");
  CHECK(client.event("stopped").at("reason") == "data breakpoint");
  // s[0, 0] is x[3, 0] = 96, 0x42c00000.
  const json::object bytes =
      client.body("readMemory", R"({"memoryReference": "s", "offset": 0, "count": 4})");
  CHECK(bytes.at("data") == "AADAQg==");
  client.body("writeMemory", R"({"memoryReference": "s", "offset": 0, "data": "AACAPw=="})");
  client.event("memory");
  CHECK(client.body("evaluate", R"({"expression": "s[0, 0]", "context": "hover"})").at("result") ==
        "1");
  const json::object bytes_of_s =
      client.body("dataBreakpointInfo", R"({"name": "s+4", "asAddress": true, "bytes": 8})");
  const json::object placed = client.body(
      "setDataBreakpoints",
      json::serialize(json::object{{"breakpoints", {{{"dataId", bytes_of_s.at("dataId")}}}}}));
  CHECK(placed.at("breakpoints").at(0).at("verified").as_bool());
  client.body("reverseContinue", R"({"threadId": 1})");
  CHECK(client.line() == 12);
  const json::object past =
      client.body("readMemory", R"({"memoryReference": "s", "offset": 100000, "count": 4})");
  CHECK(past.at("unreadableBytes") == 4);
  CHECK_FALSE(client.request("readMemory", R"({"memoryReference": "row", "count": 4})")
                  .at("success")
                  .as_bool());
}

TEST_CASE("dap: a scalar is watched, which has no address") {
  Client client;
  client.start("tests/filetests/debug/scalars.tile", R"(, "inputs": {"table": "iota"})");
  client.body("evaluate", R"({"expression": "break 16 if b == 3", "context": "repl"})");
  client.body("continue", R"({"threadId": 1})");
  client.event("stopped");
  const json::object info = client.body("dataBreakpointInfo", R"({"name": "total"})");
  REQUIRE(info.at("dataId") == "total");
  const json::object placed = client.body(
      "setDataBreakpoints",
      json::serialize(json::object{{"breakpoints", {{{"dataId", info.at("dataId")}}}}}));
  CHECK(placed.at("breakpoints").at(0).at("verified").as_bool());
  client.body("evaluate", R"({"expression": "delete 1", "context": "repl"})");
  client.body("continue", R"({"threadId": 1})");
  CHECK(client.event("stopped").at("reason") == "data breakpoint");
  CHECK(client.body("evaluate", R"({"expression": "total", "context": "hover"})").at("result") ==
        "1");
  CHECK(client.body("dataBreakpointInfo", R"({"name": "total", "bytes": 4})").at("dataId") ==
        json::value());
}

TEST_CASE("dap: a fault stops, with its report") {
  Client client;
  client.start("tests/filetests/faults/race_read.tile");
  client.body("continue", R"({"threadId": 1})");
  CHECK(client.event("stopped").at("reason") == "exception");
  const json::object info = client.body("exceptionInfo", R"({"threadId": 1})");
  CHECK(info.at("exceptionId") == "TV0406");
  client.body("stepBack", R"({"threadId": 1})");
  CHECK(client.line() == 4);
  client.body("disconnect");
  CHECK_FALSE(client.goes_on());
}

TEST_CASE("dap: a statement as CUDA C++") {
  Client client;
  client.start("programs/figure2.tile", small_figure2);
  client.body("setFunctionBreakpoints", R"({"breakpoints": [{"name": "Dot"}]})");
  client.body("continue", R"({"threadId": 1})");
  const json::object trace = client.body("stackTrace", R"({"threadId": 1})");
  const json::object shown = client.body(
      "disassemble",
      json::serialize(json::object{
          {"memoryReference", trace.at("stackFrames").at(0).at("instructionPointerReference")},
          {"instructionCount", 6}}));
  const json::array& code = shown.at("instructions").as_array();
  const auto has = [](const json::value& line, std::string_view text) {
    return std::string_view(line.at("instruction").as_string()).find(text) != std::string::npos;
  };
  CHECK(has(code.front(), "// Dot(a, b2, acc"));
  CHECK(std::any_of(code.begin(), code.end(),
                    [&](const json::value& line) { return has(line, "mma_m16n8k16"); }));
  CHECK(code.front().at("line") == 22);
  client.body("disassemble", R"({"memoryReference": "0x0", "instructionCount": 5,
                                  "instructionOffset": -1000000})");
}

TEST_CASE("dap: a logpoint tells and goes on") {
  Client client;
  client.start("programs/figure2.tile", small_figure2);
  client.body("setBreakpoints",
              R"({"source": {}, "breakpoints": [{"line": 18, "logMessage": "bk is {bk}"}]})");
  client.body("continue", R"({"threadId": 1})");
  CHECK(std::string(client.event("output").at("output").as_string()).find("end of the run") !=
        std::string::npos);
}

TEST_CASE("dap: nothing that a client sends ends the adapter") {
  Client client;
  CHECK_FALSE(client.request("next", R"({"threadId": 1})").at("success").as_bool());
  CHECK_FALSE(client.request("launch", "{}").at("success").as_bool());
  CHECK_FALSE(client.request("launch", R"({"program": "/no/such/file"})").at("success").as_bool());
  CHECK_FALSE(client.request("fly").at("success").as_bool());
  CHECK(client.handle({}));
  CHECK(client.handle({{"type", "request"}, {"command", 7}}));
  client.start("programs/figure2.tile", small_figure2);
  for (const char* const command :
       {"setBreakpoints", "setDataBreakpoints", "variables", "setVariable", "evaluate", "goto",
        "readMemory", "writeMemory", "completions", "gotoTargets", "exceptionInfo", "stackTrace",
        "dataBreakpointInfo", "scopes", "threads", "pause", "cancel"}) {
    CAPTURE(command);
    client.request(command, "{}", false);
    client.request(command, R"({"breakpoints": 3, "variablesReference": -9, "line": "x",
                                "text": 1, "column": 1e300, "threadId": 1e18, "start": -5})",
                   false);
    CHECK(client.goes_on());
  }
}

TEST_CASE("dap: messages arrive in any pieces") {
  dap::MessageReader reader;
  const std::string two = with_header("{\"a\":1}") + with_header("{}");
  std::vector<std::string> read;
  for (const char c : two) {
    reader.add({&c, 1});
    while (true) {
      const auto message = reader.next();
      REQUIRE(message.ok());
      if (!*message) break;
      read.push_back(**message);
    }
  }
  CHECK(read == std::vector<std::string>{"{\"a\":1}", "{}"});
  for (const char* const bad : {"Content-Length: x\r\n\r\n", "Length: 3\r\n\r\n{}",
                                "Content-Length: 99999999999\r\n\r\n"}) {
    dap::MessageReader broken;
    broken.add(bad);
    CHECK_FALSE(broken.next().ok());
  }
}

}  // namespace
