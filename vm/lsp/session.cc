#include "vm/lsp/session.h"

#include <initializer_list>
#include <string_view>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "isa/numeric/target.h"
#include "vm/lsp/across_files.h"
#include "vm/lsp/features.h"
#include "vm/lsp/wire.h"

namespace tilevm::vm {

namespace {

using Object = boost::json::object;
using Value = boost::json::value;

constexpr std::size_t most_documents = 512;

std::string text_of(const Value& value) { return std::string(std::string_view(value.as_string())); }

Position position_of(const Value& value) {
  const Object& object = value.as_object();
  return {object.at("line").to_number<std::int64_t>(),
          object.at("character").to_number<std::int64_t>()};
}

Span span_of(const DocumentView& view, const Object& params) {
  const Object& range = params.at("range").as_object();
  return {view.offset(position_of(range.at("start"))), view.offset(position_of(range.at("end")))};
}

bool wants_definitions(const Object& params) {
  boost::system::error_code missing;
  const Value whole(params);
  const Value* wanted = whole.find_pointer("/context/includeDeclaration", missing);
  return wanted == nullptr || !wanted->is_bool() || wanted->get_bool();
}

}  // namespace

Session::Session(std::string version)
    : version_(std::move(version)), settings_{{}, *isa::parse_target("sm_90")} {
  add_methods();
}

const Session::Request* Session::request(const std::string& name) const {
  const auto found = requests_.find(name);
  return found == requests_.end() ? nullptr : &found->second;
}

const Session::Notification* Session::notification(const std::string& name) const {
  const auto found = notifications_.find(name);
  return found == notifications_.end() ? nullptr : &found->second;
}

Json Session::take_diagnostics() {
  const std::string uri = *dirty_.begin();
  dirty_.erase(dirty_.begin());
  Json params = Json::object();
  params.set("uri", uri);
  Json list = Json::array();
  std::set<std::string> seen;
  const auto found = documents_.find(uri);
  if (found != documents_.end()) {
    const DocumentView view = view_of(uri, found->second);
    list = diagnostics_of(view);
    for (const Diagnostic& one : view.analysis().diagnostics.sorted()) seen.insert(one.message);
    share_diagnostics(uri, view);
    params.set("version", found->second.version);
  }
  for (const auto& [other, by_file] : shared_) {
    const auto here = by_file.find(uri);
    if (other == uri || here == by_file.end()) continue;
    for (const auto& [message, diagnostic] : here->second) {
      if (seen.insert(message).second) list.push(diagnostic);
    }
  }
  return params.set("diagnostics", std::move(list));
}

Session::Open& Session::open_document(const Object& params) {
  const std::string uri = text_of(params.at("textDocument").as_object().at("uri"));
  const auto found = documents_.find(uri);
  if (found == documents_.end()) {
    throw Refusal{Fault::invalid_params, fmt::format("`{}` is not open", uri)};
  }
  return found->second;
}

const Analysis& Session::analysis_of(const std::string& uri, Open& open) const {
  if (!open.analysis) open.analysis = analyse(uri, open.text, settings_, edited());
  return *open.analysis;
}

DocumentView Session::view_of(const std::string& uri, Open& open) const {
  return {analysis_of(uri, open), uri, encoding_, find_uri()};
}

/// Calls f(view) for the document of a request.
template <class F>
Json Session::with_view(const Object& params, F&& f) {
  Open& open = open_document(params);
  const std::string uri = text_of(params.at("textDocument").as_object().at("uri"));
  return f(view_of(uri, open));
}

void Session::did_open(const Object& params) {
  const Object& document = params.at("textDocument").as_object();
  const std::string uri = text_of(document.at("uri"));
  if (documents_.size() >= most_documents && !documents_.contains(uri)) {
    throw Refusal{
        Fault::invalid_params,
        fmt::format("more than {} files are open; `{}` is left out", most_documents, uri)};
  }
  documents_[uri] = {text_of(document.at("text")), path_of(uri),
                     document.at("version").to_number<std::int64_t>()};
  text_changed(uri);
}

void Session::did_change(const Object& params) {
  Open& open = open_document(params);
  const Object& document = params.at("textDocument").as_object();
  for (const Value& change : params.at("contentChanges").as_array()) {
    apply(change.as_object(), open.text);
  }
  if (const Value* version = document.if_contains("version")) {
    if (version->is_number()) open.version = version->to_number<std::int64_t>();
  }
  open.analysis.reset();
  text_changed(text_of(document.at("uri")));
}

void Session::apply(const Object& change, std::string& text) const {
  std::string replacement = text_of(change.at("text"));
  const Value* range = change.if_contains("range");
  if (range == nullptr) {
    text = std::move(replacement);
    return;
  }
  const SourceFile source("", text);
  const Object& places = range->as_object();
  const std::uint32_t begin = to_offset(source, position_of(places.at("start")), encoding_);
  const std::uint32_t end = to_offset(source, position_of(places.at("end")), encoding_);
  if (end < begin) return;
  if (text.size() - (end - begin) + replacement.size() > Wire::max_message) {
    throw Refusal{Fault::invalid_params, "the text is too large"};
  }
  text.replace(begin, end - begin, replacement);
}

void Session::did_close(const Object& params) {
  const std::string uri = text_of(params.at("textDocument").as_object().at("uri"));
  documents_.erase(uri);
  for (const auto& [file, list] : shared_[uri]) dirty_.insert(file);
  shared_.erase(uri);
  text_changed(uri);
}

Json Session::initialize(const Object& params) {
  initialized_ = true;
  if (const Value* options = params.if_contains("initializationOptions")) {
    if (options->is_object()) take_settings(options->get_object());
  }
  take_folders(params);
  encoding_ = Encoding::utf16;
  boost::system::error_code missing;
  const Value whole(params);
  const Value* encodings = whole.find_pointer("/capabilities/general/positionEncodings", missing);
  if (encodings != nullptr && encodings->is_array()) {
    for (const Value& one : encodings->get_array()) {
      if (one.is_string() && one.get_string() == "utf-8") encoding_ = Encoding::utf8;
    }
  }
  const Value* snippets = whole.find_pointer(
      "/capabilities/textDocument/completion/completionItem/snippetSupport", missing);
  snippets_ = snippets != nullptr && snippets->is_bool() && snippets->get_bool();
  Json info = Json::object();
  info.set("name", "tilevm").set("version", version_);
  Json result = Json::object();
  return result.set("capabilities", capabilities()).set("serverInfo", std::move(info));
}

/// {"target": "sm_90a", "defines": {"M": "64"}, "include": ["../layouts"]}
void Session::take_settings(const Object& options) {
  if (const Value* target = options.if_contains("target"); target && target->is_string()) {
    const Result<isa::Target> parsed = isa::parse_target(text_of(*target));
    if (!parsed) throw Refusal{Fault::invalid_params, parsed.error().message};
    settings_.target = *parsed;
  }
  if (const Value* defines = options.if_contains("defines"); defines && defines->is_object()) {
    for (const auto& [name, value] : defines->get_object()) {
      settings_.defines.push_back(
          {std::string(std::string_view(name)),
           value.is_string() ? text_of(value) : boost::json::serialize(value)});
    }
  }
  if (const Value* folders = options.if_contains("include"); folders && folders->is_array()) {
    for (const Value& folder : folders->get_array()) {
      if (folder.is_string()) settings_.folders.push_back(text_of(folder));
    }
  }
}

Json Session::capabilities() const {
  const auto list = [](std::initializer_list<const char*> words) {
    Json array = Json::array();
    for (const char* word : words) array.push(word);
    return array;
  };
  const auto object = [] { return Json::object(); };
  Json sync = object();
  sync.set("openClose", true).set("change", 2);
  Json completion = object();
  completion.set("triggerCharacters", list({".", "@", "("}));
  Json signature = object();
  signature.set("triggerCharacters", list({"(", ","}));
  Json actions = object();
  actions.set("codeActionKinds", list({"quickfix", "source.fixAll"}));
  Json renaming = object();
  renaming.set("prepareProvider", true);
  Json lenses = object();
  lenses.set("resolveProvider", false);
  Json tokens = object();
  tokens.set("legend", token_legend()).set("full", true);
  Json all = object();
  all.set("positionEncoding", encoding_ == Encoding::utf8 ? "utf-8" : "utf-16");
  all.set("textDocumentSync", std::move(sync)).set("hoverProvider", true);
  all.set("completionProvider", std::move(completion));
  all.set("signatureHelpProvider", std::move(signature)).set("definitionProvider", true);
  all.set("referencesProvider", true).set("documentHighlightProvider", true);
  all.set("documentSymbolProvider", true).set("codeActionProvider", std::move(actions));
  all.set("codeLensProvider", std::move(lenses)).set("documentFormattingProvider", true);
  all.set("renameProvider", std::move(renaming)).set("inlayHintProvider", true);
  return all.set("semanticTokensProvider", std::move(tokens));
}

Json Session::rename_at(const DocumentView& view, const Object& params) {
  Result<Json> edit = rename_across(
      view, view.offset(position_of(params.at("position"))), text_of(params.at("newName")),
      [&](const std::string& name, const std::function<void(const DocumentView&)>& f) {
        for_each_view(view, name, f);
      });
  if (!edit) throw Refusal{Fault::request_failed, edit.error().message};
  return *std::move(edit);
}

void Session::add_at_place(const std::string& name, AtPlace feature) {
  requests_[name] = [this, feature](const Object& params) {
    return with_view(params, [&](const DocumentView& view) {
      return feature(view, view.offset(position_of(params.at("position"))));
    });
  };
}

void Session::add_of_range(const std::string& name, Json (*feature)(const DocumentView&, Span)) {
  requests_[name] = [this, feature](const Object& params) {
    return with_view(
        params, [&](const DocumentView& view) { return feature(view, span_of(view, params)); });
  };
}

void Session::add_of_document(const std::string& name, Json (*feature)(const DocumentView&)) {
  requests_[name] = [this, feature](const Object& params) {
    return with_view(params, [&](const DocumentView& view) { return feature(view); });
  };
}

void Session::add_methods() {
  requests_["initialize"] = [this](const Object& params) { return initialize(params); };
  requests_["shutdown"] = [this](const Object& /*params*/) {
    shut_down_ = true;
    return Json();
  };
  add_at_place("textDocument/hover", hover);
  add_at_place("textDocument/signatureHelp", signature_help);
  add_at_place("textDocument/definition", definition);
  add_at_place("textDocument/documentHighlight", highlights);
  add_at_place("textDocument/prepareRename", prepare_rename);
  add_of_range("textDocument/codeAction", code_actions);
  add_of_range("textDocument/inlayHint", inlay_hints);
  add_of_document("textDocument/codeLens", code_lenses);
  add_of_document("textDocument/formatting", formatting);
  add_of_document("textDocument/documentSymbol", document_symbols);
  add_of_document("textDocument/semanticTokens/full", semantic_tokens);
  requests_["textDocument/completion"] = [this](const Object& params) {
    return with_view(params, [&](const DocumentView& view) {
      return completion(view, view.offset(position_of(params.at("position"))), snippets_);
    });
  };
  requests_["textDocument/references"] = [this](const Object& params) {
    return with_view(params, [&](const DocumentView& view) {
      return references_across(
          view, view.offset(position_of(params.at("position"))), wants_definitions(params),
          [&](const std::string& name, const std::function<void(const DocumentView&)>& f) {
            for_each_view(view, name, f);
          });
    });
  };
  requests_["textDocument/rename"] = [this](const Object& params) {
    return with_view(params, [&](const DocumentView& view) { return rename_at(view, params); });
  };
  notifications_["textDocument/didOpen"] = [this](const Object& params) { did_open(params); };
  notifications_["textDocument/didChange"] = [this](const Object& params) { did_change(params); };
  notifications_["textDocument/didClose"] = [this](const Object& params) { did_close(params); };
}

}  // namespace tilevm::vm
