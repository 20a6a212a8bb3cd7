// Names that belong to a file as a whole, in all files that include it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "isa/base/result.h"
#include "vm/lsp/document.h"

namespace tilevm::vm {

/// Calls a function with every document that may use a name: the open ones, and those of the
/// workspace.
using ForEachView =
    std::function<void(const std::string& name, const std::function<void(const DocumentView&)>& f)>;

/// The uses of the symbol at a place in every document, as the protocol's locations; null if there
/// is not a symbol.
[[nodiscard]] Json references_across(const DocumentView& view, std::uint32_t offset,
                                     bool definitions, const ForEachView& views);

/// A workspace edit. Error (program): nothing can be renamed here, or not so.
[[nodiscard]] Result<Json> rename_across(const DocumentView& view, std::uint32_t offset,
                                         const std::string& to, const ForEachView& views);

/// Diagnostics with their messages, by the address of the file that they are in.
using DiagnosticsByFile = std::map<std::string, std::vector<std::pair<std::string, Json>>>;
/// The diagnostics of a document that are in a file that it includes.
[[nodiscard]] DiagnosticsByFile diagnostics_by_file(const DocumentView& view);

/// The `.tile` files in folders and below, by path; at most so many that a request stays quick.
[[nodiscard]] std::vector<std::string> program_files(const std::vector<std::string>& folders);

}  // namespace tilevm::vm
