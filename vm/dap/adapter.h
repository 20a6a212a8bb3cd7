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
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "isa/base/origin.h"
#include "isa/base/result.h"
#include "sim/debug/session.h"
#include "vm/debug/code_listing.h"
#include "vm/debug/debugger.h"
#include "vm/text/json.h"

namespace tilevm::vm::dap {

/// What a client launches.
struct LaunchArguments {
  std::string program;  ///< path of a program, or of the folder of a bundle
  std::vector<std::string> defines, inputs;
  std::vector<std::string> folders = {};  ///< further folders from which files are included
  std::string entry;
  std::string target;  ///< empty: the command's default
  std::uint64_t seed = 0;
  bool wild = false;
  bool exact = false;                           ///< numbers of files are not rounded
  std::uint64_t memory = 512;                   ///< MiB that snapshots may take
  std::optional<std::uint64_t> max_steps = {};  ///< most steps of a block
};

/// What a launch gives.
struct Launched {
  std::unique_ptr<sim::debug::Session> session;
  std::vector<std::string> notes = {};  ///< warnings, and what of the inputs was rounded
  /// `diff` of the console (DebuggerOptions); may be null.
  std::function<Result<std::string>(const std::string& engine)> compare = {};
};

/// What the adapter needs of the world around it.
struct Host {
  /// Loads a program and makes a session. The client receives errors.
  std::function<Result<Launched>(const LaunchArguments& arguments)> open;
  std::function<void(const Json& message)> send;
};

class Adapter {
 public:
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
  void read_client(const Object& arguments);

  // Stops (adapter_stops.cc).
  Answer set_breakpoints(const Object& arguments);
  Answer set_function_breakpoints(const Object& arguments);
  Answer set_data_breakpoints(const Object& arguments);
  Answer data_breakpoint_info(const Object& arguments);
  Answer exception_info(const Object& arguments);
  Answer breakpoint_locations(const Object& arguments);
  Json place_breakpoint(sim::debug::command::Break request, const Object& wanted,
                        std::vector<int>& placed);
  Json place_data_breakpoint(const Object& wanted);
  void remove(std::vector<int>& placed);
  [[nodiscard]] Result<std::string> watched_text(const Object& arguments);

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

  // Looking (adapter_look.cc, adapter_values.cc, adapter_memory.cc, adapter_code.cc).
  Answer threads(const Object& arguments);
  Answer stack_trace(const Object& arguments);
  Answer scopes(const Object& arguments);
  Answer variables(const Object& arguments);
  Answer set_variable(const Object& arguments);
  Answer evaluate(const Object& arguments);
  Answer set_expression(const Object& arguments);
  Answer change(const std::string& what, const std::string& value);
  Answer completions(const Object& arguments);
  Answer say_line(const std::string& text);
  void tell_change();
  Answer read_memory(const Object& arguments);
  Answer write_memory(const Object& arguments);
  Answer disassemble(const Object& arguments);
  [[nodiscard]] Result<const std::vector<CodeLine>*> code();
  [[nodiscard]] std::optional<std::string> code_address(sim::debug::SourceLine line);
  void focus(const Object& arguments);
  void focus_thread(std::int64_t id);
  void focus_frame(const Object& arguments);
  [[nodiscard]] std::int64_t thread_id();
  [[nodiscard]] Json frame_json(const std::string& name, Span span, int number);
  Json origin_json(const Origin& origin);

  // Files (adapter_files.cc).
  Answer source(const Object& arguments);
  Answer loaded_sources(const Object& arguments);
  [[nodiscard]] Json source_json(std::size_t file);
  [[nodiscard]] std::optional<std::size_t> file_of(const Object& arguments);

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
  /// What the client understands: it receives nothing else.
  struct Client {
    bool lines_from_one = true, columns_from_one = true;
    bool progress = false, styles = false, types = false, paging = false;
    bool memory_references = false, memory_events = false, invalidated_events = false;
  };

  std::ostringstream said_;            ///< what the console said
  std::unique_ptr<Debugger> console_;  ///< has the session
  sim::debug::Session* session_ = nullptr;
  std::int64_t sequence_ = 1;
  Client client_;
  bool stops_on_entry_ = false, cuda_threads_ = false, configured_ = false;
  std::int64_t progress_ = 0;                   ///< the number of the last progress that began
  std::optional<sim::debug::Command> pending_;  ///< runs after the response is sent
  std::map<std::size_t, std::vector<int>> line_stops_;  ///< lines with breakpoints, by file
  /// Lines with breakpoints, by files that the program comes from.
  std::map<std::string, std::vector<int>> origin_stops_;
  std::vector<int> function_stops_, data_stops_;
  std::map<int, std::string> logs_;  ///< messages of logpoints, by breakpoint
  std::optional<sim::Fault> fault_;  ///< fault of the last stop
  std::vector<Container> containers_;
  std::vector<std::int64_t> frames_;         ///< threads of the frames, by number of the frame
  std::vector<sim::debug::Moment> targets_;  ///< moments of the last gotoTargets, and of `why`
  CodeKind code_kind_ = CodeKind::cuda;      ///< kind of code that `disassemble` shows
  std::optional<std::vector<CodeLine>> code_;
  std::optional<Error> no_code_;
  bool done_ = false;
};

}  // namespace tilevm::vm::dap
