#include "vm/picture/report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "isa/base/render.h"
#include "isa/program/tile_move.h"
#include "vm/picture/banks.h"
#include "vm/picture/canvas.h"
#include "vm/picture/heat_map.h"
#include "vm/picture/layout_svg.h"
#include "vm/picture/sectors.h"
#include "vm/text/table.h"

namespace tilevm::vm {

namespace {

constexpr std::string_view page_style = R"(
:root { color-scheme: light dark; }
body { font-family: system-ui, sans-serif; margin: 1.5em auto; max-width: 75em; padding: 0 1em;
  background: #fff; color: #1b1b1b; }
h1, summary { overflow-wrap: anywhere; }
pre, td, th { font-family: ui-monospace, 'DejaVu Sans Mono', Consolas, monospace; font-size: 13px; }
pre.fault { border-left: 4px solid #c00000; }
pre.note { border-left: 4px solid #b08000; }
pre.fault, pre.note { padding: .6em; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; }
.scroll, figure { overflow-x: auto; margin: 0 0 1em; }
td, th { padding: 1px .7em; text-align: right; white-space: pre; font-weight: normal; }
th { border-bottom: 1px solid #888; }
td.code { text-align: left; }
td.line { color: #5c5c5c; }
td.hot { background: #ffd400; color: #000; }
tr.fault td { background: #ffd9d9; color: #000; }
tr.says td { text-align: left; color: #c00000; white-space: pre-wrap; }
@media (max-width: 40em) {
  body { margin: 1em auto; padding: 0 .7em; }
  h1 { font-size: 1.3em; }
}
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #f0f0f0; }
  td.line { color: #b4b4b4; }
  tr.fault td { background: #5a1515; color: #fff; }
  tr.says td { color: #ff8080; }
}
)";

/// What the statements of a line cost together.
struct LineCost {
  std::uint64_t executions = 0, bytes = 0, sectors = 0, ideal_sectors = 0;
  std::uint64_t wavefronts = 0, conflicts = 0, mma = 0;
};

std::map<int, LineCost> costs_of(const RunPage& page) {
  std::map<int, LineCost> costs;
  for (const KernelStats& kernel : page.report.kernels) {
    for (const sim::StatementCount& statement : kernel.counters.statements) {
      LineCost& cost = costs[page.program.source().root_line(statement.span.begin)];
      cost.executions = std::max(cost.executions, statement.executions);
      cost.mma += statement.mma_instructions;
      for (std::size_t t = 0; t < sim::traffic_count; ++t) {
        const sim::AccessCount& count = statement.accesses[t];
        cost.bytes += count.bytes;
        if (sim::is_global(static_cast<sim::Traffic>(t))) {
          cost.sectors += count.transfers;
          cost.ideal_sectors += count.ideal;
        } else {
          cost.wavefronts += count.transfers;
          cost.conflicts += count.transfers - count.ideal;
        }
      }
    }
  }
  return costs;
}

std::string number(std::uint64_t value) { return value == 0 ? "" : grouped(value); }

/// A fault or a note at a line.
std::multimap<int, std::string> words_by_line(const RunPage& page) {
  std::multimap<int, std::string> words;
  const auto add = [&](const Diagnostics& diagnostics) {
    for (const Diagnostic& one : diagnostics.sorted()) {
      words.emplace(
          page.program.source().root_line(one.span.begin),
          fmt::format("{}: {} [{}]", to_string(one.severity), one.message, to_string(one.code)));
    }
  };
  if (page.failure) {
    if (const auto* diagnostics = std::get_if<Diagnostics>(&*page.failure)) add(*diagnostics);
  }
  add(page.report.notes);
  return words;
}

std::string listing(const RunPage& page) {
  const std::map<int, LineCost> costs = costs_of(page);
  const std::multimap<int, std::string> words = words_by_line(page);
  std::uint64_t most_bytes = 1, most_mma = 1;
  for (const auto& [line, cost] : costs) {
    most_bytes = std::max(most_bytes, cost.bytes);
    most_mma = std::max(most_mma, cost.mma);
  }
  std::string text =
      "<h2>Program</h2>\n<p>Of all blocks. Yellow: the most bytes, the most tensor-core "
      "instructions, more sectors or wavefronts than needed.</p>\n<div class=\"scroll\"><table>\n"
      "<tr><th>line</th><th>executed</th><th>bytes</th><th>sectors</th><th>wavefronts</th>"
      "<th>conflicts</th><th>mma</th><th></th></tr>\n";
  const auto cell = [](const std::string& value, bool hot) {
    return fmt::format("<td{}>{}</td>", hot ? " class=\"hot\"" : "", value);
  };
  const SourceFile& source = page.program.source();
  for (int line = 1; line <= source.line_count(); ++line) {
    const auto found = costs.find(line);
    const LineCost cost = found == costs.end() ? LineCost{} : found->second;
    text += fmt::format("<tr id=\"L{}\"{}><td class=\"line\">{}</td>", line,
                        words.contains(line) ? " class=\"fault\"" : "", line);
    text +=
        cell(number(cost.executions), false) + cell(number(cost.bytes), cost.bytes == most_bytes);
    text += cell(number(cost.sectors), cost.sectors > cost.ideal_sectors);
    text += cell(number(cost.wavefronts), false) + cell(number(cost.conflicts), cost.conflicts > 0);
    text += cell(number(cost.mma), cost.mma == most_mma);
    text += fmt::format("<td class=\"code\">{}</td></tr>\n", escape_xml(source.line(line)));
    for (auto [at, end] = words.equal_range(line); at != end; ++at) {
      text += fmt::format("<tr class=\"says\"><td colspan=\"8\">{}</td></tr>\n",
                          escape_xml(at->second));
    }
  }
  return text + "</table></div>\n";
}

/// Text of many lines, whose breaks and indentation count.
std::string escape_lines(const std::string& text) {
  std::string out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += escape_xml(std::string_view(text).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string verdict(const RunPage& page) {
  if (!page.failure) {
    std::string text = fmt::format("<p>ok: {} blocks, {} statements</p>\n",
                                   grouped(page.report.blocks), grouped(page.report.steps));
    if (page.report.notes.sorted().empty()) return text;
    return text +
           fmt::format("<pre class=\"note\">{}</pre>\n",
                       escape_lines(render(page.report.notes, page.program.source(), false)));
  }
  struct Says {
    const SourceFile& source;
    std::string operator()(const Diagnostics& diagnostics) const {
      return render(diagnostics, source, false);
    }
    std::string operator()(const Error& error) const { return "error: " + error.message; }
  };
  return fmt::format("<pre class=\"fault\">{}</pre>\n",
                     escape_lines(std::visit(Says{page.program.source()}, *page.failure)));
}

std::string figure(const std::string& svg) { return "<figure>" + svg + "</figure>\n"; }

std::string outputs(const RunPage& page) {
  if (page.failure) return "";
  std::string text = "<h2>Outputs</h2>\n";
  for (std::size_t i = 0; i < page.tensors.size(); ++i) {
    if (!page.entry.tensors[i].output) continue;
    text += figure(draw_heat_map(page.entry.tensors[i].name, page.tensors[i]));
  }
  return text;
}

/// The accesses of the kernels that were launched, of one of the memories: `of` gives the picture
/// of a statement. Accesses that move more than they must are open.
template <class PictureOf>
std::string access_pictures(const RunPage& page, PictureOf&& of) {
  std::string text;
  for (const KernelStats& kernel : page.report.kernels) {
    isa::for_each_statement(page.program.kernel(kernel.kernel).body, [&](const isa::Stmt& stmt) {
      const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
      if (inst == nullptr) return;
      const auto access = of(page.program, kernel.kernel, *inst);
      if (!access) return;
      const int line = page.program.source().root_line(stmt.span.begin);
      text += fmt::format(
          "<details{}><summary><a href=\"#L{}\">line {}</a>: {}, {}</summary>{}"
          "</details>\n",
          access->total.transfers > access->total.ideal ? " open" : "", line, line,
          isa::mnemonic(inst->inst), describe(*access), figure(draw_svg(*access)));
    });
  }
  return text;
}

std::string accesses(const RunPage& page) {
  constexpr std::string_view once =
      "<p>One execution of each statement, at the begin of its tensor.</p>\n";
  std::string text;
  const std::string global = access_pictures(page, global_access_of);
  if (!global.empty()) text += fmt::format("<h2>Global memory</h2>\n{}{}", once, global);
  const std::string shared = access_pictures(page, shared_access_of);
  if (!shared.empty()) text += fmt::format("<h2>Shared memory</h2>\n{}{}", once, shared);
  return text;
}

/// The layouts of tiles that are loaded and stored, each once: which thread moves which element.
std::string layouts(const RunPage& page) {
  constexpr std::int64_t most_elements = 2048;
  constexpr std::size_t most_pictures = 8;
  std::map<std::string, std::string> lines;  // by layout: the lines that have it
  std::string text;
  std::map<std::string, TypedLayout> pictures;
  for (const KernelStats& kernel : page.report.kernels) {
    const isa::Kernel& of = page.program.kernel(kernel.kernel);
    isa::for_each_statement(of.body, [&](const isa::Stmt& stmt) {
      const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
      const auto move = inst == nullptr ? std::nullopt : isa::tile_move(*inst);
      const auto* registers = move ? std::get_if<isa::RegisterMove>(&*move) : nullptr;
      if (registers == nullptr) return;
      const auto* type = std::get_if<isa::RegisterType>(&of.variable(registers->tile).type);
      if (type == nullptr || type->layout.size() > most_elements) return;
      TypedLayout typed{type->dtype, type->layout,
                        isa::to_string(type->dtype) + " " + to_string(type->layout)};
      const int line = page.program.source().root_line(stmt.span.begin);
      lines[typed.text] += fmt::format(" <a href=\"#L{0}\">{0}</a>", line);
      pictures.emplace(typed.text, std::move(typed));
    });
  }
  std::size_t drawn = 0;
  for (const auto& [name, typed] : pictures) {
    if (drawn++ == most_pictures) break;
    text += fmt::format("<details><summary>line{}: {}</summary>{}</details>\n", lines[name],
                        escape_xml(name), figure(draw_svg(LayoutScene{{typed}, nullptr})));
  }
  if (text.empty()) return "";
  return "<h2>Tiles</h2>\n<p>Which thread loads or stores which element.</p>\n" + text;
}

std::string timelines(const RunPage& page) {
  if (page.timeline.blocks.empty()) return "";
  std::string text = "<h2>Timeline</h2>\n";
  for (const BlockTimeline& block : page.timeline.blocks) {
    text += figure(draw_svg(page.program, block));
  }
  return page.timeline.cut ? text + "<p>... cut</p>\n" : text;
}

}  // namespace

std::string draw_report(const RunPage& page) {
  const std::string title =
      escape_xml(fmt::format("{}: {}", page.program.source().name(), page.entry.name));
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
             "name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n"
             "<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
             title, page_style) +
         verdict(page) + outputs(page) + listing(page) + accesses(page) + layouts(page) +
         timelines(page) + "</body>\n</html>\n";
}

}  // namespace tilevm::vm
