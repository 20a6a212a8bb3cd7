#include <ostream>
#include <span>

#include <fmt/format.h>

#include "frontend/print/print.h"
#include "frontend/syntax/grammar.h"
#include "vm/cli/commands.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

Exit format_one(const std::string& file, const FormatOptions& options, Io& io) {
  Result<std::shared_ptr<const SourceFile>> source = read_source(file, io.in);
  if (!source) return fail(io, source.error());
  Diagnostics diagnostics;
  const std::optional<frontend::ast::Program> tree = frontend::parse(**source, diagnostics);
  show(io, diagnostics, **source);
  if (!tree) return Exit::fault;
  const std::string text = frontend::print(*tree);
  const bool canonical = text == (*source)->text();
  if (options.check) {
    if (canonical) return Exit::ok;
    io.err << fmt::format("{}: not in canonical form; `tilevm fmt -i {}` rewrites it\n",
                          (*source)->name(), file);
    return Exit::fault;
  }
  if (options.in_place && canonical) return Exit::ok;
  const Status written = write_result(io, options.in_place ? file : "-", text);
  return written ? Exit::ok : fail(io, written.error());
}

}  // namespace

Exit format(const FormatOptions& options, Io& io) {
  if (options.check && options.in_place) {
    return fail(io, {ErrorKind::usage, "--check and -i exclude each other"});
  }
  Exit worst = Exit::ok;
  for (const std::string& file : options.files) {
    if (options.in_place && file == "-") {
      return fail(io, {ErrorKind::usage, "-i needs a file; standard input cannot be rewritten"});
    }
    worst = std::max(worst, format_one(file, options, io));
  }
  return worst;
}

}  // namespace tilevm::vm
