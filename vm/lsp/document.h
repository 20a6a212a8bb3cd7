// An open document of an editor: its text, places in it as the protocol counts them, and what is
// known of the program in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/bind/frontend.h"
#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "isa/verify/verify.h"
#include "vm/lsp/names.h"
#include "vm/run/edited_files.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// How a client counts the characters of a line.
enum class Encoding : std::uint8_t { utf8, utf16 };

/// The first line is 0, the first character is 0.
struct Position {
  std::int64_t line = 0, character = 0;
};

/// Places past the end of a line or a text are its end.
[[nodiscard]] std::uint32_t to_offset(const SourceFile& source, Position position,
                                      Encoding encoding);
[[nodiscard]] Position to_position(const SourceFile& source, std::uint32_t offset,
                                   Encoding encoding);

/// What programs are checked for.
struct Settings {
  std::vector<frontend::Define> defines;
  isa::Target target;
  std::vector<std::string> folders = {};  ///< further folders from which files are included
};

/// What is known of a text. `program` is there if the text has no error; `partial` is what could be
/// bound. It may be moved, and not copied: `variables` points into `partial`.
struct Analysis {
  Analysis() = default;
  Analysis(Analysis&&) = default;
  Analysis& operator=(Analysis&&) = default;
  Analysis(const Analysis&) = delete;
  Analysis& operator=(const Analysis&) = delete;
  ~Analysis() = default;

  /// The document alone; with the files that it includes and the calls that were inlined, of which
  /// `partial` and `diagnostics` have spans. Offsets into the document are the same in both.
  std::shared_ptr<const SourceFile> source, bound;
  Diagnostics diagnostics{200};
  bool parsed = false;  ///< whether the text parsed without a fault
  frontend::ast::Program tree;
  Names names;
  isa::Program partial;
  std::optional<isa::VerifiedProgram> program;
  /// By item of the tree that is a kernel and by name: its variables in the order of the text.
  using Variables = std::map<std::string, std::vector<const isa::Variable*>, std::less<>>;
  std::map<int, Variables> variables;

  /// The type that a name has where it occurs; null if it has none or is not known.
  [[nodiscard]] const isa::Type* type_of(const Occurrence& occurrence) const;
  /// The statement that is an instruction and begins at a place, in the program if there is one,
  /// else among what could be bound; null if there is none.
  struct Found {
    int kernel = -1;
    const isa::InstStmt* stmt = nullptr;
  };
  [[nodiscard]] Found instruction_at(std::uint32_t offset) const;
};

/// Analyses a document, whose address (`file:///..`) locates included files.
[[nodiscard]] Analysis analyse(const std::string& uri, std::string text, const Settings& settings,
                               const EditedText& edited);
/// Analyses without what takes long: the tree and the names.
[[nodiscard]] Analysis analyse_names(const std::string& uri, std::string text,
                                     const Settings& settings, const EditedText& edited);

/// The canonical path of a file's address, so that two addresses of one file give the same; "-" for
/// what is not a file.
[[nodiscard]] std::string path_of(std::string_view uri);
/// The address of a file.
[[nodiscard]] std::string uri_of(const std::string& path);
/// As a client wrote it, if it has opened the file.
using FindUri = std::function<std::string(const std::string& path)>;

/// A view of an analysis in the units of a client; makes the protocol's objects.
class DocumentView {
 public:
  /// `find_uri` gives the addresses of included files.
  DocumentView(const Analysis& analysis, std::string uri, Encoding encoding, FindUri find_uri)
      : analysis_(analysis),
        uri_(std::move(uri)),
        encoding_(encoding),
        find_uri_(std::move(find_uri)) {}

  [[nodiscard]] const Analysis& analysis() const { return analysis_; }
  [[nodiscard]] const SourceFile& source() const { return *analysis_.source; }
  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] std::uint32_t offset(Position position) const {
    return to_offset(source(), position, encoding_);
  }
  [[nodiscard]] Position position(std::uint32_t offset) const;
  /// {"start": .., "end": ..}
  [[nodiscard]] Json range(Span span) const;
  [[nodiscard]] Json place(std::uint32_t offset) const;
  /// {"uri": .., "range": ..}, in the document or in a file that it includes; null in the standard
  /// library, which is not a file.
  [[nodiscard]] Json location(Span span) const;
  /// Where a span of an included file is.
  struct Place {
    std::string path;  ///< canonical; empty: of the standard library
    std::string uri;
    Json range;
  };
  [[nodiscard]] Place place_in_file(Span span) const;
  /// {"range": .., "newText": ..}
  [[nodiscard]] Json edit(Span span, std::string_view text) const;
  /// {"changes": {uri: [..]}}
  [[nodiscard]] Json workspace_edit(Json edits) const;
  /// Units of the client from a place to another of one line.
  [[nodiscard]] std::int64_t length(Span span) const;

 private:
  const Analysis& analysis_;
  std::string uri_;
  Encoding encoding_;
  FindUri find_uri_;
  /// The last place that was counted: places mostly ascend, and a line may be as long as a file.
  mutable std::uint32_t last_offset_ = 0;
  mutable Position last_{};
};

}  // namespace tilevm::vm
