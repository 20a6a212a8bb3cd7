// What a language server knows of its client, and its methods: documents, settings, features.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/fwd.hpp>

#include "vm/lsp/across_files.h"
#include "vm/lsp/document.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// Codes of JSON-RPC and of the protocol.
enum class Fault : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  not_initialized = -32002,
  cancelled = -32800,
  request_failed = -32803,
};

/// Thrown by methods: an answer that is an error.
struct Refusal {
  Fault fault;
  std::string message;
};

class Session {
 public:
  using Object = boost::json::object;
  using Request = std::function<Json(const Object&)>;
  using Notification = std::function<void(const Object&)>;

  explicit Session(std::string version);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Methods by name; null if there is none. They throw Refusal, and what Boost.JSON throws where
  /// parameters are missing or of another type.
  [[nodiscard]] const Request* request(const std::string& name) const;
  [[nodiscard]] const Notification* notification(const std::string& name) const;

  [[nodiscard]] bool initialized() const { return initialized_; }
  [[nodiscard]] bool shut_down() const { return shut_down_; }

  /// Whether a document's diagnostics are not those of its text.
  [[nodiscard]] bool is_dirty() const { return !dirty_.empty(); }
  /// The parameters of `publishDiagnostics` for one such document.
  [[nodiscard]] Json take_diagnostics();

 private:
  struct Open {
    std::string text;
    std::string path;  ///< canonical; "-": it is not a file
    std::int64_t version = 0;
    std::optional<Analysis> analysis{};
  };
  using AtPlace = Json (*)(const DocumentView&, std::uint32_t);

  Open& open_document(const Object& params);
  const Analysis& analysis_of(const std::string& uri, Open& open) const;
  [[nodiscard]] DocumentView view_of(const std::string& uri, Open& open) const;
  [[nodiscard]] EditedText edited() const;
  [[nodiscard]] FindUri find_uri() const;
  void for_each_view(const DocumentView& asking, const std::string& name,
                     const std::function<void(const DocumentView&)>& f);
  void text_changed(const std::string& uri);
  void share_diagnostics(const std::string& uri, const DocumentView& view);
  void take_folders(const Object& params);
  template <class F>
  Json with_view(const Object& params, F&& f);
  void did_open(const Object& params);
  void did_change(const Object& params);
  void did_close(const Object& params);
  void apply(const Object& change, std::string& text) const;
  Json initialize(const Object& params);
  void take_settings(const Object& options);
  [[nodiscard]] Json capabilities() const;
  Json rename_at(const DocumentView& view, const Object& params);
  void add_at_place(const std::string& name, AtPlace feature);
  void add_of_range(const std::string& name, Json (*feature)(const DocumentView&, Span));
  void add_of_document(const std::string& name, Json (*feature)(const DocumentView&));
  void add_methods();

  std::string version_;
  Settings settings_;
  Encoding encoding_ = Encoding::utf16;
  std::map<std::string, Request> requests_;
  std::map<std::string, Notification> notifications_;
  std::map<std::string, Open> documents_;
  std::set<std::string> dirty_;
  /// By document: what it says of files that it includes, by their address.
  std::map<std::string, DiagnosticsByFile> shared_;
  std::vector<std::string> folders_;  ///< folders of the workspace
  bool initialized_ = false, shut_down_ = false;
  bool snippets_ = false;  ///< the client takes them
};

}  // namespace tilevm::vm
