// `tilevm layout`: what vm/report/layout_report.h and vm/picture/layout_svg.h draw.

#include <fmt/format.h>

#include "vm/cli/commands.h"
#include "vm/picture/layout_svg.h"
#include "vm/report/layout_report.h"

namespace tilevm::vm {

namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.ends_with(end);
}

std::optional<Error> wrong_output(const std::string& output) {
  if (output.empty() || output == "-" || ends_with(output, ".svg") || ends_with(output, ".html")) {
    return std::nullopt;
  }
  return Error{ErrorKind::usage, fmt::format("-o {}: the file must end in .svg or .html", output)};
}

/// What is drawn together must fit together.
std::optional<Error> wrong_scene(const LayoutScene& scene, bool with_access) {
  const auto usage = [](std::string message) {
    return Error{ErrorKind::usage, std::move(message)};
  };
  const TypedLayout& first = scene.layouts.front();
  if (with_access) {
    if (scene.layouts.size() == 2 || first.memory() == nullptr || !first.dtype) {
      return usage(
          "`--access` needs one memory layout after the type of its elements, as in `tilevm layout "
          "'f16 row_major(64, 64)' --access 'spatial(8, 4).local(1, 8)'`");
    }
    return std::nullopt;
  }
  if (scene.layouts.size() == 1) return std::nullopt;
  const TypedLayout& second = scene.layouts[1];
  if (first.registers() == nullptr || second.registers() == nullptr || !first.dtype ||
      !second.dtype) {
    return usage(
        "two layouts show a View: both must be of registers, after the types of their elements, as "
        "in `tilevm layout 'u8 local(3).spatial(32)' 'i6 local(4).spatial(32)'`");
  }
  const auto bits = [](const TypedLayout& one) {
    return one.registers()->num_locals() * one.bits();
  };
  const std::int64_t threads[] = {first.registers()->num_threads(),
                                  second.registers()->num_threads()};
  if (threads[0] == threads[1] && bits(first) == bits(second)) return std::nullopt;
  return usage(fmt::format(
      "a View keeps threads and the bits of each: the first layout has {} threads of {} bits, the "
      "second {} threads of {} bits",
      threads[0], bits(first), threads[1], bits(second)));
}

Exit deliver(const LayoutScene& scene, const LayoutOptions& options, Io& io, Reporter& reporter) {
  if (!options.output.empty()) {
    const std::string picture =
        ends_with(options.output, ".html") ? draw_html(scene) : draw_svg(scene);
    const Status written = write_result(io, options.output, picture);
    return written ? reporter.finish(Exit::ok) : reporter.fail(written.error());
  }
  if (options.json) {
    Json layouts = Json::array();
    for (const TypedLayout& one : scene.layouts) layouts.push(layout_json(one));
    reporter.set("layouts", std::move(layouts));
    if (scene.access != nullptr) reporter.set("access", access_json(*scene.access));
  } else {
    io.out << layout_text(scene, io.color_out);
  }
  return reporter.finish(Exit::ok);
}

/// Nothing after a report.
std::optional<TypedLayout> read(const std::string& expression, Reporter& reporter) {
  const SourceFile source("<layout>", expression);
  Diagnostics diagnostics;
  std::optional<TypedLayout> typed = read_typed_layout(source, diagnostics);
  reporter.diagnostics(diagnostics, source);
  return typed;
}

}  // namespace

Exit layout(const LayoutOptions& options, Io& io) {
  Reporter reporter(io, "layout", options.json);
  if (const auto error = wrong_output(options.output)) return reporter.fail(*error);
  LayoutScene scene;
  for (const std::string& expression : options.expressions) {
    std::optional<TypedLayout> typed = read(expression, reporter);
    if (!typed) return reporter.finish(Exit::fault);
    scene.layouts.push_back(std::move(*typed));
  }
  if (const auto error = wrong_scene(scene, !options.access.empty())) return reporter.fail(*error);
  if (options.access.empty()) return deliver(scene, options, io, reporter);
  const std::optional<TypedLayout> tile = read(options.access, reporter);
  if (!tile) return reporter.finish(Exit::fault);
  if (tile->registers() == nullptr) {
    return reporter.fail({ErrorKind::usage, "`--access` takes the layout of a tile in registers"});
  }
  SourceFile source;
  Diagnostics diagnostics;
  const auto access =
      draw_access({scene.layouts.front(), *tile, options.stores}, source, diagnostics);
  reporter.diagnostics(diagnostics, source);
  if (!access) return reporter.finish(Exit::fault);
  scene.access = &*access;
  return deliver(scene, options, io, reporter);
}

}  // namespace tilevm::vm
