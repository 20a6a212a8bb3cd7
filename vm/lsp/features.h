// What a language server answers, as the protocol's objects; null where there is nothing to say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/lsp/document.h"

namespace tilevm::vm {

// hover.cc
[[nodiscard]] Json hover(const DocumentView& view, std::uint32_t offset);
[[nodiscard]] Json signature_help(const DocumentView& view, std::uint32_t offset);

// completion.cc
/// `snippets`: the client takes texts with places to fill in.
[[nodiscard]] Json completion(const DocumentView& view, std::uint32_t offset, bool snippets);
/// The call whose brackets are open at a place.
struct OpenCall {
  std::string callee;
  int operand = 0;   ///< commas before the place
  std::string name;  ///< name of the operand at the position, if it is given by name
};
[[nodiscard]] std::optional<OpenCall> open_call(const SourceFile& source, std::uint32_t offset);

// references.cc
[[nodiscard]] Json definition(const DocumentView& view, std::uint32_t offset);
[[nodiscard]] Json references(const DocumentView& view, std::uint32_t offset, bool definitions);
[[nodiscard]] Json highlights(const DocumentView& view, std::uint32_t offset);
[[nodiscard]] Json document_symbols(const DocumentView& view);
/// The name at a place, if it can be renamed.
[[nodiscard]] Json prepare_rename(const DocumentView& view, std::uint32_t offset);
/// Error (program): the symbol, an index into the names, may not get this name in this document.
[[nodiscard]] Status may_rename(const DocumentView& view, int symbol, const std::string& to);
/// Error (program): nothing can be renamed here, or not so.
[[nodiscard]] Result<Json> rename(const DocumentView& view, std::uint32_t offset,
                                  const std::string& to);

// diagnostics.cc
[[nodiscard]] Json diagnostics_of(const DocumentView& view);
/// A diagnostic as the protocol wants it, at a range.
[[nodiscard]] Json diagnostic_json(const DocumentView& view, const Diagnostic& diagnostic,
                                   const Json& range);
/// The fixes of the diagnostics that touch a span.
[[nodiscard]] Json code_actions(const DocumentView& view, Span span);
/// The whole text in canonical form; null if it has a fault or is canonical.
[[nodiscard]] Json formatting(const DocumentView& view);

// hints.cc
[[nodiscard]] Json inlay_hints(const DocumentView& view, Span span);
[[nodiscard]] Json code_lenses(const DocumentView& view);
/// The names of token types, in the order of their numbers; and the tokens.
[[nodiscard]] Json token_legend();
[[nodiscard]] Json semantic_tokens(const DocumentView& view);

}  // namespace tilevm::vm
