// `tilevm examples` and `tilevm new`: programs to read and to begin with.
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "isa/base/render.h"
#include "isa/base/suggest.h"
#include "vm/cli/cmd_support.h"
#include "vm/cli/commands.h"
#include "vm/run/load.h"
#include "vm/run/shipped.h"

namespace tilevm::vm {

namespace {

constexpr std::string_view first_program =
    R"(# Scales a vector: each block of 32 threads takes 32 elements.
#
#     tilevm run {0}                                     random input, in the simulator
#     tilevm run {0} -D FACTOR=2.0 --in x=iota --out y=y.npy
#     tilevm debug {0}                                   step by step
const N = 128
const FACTOR = 0.5

def scale<cdiv(N, 32)>(f32* x_ptr, f32* y_ptr):
    i = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[N]), layout=spatial(32), offset=[i * 32:])
    StoreGlobal(x * FACTOR, ViewGlobal(y_ptr, shape=[N]), offset=[i * 32:])

pipeline main(x: f32[N]) -> (y: f32[N]):
    scale(x, y)
)";

Error no_programs() {
  return {ErrorKind::usage,
          "the programs are not installed beside this executable; they are in the folder "
          "`programs` of tilevm's sources"};
}

Error no_such_program(const std::string& name, const std::vector<ShippedProgram>& programs) {
  std::vector<std::string> names;
  for (const ShippedProgram& each : programs) names.push_back(each.path);
  const std::string near = nearest(name, names);
  return {ErrorKind::usage, fmt::format("there is no program `{}`; {}", name,
                                        near.empty() ? "`tilevm examples` lists them"
                                                     : fmt::format("did you mean `{}`?", near))};
}

/// The file of a shipped program, by the path that the list gives or by its name alone.
Result<std::string> file_of(const std::string& name) {
  const auto folder = shipped_programs();
  if (!folder) return no_programs();
  const std::vector<ShippedProgram> programs = list_shipped(*folder);
  for (const ShippedProgram& each : programs) {
    const bool is_it = each.path == name || each.path == "programs/" + name ||
                       each.path == "programs/" + name + ".tile";
    if (is_it) return (folder->parent_path() / each.path).string();
  }
  return no_such_program(name, programs);
}

Exit show_program(const std::string& name, Reporter& reporter) {
  const Result<std::string> file = file_of(name);
  if (!file) return reporter.fail(file.error());
  const auto source = read_source(*file, reporter.io().in);
  if (!source) return reporter.fail(source.error());
  reporter.set("file", *file);
  reporter.set("text", (*source)->text());
  if (!reporter.json()) reporter.io().out << (*source)->text();
  return reporter.finish(Exit::ok);
}

}  // namespace

Exit examples(const ExamplesOptions& options, Io& io) {
  Reporter reporter(io, "examples", options.json);
  if (!options.name.empty()) return show_program(options.name, reporter);
  const auto folder = shipped_programs();
  if (!folder) return reporter.fail(no_programs());
  Json list = Json::array();
  for (const ShippedProgram& each : list_shipped(*folder)) {
    Json item = Json::object();
    item.set("program", each.path).set("what", each.what);
    list.push(std::move(item));
    if (!options.json) io.out << fmt::format("{:<44} {}\n", each.path, each.what);
  }
  reporter.set("folder", folder->string());
  reporter.set("programs", std::move(list));
  return reporter.finish(Exit::ok);
}

Exit new_program(const NewOptions& options, Io& io) {
  Reporter reporter(io, "new", false);
  std::error_code none;
  if (options.file != "-" && std::filesystem::exists(options.file, none)) {
    return reporter.fail(
        {ErrorKind::usage, fmt::format("`{}` exists already; name a new file", options.file)});
  }
  std::string text = fmt::format(fmt::runtime(first_program), options.file);
  if (!options.from.empty()) {
    std::string from = options.from;
    if (!std::filesystem::exists(from, none)) {
      const Result<std::string> file = file_of(from);
      if (!file) return reporter.fail(file.error());
      from = *file;
    }
    const auto source = read_source(from, io.in);
    if (!source) return reporter.fail(source.error());
    text = (*source)->text();
  }
  const Status written = write_result(io, options.file, text);
  if (!written) return reporter.fail(written.error());
  if (options.file != "-") {
    io.err << fmt::format("wrote `{0}`; run it: tilevm run {0}\n", printable(options.file));
  }
  return reporter.finish(Exit::ok);
}

}  // namespace tilevm::vm
