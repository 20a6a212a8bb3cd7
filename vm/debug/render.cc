#include "vm/debug/render.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/origin.h"
#include "isa/base/render.h"
#include "isa/layout/draw.h"
#include "isa/type/number.h"
#include "vm/debug/render_tile.h"
#include "vm/debug/render_why.h"
#include "vm/text/style.h"

namespace tilevm::vm {

namespace {
namespace reply = sim::debug::reply;
using sim::debug::Position;
using sim::debug::Written;

std::string written_text(const Written& written) {
  if (written.scalar) {
    return fmt::format("{} = {}", written.name, isa::to_string(*written.scalar));
  }
  return fmt::format("{}: {}[{}], hash {:016x}", written.name, isa::to_string(written.dtype),
                     fmt::join(written.shape, ", "), written.hash);
}

std::string change_text(const sim::debug::WatchChange& change, Format format) {
  std::string text = change.index.empty()
                         ? change.text
                         : fmt::format("{}: [{}]", change.text, fmt::join(change.index, ", "));
  text += fmt::format(" was {}, is {}", element_text(change.dtype, change.before, format),
                      element_text(change.dtype, change.after, format));
  if (change.changed > 1) {
    text += fmt::format("; {} of {} elements changed", change.changed, change.elements);
  }
  return text;
}

/// Makes lines of replies.
class Renderer {
 public:
  Renderer(const isa::VerifiedProgram& program, const RenderOptions& options)
      : program_(program), options_(options) {}

  std::string operator()(const Error& error) const {
    return fmt::format("error: {}\n", error.message);
  }

  std::string operator()(const reply::Stopped& stop) const {
    std::string text = reason(stop);
    if (!text.empty()) text += '\n';
    for (const Written& written : stop.wrote) text += "  " + written_text(written) + '\n';
    text += changed_text(stop.changed);
    if (stop.change) {
      text += fmt::format("  {}\n", change_text(*stop.change, options_.format));
    }
    if (stop.fault) text += render(stop.fault->diagnostic, program_.source(), options_.color);
    return text + place(stop.position);
  }

  std::string operator()(const reply::Tile& tile) const {
    return tile_text(tile, program_.source(), options_.format);
  }
  std::string operator()(const reply::ThreadTile& tile) const {
    return options_.format == Format::bits ? thread_bits_text(tile)
                                           : thread_text(tile, options_.format);
  }

  std::string operator()(const reply::Computed& computed) const {
    const auto* integer = std::get_if<std::int64_t>(&computed.value);
    if (integer != nullptr && options_.format != Format::value) {
      const auto bits = static_cast<std::uint64_t>(*integer);
      return options_.format == Format::bits ? fmt::format("{} = 0b{:b}\n", computed.text, bits)
                                             : fmt::format("{} = {:#x}\n", computed.text, bits);
    }
    return fmt::format("{} = {}\n", computed.text, sim::debug::to_string(computed.value));
  }

  std::string operator()(const reply::LayoutShown& shown) const {
    std::string text = fmt::format("{}: {}\n", shown.name, shown.type);
    if (shown.registers) {
      text += isa::describe(*shown.registers);
      if (!text.ends_with('\n')) text += '\n';
      text += isa::draw_text(*shown.registers, options_.color, 1024);
    }
    if (shown.memory) {
      text += isa::to_string(*shown.memory) + '\n';
      if (isa::element_count(shown.memory->shape()) <= 4096) {
        text += isa::draw_text(*shown.memory, shown.element_bits);
      }
    }
    return text;
  }

  std::string operator()(const reply::MemoryShown& shown) const {
    return memory_text(shown, program_.source(), options_.format);
  }

  std::string operator()(const reply::Blocks& blocks) const {
    if (blocks.kernel.empty()) return "all launches have ended\n";
    std::string text =
        fmt::format("launch {} of {}, `{}`: {} of {} blocks have begun\n", blocks.launch + 1,
                    blocks.launches, blocks.kernel, blocks.begun, blocks.total);
    for (const reply::BlockInfo& info : blocks.residents) {
      text += fmt::format("{} {}  {}, {} steps", info.focus ? '*' : ' ', block_text(info.block),
                          info.ended ? "at its end" : "line " + line(info.line), info.steps);
      if (!info.waits_for.empty()) text += ", waits for " + info.waits_for;
      text += '\n';
    }
    return text;
  }

  std::string operator()(const reply::Race& race) const {
    if (!race.fault) return "this launch has no fault\n";
    return render(race.fault->diagnostic, program_.source(), options_.color);
  }

  std::string operator()(const reply::Groups& groups) const {
    std::string text = fmt::format("{} groups were committed\n", groups.committed);
    if (groups.copies.empty() && groups.products.empty()) return text + "no copy is in flight\n";
    for (const reply::CopyInfo& copy : groups.copies) {
      const std::string stage = copy.stage == sim::PendingCopy::Stage::issued
                                    ? std::string("not committed")
                                : copy.stage == sim::PendingCopy::Stage::committed
                                    ? fmt::format("group {}, in flight", copy.group)
                                    : fmt::format("group {}, retired, no barrier yet", copy.group);
      text += fmt::format("  line {:<4} to {}: {} bytes, {}\n", line(copy.line), copy.tensor,
                          copy.bytes, stage);
    }
    for (const reply::ProductInfo& product : groups.products) {
      const std::string stage =
          product.group == 0 ? "not committed" : fmt::format("group {}, in flight", product.group);
      text +=
          fmt::format("  line {:<4} a product that adds to {}{}: {}\n", line(product.line),
                      product.result, product.warps.empty() ? "" : " of " + product.warps, stage);
    }
    return text;
  }

  std::string operator()(const reply::Barriers& barriers) const {
    std::string text =
        fmt::format("this block has passed {} barriers; by all blocks:\n", barriers.epoch);
    for (const reply::BarrierInfo& info : barriers.barriers) {
      text +=
          fmt::format("  line {:<4} {}, {} times\n", line(info.line), info.mnemonic, info.executed);
    }
    return text;
  }

  std::string operator()(const reply::Stats& stats) const {
    std::string text = fmt::format("{} steps in all; of this launch:\n", stats.steps);
    for (const reply::StatInfo& info : stats.statements) {
      text +=
          fmt::format("  line {:<4} {:>10}  {}\n", line(info.line), info.executed, info.mnemonic);
    }
    return text;
  }

  std::string operator()(const reply::Cost& cost) const {
    if (!cost.moves) return "the next statement moves no tile\n" + place(cost.position);
    std::string text;
    for (std::size_t t = 0; t < cost.counts.size(); ++t) {
      const sim::AccessCount& count = cost.counts[t];
      if (count.requests == 0) continue;
      const auto traffic = static_cast<sim::Traffic>(t);
      text += fmt::format("  {}: {} requests, {} bytes, {} {}, {} at least\n", to_string(traffic),
                          count.requests, count.bytes, count.transfers,
                          sim::is_global(traffic) ? "sectors" : "wavefronts", count.ideal);
    }
    return text + place(cost.position);
  }

  std::string operator()(const reply::Scalars& scalars) const {
    std::string text;
    for (const sim::debug::ScalarVariable& scalar : scalars.scalars) {
      text += fmt::format("{} = {}\n", scalar.name, scalar_text(scalar.value, options_.format));
    }
    return text.empty() ? "no scalar has a value\n" : text;
  }

  std::string operator()(const reply::Locals& locals) const {
    if (locals.scalars.scalars.empty() && locals.tensors.tensors.empty()) {
      return "no variable of this block has a value\n";
    }
    const std::string scalars =
        locals.scalars.scalars.empty() ? std::string() : (*this)(locals.scalars);
    return scalars + (*this)(locals.tensors);
  }

  std::string operator()(const reply::Tensors& tensors) const {
    std::string text;
    for (const reply::TensorInfo& info : tensors.tensors) {
      text += fmt::format("  {}: {}", info.name, info.type);
      if (info.written > 0) text += fmt::format(", written at moment {}", info.written);
      text += '\n';
    }
    return text;
  }

  std::string operator()(const reply::Breakpoints& breakpoints) const {
    std::string text;
    for (const reply::BreakInfo& info : breakpoints.list) {
      text += fmt::format("{:>3}  {} {}", info.number, info.is_watch ? "watch" : "break",
                          info.line.line > 0 ? "line " + line(info.line) : info.what);
      if (!info.condition.empty()) text += " if " + info.condition;
      text += fmt::format(", {} hits{}{}\n", info.hits, info.temporary ? ", temporary" : "",
                          info.enabled ? "" : ", disabled");
    }
    return text.empty() ? "there are no breakpoints\n" : text;
  }

  std::string operator()(const reply::Snapshots& shown) const {
    const sim::debug::SnapshotUse& use = shown.use;
    return fmt::format(
        "{} snapshot{} {:.1f} of {:.1f} MiB and took {:.1f} ms; the longest way to a moment is "
        "{} steps, about {:.1f} ms\n",
        use.count, use.count == 1 ? " takes" : "s take", static_cast<double>(use.bytes) / (1 << 20),
        static_cast<double>(use.limit) / (1 << 20), use.taking, use.farthest, use.milliseconds);
  }

  std::string operator()(const reply::WhyShown& why) const {
    std::string text;
    int number = 0;
    for (const reply::Cause& cause : why.causes) {
      text += cause_text(cause, ++number, program_, options_.format);
    }
    if (why.more) text += "the way goes on; `levels N` shows more\n";
    if (why.branches) text += "`why N.K` follows branch (K) of step N\n";
    return text;
  }

  std::string operator()(const reply::Changed& changed) const {
    if (!changed.change) return fmt::format("{} has not changed\n", changed.text);
    return fmt::format("{}\n{}", change_text(*changed.change, options_.format),
                       place(changed.position));
  }

  std::string operator()(const reply::TraceShown& trace) const {
    std::string text;
    int number = 0;
    for (const reply::Traced& step : trace.steps) {
      std::string shown = fmt::format("{:>3}  @{:<6} line {:<4} {}", ++number, step.position.moment,
                                      line(step.position.line), step.position.mnemonic);
      const char* separator = step.position.mnemonic.empty() ? "" : " -> ";
      for (const Written& written : step.wrote) {
        shown += separator + written_text(written);
        separator = ", ";
      }
      while (shown.ends_with(' ')) shown.pop_back();
      text += shown + '\n';
    }
    return text.empty() ? "this block has run nothing yet\n" : text;
  }

  std::string operator()(const reply::HashShown& shown) const {
    return fmt::format("{:016x}\n", shown.hash);
  }
  std::string operator()(const reply::Done& done) const { return done.message + '\n'; }

 private:
  [[nodiscard]] std::string line(sim::debug::SourceLine at) const {
    return line_text(program_.source(), at);
  }

  /// Which breakpoint it is, and what its condition read.
  [[nodiscard]] static std::string breakpoint_text(const reply::Stopped& stop) {
    std::string text = fmt::format("breakpoint {}", stop.breakpoint);
    if (stop.hits > 0) text += fmt::format(", hit {}", stop.hits);
    std::vector<std::string> values;
    for (const reply::Computed& computed : stop.condition) {
      values.push_back(
          fmt::format("{} = {}", computed.text, sim::debug::to_string(computed.value)));
    }
    if (!values.empty()) text += fmt::format(", with {}", fmt::join(values, ", "));
    if (!stop.no_condition.empty()) {
      text += fmt::format("; its condition has no value here: {}", stop.no_condition);
    }
    return text;
  }

  /// Scalars that changed since the last stop, in one line.
  [[nodiscard]] std::string changed_text(
      const std::vector<sim::debug::ScalarVariable>& scalars) const {
    constexpr std::size_t most = 8;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < std::min(scalars.size(), most); ++i) {
      parts.push_back(
          fmt::format("{} = {}", scalars[i].name, scalar_text(scalars[i].value, options_.format)));
    }
    if (parts.empty()) return "";
    const std::string more =
        scalars.size() > most ? fmt::format(", and {} more (`info scalars`)", scalars.size() - most)
                              : std::string();
    return fmt::format("  {}{}\n", fmt::join(parts, ", "), more);
  }

  [[nodiscard]] std::string reason(const reply::Stopped& stop) const {
    using Reason = reply::Stopped::Reason;
    switch (stop.reason) {
      case Reason::breakpoint:
        return breakpoint_text(stop);
      case Reason::watch:
        return fmt::format("watchpoint {}, changed by line {} of block {}", stop.change->number,
                           line(stop.change->line), block_text(stop.change->block));
      case Reason::fault:
        return "fault: the next step cannot be made";
      case Reason::interrupted:
        return "interrupted";
      case Reason::begin:
        return "the begin of the run";
      case Reason::block_end:
        return "the block has ended; the next one is in focus";
      case Reason::run_end:
      case Reason::start:
      case Reason::step:
      case Reason::arrived:
        return "";
    }
    return "";
  }

  /// Where one is, and the line of the program.
  [[nodiscard]] std::string place(const Position& position) const {
    std::string text = position_text(position, program_.source()) + '\n';
    if (position.line.line > 0) {
      text += fmt::format("{:>4}  {}\n", position.line.line,
                          program_.source().line_at(position.span.begin));
      text += origin_line(program_.source(), position.span.begin);
    }
    return options_.color ? paint(text, Style::bold, true) : text;
  }

  const isa::VerifiedProgram& program_;
  const RenderOptions& options_;
};

}  // namespace

std::string position_text(const Position& position, const SourceFile& source) {
  const std::string where =
      position.launches > 1 && position.kind != Position::Kind::run_end
          ? fmt::format("launch {} of {}, ", position.launch + 1, position.launches)
          : "";
  switch (position.kind) {
    case Position::Kind::run_end:
      return fmt::format("the end of the run, moment {}", position.moment);
    case Position::Kind::block_end:
      return fmt::format("{}{} {}, at its end, moment {}", where, position.kernel,
                         block_text(position.block), position.moment);
    case Position::Kind::waiting:
      return fmt::format("{}{} {}, waiting at line {}, moment {}", where, position.kernel,
                         block_text(position.block), line_text(source, position.line),
                         position.moment);
    case Position::Kind::stuck:
    case Position::Kind::statement:
      break;
  }
  std::string calls;
  for (const Position::Call& call : position.calls) {
    calls +=
        fmt::format(" in `{}`, called at line {}", call.function, line_text(source, call.line));
  }
  return fmt::format("{}{} {}, line {}{}, moment {}", where, position.kernel,
                     block_text(position.block), line_text(source, position.line), calls,
                     position.moment);
}

std::string render_reply(const sim::debug::Reply& reply, const isa::VerifiedProgram& program,
                         const RenderOptions& options) {
  return std::visit(Renderer(program, options), reply);
}

}  // namespace tilevm::vm
