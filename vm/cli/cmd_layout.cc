#include <ostream>

#include <fmt/format.h>

#include "frontend/bind/frontend.h"
#include "isa/dot/dot.h"
#include "isa/layout/draw.h"
#include "vm/cli/commands.h"

namespace tilevm::vm {

namespace {

/// "m16n8k16 (f16 x f16 -> f32): C" for every tensor-core fragment that equals the layout.
std::vector<std::string> fragments_like(const isa::RegisterLayout& layout) {
  std::vector<std::string> names;
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    std::string operands;
    if (shape.a_layout == layout) operands += "A";
    if (shape.b_layout == layout) operands += operands.empty() ? "B" : ", B";
    if (shape.c_layout == layout) operands += operands.empty() ? "C" : ", C";
    if (operands.empty()) continue;
    names.push_back(fmt::format("operand {} of mma.{}, {} x {} -> {}, from sm_{} on", operands,
                                shape.name, to_string(shape.a), to_string(shape.b),
                                to_string(shape.accumulator), shape.min_sm));
  }
  return names;
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Exit write_picture(const isa::RegisterLayout& layout, const LayoutOptions& options, Io& io) {
  const bool svg = ends_with(options.output, ".svg") || options.output == "-";
  if (!svg && !ends_with(options.output, ".html")) {
    return fail(io, {ErrorKind::usage,
                     fmt::format("-o {}: the file must end in .svg or .html", options.output)});
  }
  const std::string picture =
      svg ? draw_svg(layout, options.expression) : draw_html(layout, options.expression);
  const Status written = write_result(io, options.output, picture);
  return written ? Exit::ok : fail(io, written.error());
}

void show_register_layout(const isa::RegisterLayout& layout, Io& io) {
  std::string text = describe(layout);
  io.out << text << (text.empty() || text.back() != '\n' ? "\n" : "");
  for (const std::string& name : fragments_like(layout)) io.out << name << '\n';
  io.out << '\n' << draw_text(layout, io.color_out);
}

}  // namespace

Exit layout(const LayoutOptions& options, Io& io) {
  const SourceFile source("<layout>", options.expression);
  Diagnostics diagnostics;
  const std::optional<frontend::AnyLayout> any = frontend::load_layout(source, diagnostics);
  show(io, diagnostics, source);
  if (!any || diagnostics.has_errors()) return Exit::fault;
  const auto* registers = std::get_if<isa::RegisterLayout>(&*any);
  if (registers == nullptr) {
    if (!options.output.empty()) {
      return fail(io, {ErrorKind::usage, "pictures are drawn of register layouts; leave -o out"});
    }
    const auto& memory = std::get<isa::MemoryLayout>(*any);
    io.out << to_string(memory) << '\n' << '\n' << draw_text(memory);
    return Exit::ok;
  }
  if (!options.output.empty()) return write_picture(*registers, options, io);
  show_register_layout(*registers, io);
  return Exit::ok;
}

}  // namespace tilevm::vm
