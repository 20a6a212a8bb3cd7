#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "frontend/print/print.h"
#include "frontend/syntax/grammar.h"
#include "vm/cli/commands.h"

namespace tilevm::vm {

namespace {

/// One file after the other; with JSON each is an item of `files`.
class Formatting {
 public:
  Formatting(const FormatOptions& options, Reporter& reporter)
      : options_(options), reporter_(reporter) {}

  Exit run() {
    Exit worst = Exit::ok;
    for (const std::string& file : options_.files) {
      const Result<Exit> status = format_one(file);
      if (!status) return reporter_.fail(status.error());
      worst = std::max(worst, *status);
    }
    reporter_.set("files", std::move(files_));
    return reporter_.finish(worst);
  }

 private:
  Result<Exit> format_one(const std::string& file) {
    Io& io = reporter_.io();
    if (options_.in_place && file == "-") {
      return Error{ErrorKind::usage, "-i needs a file; standard input cannot be rewritten"};
    }
    Result<std::shared_ptr<const SourceFile>> source = read_source(file, io.in);
    if (!source) return source.error();
    Diagnostics diagnostics;
    const std::optional<frontend::ast::Program> tree = frontend::parse(**source, diagnostics);
    reporter_.diagnostics(diagnostics, **source);
    Json item = Json::object();
    item.set("file", (*source)->name());
    if (!tree) {
      files_.push(std::move(item.set("text", Json())));
      return Exit::fault;
    }
    const std::string text = frontend::print(*tree);
    const bool canonical = text == (*source)->text();
    item.set("canonical", canonical);
    files_.push(std::move(item.set("text", text)));
    if (options_.check) return check(**source, file, canonical);
    if (options_.in_place ? canonical : reporter_.json()) return Exit::ok;
    const Status written = write_result(io, options_.in_place ? file : "-", text);
    if (!written) return written.error();
    return Exit::ok;
  }

  Exit check(const SourceFile& source, const std::string& file, bool canonical) const {
    if (canonical) return Exit::ok;
    if (!reporter_.json()) {
      reporter_.io().err << fmt::format(
          "{}: not in canonical form; `tilevm fmt -i {}` rewrites it\n", source.name(), file);
    }
    return Exit::fault;
  }

  const FormatOptions& options_;
  Reporter& reporter_;
  Json files_ = Json::array();
};

}  // namespace

Exit format(const FormatOptions& options, Io& io) {
  Reporter reporter(io, "fmt", options.json);
  if (options.check && options.in_place) {
    return reporter.fail(Error{ErrorKind::usage, "--check and -i exclude each other"});
  }
  return Formatting(options, reporter).run();
}

}  // namespace tilevm::vm
