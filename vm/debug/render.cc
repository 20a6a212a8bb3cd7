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
#include "vm/text/style.h"

namespace tilevm::vm {

namespace {
namespace reply = sim::debug::reply;
using sim::debug::Position;
using sim::debug::Written;

std::string block_text(const std::vector<std::int64_t>& block) {
  return fmt::format("[{}]", fmt::join(block, ", "));
}

std::string written_text(const Written& written) {
  if (written.scalar) {
    return fmt::format("{} = {}", written.name, isa::to_string(*written.scalar));
  }
  return fmt::format("{}: {}[{}], hash {:016x}", written.name, isa::to_string(written.dtype),
                     fmt::join(written.shape, ", "), written.hash);
}

std::string change_text(const sim::debug::WatchChange& change, Format format) {
  std::string text =
      fmt::format("{}: [{}] was {}, is {}", change.text, fmt::join(change.index, ", "),
                  element_text(change.dtype, change.before, format),
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
    if (groups.copies.empty()) return text + "no copy is in flight\n";
    for (const reply::CopyInfo& copy : groups.copies) {
      const std::string stage = copy.stage == sim::PendingCopy::Stage::issued
                                    ? std::string("not committed")
                                : copy.stage == sim::PendingCopy::Stage::committed
                                    ? fmt::format("group {}, in flight", copy.group)
                                    : fmt::format("group {}, retired, no barrier yet", copy.group);
      text += fmt::format("  line {:<4} to {}: {} bytes, {}\n", line(copy.line), copy.tensor,
                          copy.bytes, stage);
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
      text += fmt::format("{} = {}\n", scalar.name, scalar_text(scalar.value));
    }
    return text.empty() ? "no scalar has a value\n" : text;
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
    for (const reply::Cause& cause : why.causes) text += cause_text(cause, ++number);
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
  [[nodiscard]] std::string scalar_text(const isa::Scalar& scalar) const {
    if (options_.format == Format::hex || options_.format == Format::codes) {
      return fmt::format("{:#x}", scalar.bits);
    }
    if (options_.format == Format::bits) return fmt::format("0b{:b}", scalar.bits);
    return isa::to_string(scalar);
  }

  [[nodiscard]] std::string line(sim::debug::SourceLine at) const {
    return line_text(program_.source(), at);
  }

  [[nodiscard]] std::string reason(const reply::Stopped& stop) const {
    using Reason = reply::Stopped::Reason;
    switch (stop.reason) {
      case Reason::breakpoint:
        return stop.hits > 0 ? fmt::format("breakpoint {}, hit {}", stop.breakpoint, stop.hits)
                             : fmt::format("breakpoint {}", stop.breakpoint);
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

  [[nodiscard]] std::string cause_text(const reply::Cause& cause, int number) const {
    std::string text;
    if (cause.skipped > 0) {
      text +=
          fmt::format("     ... copied {} time{}\n", cause.skipped, cause.skipped == 1 ? "" : "s");
    }
    text += fmt::format("{:>3}  {}", number, cause.place.empty() ? "a value" : cause.place);
    if (cause.has_element) {
      text += " = " + element_text(cause.dtype, cause.element, options_.format);
      if (options_.format == Format::value) {
        text += fmt::format(" ({} {})", isa::to_string(cause.dtype),
                            element_text(cause.dtype, cause.element, Format::hex));
      }
    }
    if (cause.thread) text += fmt::format(", thread {} place {}", *cause.thread, *cause.local);
    text += '\n';
    if (!cause.bits.empty()) text += fmt::format("       {}\n", cause.bits);
    using Kind = reply::Cause::Kind;
    switch (cause.kind) {
      case Kind::statement:
        text += fmt::format("       by line {}, {} {}, moment {}:  {}\n", line(cause.position.line),
                            cause.position.kernel, block_text(cause.position.block),
                            cause.position.moment,
                            trimmed(program_.source().line_at(cause.position.span.begin)));
        break;
      case Kind::input:
        text += "       as it was when the run began\n";
        break;
      case Kind::zeros:
        text += "       never written in this block\n";
        break;
      case Kind::unknown:
        text += "       nothing is known before\n";
        break;
    }
    return text + sources_text(cause);
  }

  /// What the value was made of; with several sources each has a number, by which it is followed.
  [[nodiscard]] static std::string sources_text(const reply::Cause& cause) {
    std::string text;
    for (const reply::Cause::Source& source : cause.sources) {
      text += "         ";
      if (cause.branches > 1) text += fmt::format("({}) ", fmt::join(source.branches, ", "));
      text += source.text;
      const auto& numbers = source.branches;
      const bool followed =
          cause.branches > 1 && std::ranges::find(numbers, cause.followed) != numbers.end();
      if (followed) {
        text += numbers.size() == 1 ? ", followed" : fmt::format(", {} followed", cause.followed);
      }
      text += '\n';
    }
    if (cause.more > 0) text += fmt::format("         and {} smaller ones\n", cause.more);
    return text;
  }

  static std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == std::string_view::npos ? std::string_view{} : text.substr(begin);
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
