// The streams of a command, and how a command speaks: results to `out`, messages to `err`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/base/result.h"
#include "isa/base/source.h"
#include "vm/data/data_reader.h"
#include "vm/run/vm.h"
#include "vm/text/json.h"
#include "vm/text/stream.h"
#include "vm/text/style.h"

namespace tilevm::vm {

struct Io {
  InputStream& in;
  OutputStream& out;
  OutputStream& err;
  bool color_out = false;
  bool color_err = false;
};

/// "tilevm: error: MESSAGE" to `err`; the status that follows from the error.
Exit fail(Io& io, const Error& error);

/// Rendered diagnostics to `err`; nothing if there are none.
void show(Io& io, const Diagnostics& diagnostics, const SourceFile& source);

/// What was done to data, a line each, to `err`.
void show(Io& io, const std::vector<DataNote>& notes);

/// Ends a command in text or in JSON. With JSON, exactly one object goes to `out`:
/// {"schema": 1, "command": .., <the command's members>, "diagnostics": [..], "error": ..,
/// "error_code": .., "place": {..}, "status": N}. docs/reference/data.md has the members.
class Reporter {
 public:
  Reporter(Io& io, std::string_view command, bool json);

  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] Io& io() { return io_; }

  /// A member of the object; ignored without JSON.
  void set(std::string key, Json value);
  /// Shows what was done to the data (likewise).
  void notes(const std::vector<DataNote>& notes);
  /// Shows diagnostics (at once in text, in the object with JSON).
  void diagnostics(const Diagnostics& diagnostics, const SourceFile& source);

  /// A list whose items are written as they come, however many there are; ignored without JSON.
  /// Nothing but add_item may be called before end_list.
  void begin_list(std::string_view key);
  void add_item(const Json& item);
  void end_list();

  /// Ends the command; call one of them, once.
  Exit finish(Exit status);
  Exit fail(const Error& error);
  Exit fail(const Failure& failure, const SourceFile& source);

 private:
  Io& io_;
  bool json_;
  Json object_ = Json::object();
  Json diagnostics_ = Json::array();
  bool has_begun_ = false;  ///< a part of the object is written
  bool has_items_ = false;  ///< so is an item of the list
};

/// Writes a result to a file (all of it or nothing), or to `out` for "-". Error (usage).
[[nodiscard]] Status write_result(Io& io, const std::string& path, std::string_view bytes);

}  // namespace tilevm::vm
