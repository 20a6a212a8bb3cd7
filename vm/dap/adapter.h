// The Debug Adapter Protocol on the debugger's engine: requests in, responses and events out.
//
// https://microsoft.github.io/debug-adapter-protocol, 1.71. Threads are the blocks that have begun,
// or, if the client launches with `"threads": "cuda"`, the threads of the block in focus. A frame
// is the statement of a block; scopes are its scalars, register tiles, shared tensors and global
// tensors; tensors unfold dimension by dimension.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "isa/base/result.h"
#include "sim/debug/session.h"
#include "vm/text/json.h"

namespace tilevm::vm::dap {

/// What a client launches.
struct LaunchArguments {
  std::string program;  ///< or the folder of a bundle
  std::vector<std::string> defines, inputs;
  std::string entry;
  bool wild = false;
};

/// What the adapter needs of the world around it.
struct Host {
  /// Loads a program and makes a session. Errors are told to the client.
  std::function<Result<std::unique_ptr<sim::debug::Session>>(const LaunchArguments& arguments)>
      open;
  std::function<void(const Json& message)> send;
};

class Adapter {
 public:
  /// A line of emitted code, and the line of the program that it comes from.
  struct EmittedLine {
    int line = 0;
    std::string text;
  };

  explicit Adapter(Host host) : host_(std::move(host)) {}

  /// Answers a request; false after `disconnect`. Nothing that a client sends ends the adapter.
  bool handle(const boost::json::object& message);
  /// Tells that a request takes long, that it goes on, and that it has ended; nothing to a client
  /// that shows no progress.
  enum class Progress : std::uint8_t { begins, goes_on, ends };
  void tell(Progress progress, double seconds);

 private:
  using Object = boost::json::object;
  using Answer = Result<Json>;  ///< the body of a response

  struct Request {
    const char* name;
    Answer (Adapter::*answer)(const Object& arguments);
    bool needs_session = true;
  };
  static const std::vector<Request>& requests();

  // Beginning and end (adapter.cc).
  Answer initialize(const Object& arguments);
  Answer launch(const Object& arguments);
  Answer configuration_done(const Object& arguments);
  Answer terminate(const Object& arguments);
  Answer nothing(const Object& arguments);

  // Stops (adapter_stops.cc).
  Answer set_breakpoints(const Object& arguments);
  Answer set_function_breakpoints(const Object& arguments);
  Answer set_data_breakpoints(const Object& arguments);
  Answer data_breakpoint_info(const Object& arguments);
  Answer exception_info(const Object& arguments);
  Json place_breakpoint(sim::debug::command::Break request, const Object& wanted,
                        std::vector<int>& placed);

  // Moving (adapter_move.cc).
  Answer move_continue(const Object& arguments);
  Answer move_next(const Object& arguments);
  Answer move_in(const Object& arguments);
  Answer move_out(const Object& arguments);
  Answer move_back(const Object& arguments);
  Answer move_reverse(const Object& arguments);
  Answer move_reverse_next(const Object& arguments);
  Answer move_reverse_out(const Object& arguments);
  Answer pause(const Object& arguments);
  Answer goto_targets(const Object& arguments);
  Answer move_goto(const Object& arguments);
  Answer move(sim::debug::Command command, Json body);
  void run_pending();
  void tell_stop(const sim::debug::reply::Stopped& stop);
  [[nodiscard]] bool log_and_go_on(const sim::debug::reply::Stopped& stop);

  // Looking (adapter_look.cc, adapter_memory.cc, adapter_code.cc).
  Answer threads(const Object& arguments);
  Answer stack_trace(const Object& arguments);
  Answer scopes(const Object& arguments);
  Answer variables(const Object& arguments);
  Answer set_variable(const Object& arguments);
  Answer evaluate(const Object& arguments);
  Answer completions(const Object& arguments);
  Answer read_memory(const Object& arguments);
  Answer write_memory(const Object& arguments);
  Answer source(const Object& arguments);
  Answer disassemble(const Object& arguments);
  [[nodiscard]] Json source_json();
  void focus(const Object& arguments);
  [[nodiscard]] std::int64_t thread_id();

  /// What a reference to variables stands for.
  struct Container {
    enum class Kind : std::uint8_t { scalars, registers, shared, global, tensor };
    Kind kind{};
    std::string tensor;
    isa::Index prefix;  ///< the leading indices
  };
  [[nodiscard]] std::int64_t reference(Container container);
  [[nodiscard]] Json list_tensors(Container::Kind kind);
  [[nodiscard]] Result<Json> list_elements(const Container& container, std::int64_t start,
                                           std::int64_t count, bool hex);
  [[nodiscard]] Json tensor_json(const sim::debug::Tensor& tensor);

  void respond(const Object& request, const Answer& answer);
  void event(const char* name, Json body);
  void output(const std::string& text, const char* category);

  Host host_;
  std::unique_ptr<sim::debug::Session> session_;
  std::int64_t sequence_ = 1;
  bool lines_from_one_ = true, columns_from_one_ = true;
  bool stops_on_entry_ = true, cuda_threads_ = false, configured_ = false;
  bool shows_progress_ = false;
  std::int64_t progress_ = 0;                   ///< the number of the last progress that began
  bool styles_ = false;                         ///< the client shows ANSI styles
  std::optional<sim::debug::Command> pending_;  ///< runs after the response is sent
  std::vector<int> line_stops_, function_stops_, data_stops_;
  std::map<int, std::string> logs_;  ///< messages of logpoints, by breakpoint
  std::optional<sim::Fault> fault_;  ///< of the last stop
  std::vector<Container> containers_;
  std::vector<sim::debug::Moment> targets_;  ///< of the last gotoTargets, and of `why`
  std::vector<EmittedLine> emitted_;
  bool done_ = false;
};

}  // namespace tilevm::vm::dap
