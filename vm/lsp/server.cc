#include "vm/lsp/server.h"

#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "vm/lsp/session.h"
#include "vm/lsp/wire.h"
#include "vm/text/json_line.h"

namespace tilevm::vm {

namespace {

using Object = boost::json::object;
using Value = boost::json::value;

/// The id of a request as JSON: a number or a string; nothing for anything else.
std::optional<Json> id_of(const Object& message) {
  const Value* id = message.if_contains("id");
  if (id == nullptr) return std::nullopt;
  if (const auto* number = id->if_int64()) return Json(*number);
  if (const auto* text = id->if_string()) return Json(std::string_view(*text));
  return std::nullopt;
}

class Server {
 public:
  Server(std::istream& in, std::ostream& out, std::string version)
      : wire_(in, out), session_(std::move(version)) {}

  int run() {
    while (!exited_ && alive_) {
      take_in(queue_.empty() && !session_.is_dirty());
      if (!queue_.empty()) {
        const Incoming next = std::move(queue_.front());
        queue_.pop_front();
        handle(next);
      } else if (session_.is_dirty()) {
        send(envelope()
                 .set("method", "textDocument/publishDiagnostics")
                 .set("params", session_.take_diagnostics()));
      } else if (ended_) {
        break;
      }
    }
    if (!alive_ || not_ours_) return 2;
    return session_.shut_down() ? 0 : 1;
  }

 private:
  struct Incoming {
    Value message;
    std::optional<Refusal> wrong;  ///< reason why the message is refused
  };
  // ---- messages

  static constexpr std::size_t most_waiting = 1024;

  /// Takes in what has arrived; waits for a message if there is nothing else to do.
  void take_in(bool wait) {
    std::string text;
    while (!ended_ && queue_.size() < most_waiting) {
      switch (wire_.read(text, wait)) {
        case Wire::Got::message:
          queue_.push_back(parse(text));
          break;
        case Wire::Got::nothing:
          return;
        case Wire::Got::skipped:
          queue_.push_back({{},
                            Refusal{Fault::invalid_request,
                                    fmt::format("a message needs a header `Content-Length: N`, and "
                                                "has at most {} bytes",
                                                Wire::max_message)}});
          break;
        case Wire::Got::not_ours:
          queue_.push_back({{},
                            Refusal{Fault::parse_error,
                                    "this is not a language server protocol: there is no header"}});
          not_ours_ = ended_ = true;
          break;
        case Wire::Got::end:
          ended_ = true;
          break;
      }
      wait = false;
    }
  }

  static Incoming parse(const std::string& text) {
    boost::system::error_code error;
    Value value = boost::json::parse(text, error);
    if (error) return {{}, Refusal{Fault::parse_error, "this is not JSON: " + error.message()}};
    if (!value.is_object()) {
      return {{}, Refusal{Fault::invalid_request, "a message is one JSON object"}};
    }
    return {std::move(value), std::nullopt};
  }

  void send(Json message) {
    if (!wire_.write(message.text())) alive_ = false;
  }
  static Json envelope() {
    Json message = Json::object();
    return message.set("jsonrpc", "2.0");
  }
  void answer(const Json& id, Json result) {
    send(envelope().set("id", id).set("result", std::move(result)));
  }
  void refuse(const Json& id, const Refusal& refusal) {
    Json error = Json::object();
    error.set("code", static_cast<int>(refusal.fault)).set("message", refusal.message);
    send(envelope().set("id", id).set("error", std::move(error)));
  }

  void handle(const Incoming& incoming) {
    if (incoming.wrong) return refuse({}, *incoming.wrong);
    const Object& message = incoming.message.get_object();
    const Value* method = message.if_contains("method");
    const std::optional<Json> id = id_of(message);
    if (method == nullptr || !method->is_string()) {
      // Answers to requests that this server never makes are left out.
      if (message.contains("result") || message.contains("error")) return;
      return refuse(id.value_or(Json()), {Fault::invalid_request, "`method` is missing"});
    }
    const Value* params = message.if_contains("params");
    const Object none;
    const bool has_object = params != nullptr && params->is_object();
    const Object& given = has_object ? params->get_object() : none;
    const std::string name = std::string(std::string_view(method->get_string()));
    if (!id) {
      if (!message.contains("id")) return notify(name, given);
      return refuse({}, {Fault::invalid_request, "`id` must be a number or a string"});
    }
    if (is_cancelled(*id)) return refuse(*id, {Fault::cancelled, "cancelled"});
    respond(*id, name, given);
  }

  void respond(const Json& id, const std::string& name, const Object& params) {
    const Session::Request* method = session_.request(name);
    if (method == nullptr) {
      return refuse(id, {Fault::method_not_found, fmt::format("there is no method `{}`", name)});
    }
    if (!session_.initialized() && name != "initialize") {
      return refuse(id, {Fault::not_initialized, "`initialize` must come first"});
    }
    if (session_.shut_down())
      return refuse(id, {Fault::invalid_request, "the server was shut down"});
    try {
      answer(id, (*method)(params));
    } catch (const Refusal& refusal) {
      refuse(id, refusal);
    } catch (const std::bad_alloc&) {
      refuse(id, {Fault::internal_error, "out of memory"});
    } catch (const std::exception& error) {
      refuse(id, {Fault::invalid_params,
                  fmt::format("parameters of `{}`: {}", name, reason_of(error))});
    }
  }

  /// A notification has no answer, so a wrong one is left out.
  void notify(const std::string& name, const Object& params) {
    if (name == "exit") {
      exited_ = true;
      return;
    }
    const Session::Notification* method = session_.notification(name);
    if (method == nullptr || !session_.initialized() || session_.shut_down()) return;
    try {
      (*method)(params);
    } catch (const std::exception& error) {
      log(fmt::format("parameters of `{}`: {}", name, reason_of(error)));
    } catch (const Refusal& refusal) {
      log(refusal.message);
    }
  }

  void log(const std::string& what) {
    Json params = Json::object();
    params.set("type", 2).set("message", "tilevm: " + what);
    send(envelope().set("method", "window/logMessage").set("params", std::move(params)));
  }

  /// Whether a notification that waits cancels a request.
  [[nodiscard]] bool is_cancelled(const Json& id) const {
    for (const Incoming& waiting : queue_) {
      const auto* message = waiting.message.if_object();
      if (message == nullptr) continue;
      const Value* method = message->if_contains("method");
      if (method == nullptr || !method->is_string() || method->get_string() != "$/cancelRequest") {
        continue;
      }
      const Value* params = message->if_contains("params");
      if (params == nullptr || !params->is_object()) continue;
      const std::optional<Json> cancelled = id_of(params->get_object());
      if (cancelled && cancelled->text() == id.text()) return true;
    }
    return false;
  }

  Wire wire_;
  Session session_;
  std::deque<Incoming> queue_;
  bool exited_ = false, ended_ = false, not_ours_ = false, alive_ = true;
};

}  // namespace

int serve_language(std::istream& in, std::ostream& out, const std::string& version) {
  return Server(in, out, version).run();
}

}  // namespace tilevm::vm
