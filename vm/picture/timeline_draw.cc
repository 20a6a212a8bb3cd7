// Timelines as Chrome traces, as text and as SVG.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "isa/program/group_name.h"
#include "vm/picture/canvas.h"
#include "vm/picture/timeline.h"

namespace tilevm::vm {

namespace {

int line_of(const isa::VerifiedProgram& program, Span span) {
  return program.source().locate(span.begin).line;
}

std::string block_name(const isa::VerifiedProgram& program, const BlockTimeline& timeline) {
  std::string name = fmt::format("{} block {},{},{}", program.kernel(timeline.kernel).name,
                                 timeline.block[0], timeline.block[1], timeline.block[2]);
  if (timeline.launch > 0) name += fmt::format(", launch {}", timeline.launch + 1);
  return name;
}

std::string flight_name(const Flight& flight) {
  const bool one = flight.count == 1;
  if (flight.kind == FlightKind::products) {
    return fmt::format("{} product{} in flight", flight.count, one ? "" : "s");
  }
  return fmt::format("{} cop{} in flight", flight.count, one ? "y" : "ies");
}

std::string_view category(TickKind kind) {
  switch (kind) {
    case TickKind::other:
      return "compute";
    case TickKind::memory:
      return "memory";
    case TickKind::copy:
    case TickKind::commit:
      return "copy";
    case TickKind::wait:
      return "wait";
    case TickKind::barrier:
      return "barrier";
    case TickKind::dot:
    case TickKind::async_dot:
      return "dot";
  }
  return "compute";
}

/// A colour of the palette.
int color_of(TickKind kind) {
  switch (kind) {
    case TickKind::other:
      return 7;
    case TickKind::memory:
      return 4;
    case TickKind::copy:
    case TickKind::commit:
      return 0;
    case TickKind::wait:
      return 2;
    case TickKind::barrier:
      return 1;
    case TickKind::dot:
    case TickKind::async_dot:
      return 5;
  }
  return 7;
}

bool warps_differ(const BlockTimeline& timeline) {
  return std::any_of(timeline.ticks.begin(), timeline.ticks.end(),
                     [](const Tick& tick) { return !tick.warps.empty(); });
}

/// The events of one block.
class BlockEvents {
 public:
  BlockEvents(const isa::VerifiedProgram& program, const BlockTimeline& timeline, int process,
              Json& events)
      : program_(program), timeline_(timeline), process_(process), events_(events) {}

  void write() {
    const std::int64_t threads = program_.info(timeline_.kernel).num_threads;
    const std::int64_t warps = (threads + 31) / 32;
    name("process_name", 0, block_name(program_, timeline_));
    if (program_.info(timeline_.kernel).has_groups()) {
      write_groups();
    } else {
      write_warps(warps);
    }
    for (std::size_t i = 0; i < timeline_.flights.size(); ++i) write(timeline_.flights[i], i);
  }

 private:
  void write_groups() {
    const auto& groups = program_.info(timeline_.kernel).groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      name("thread_name", static_cast<std::int64_t>(g), isa::name_of(groups[g]));
    }
    for (const Tick& tick : timeline_.ticks) write(tick, tick.group);
  }
  void write_warps(std::int64_t warps) {
    const bool by_warp = warps_differ(timeline_);
    for (std::int64_t w = 0; w < (by_warp ? warps : 1); ++w) {
      name("thread_name", w, by_warp ? fmt::format("warp {}", w) : "all warps");
    }
    for (const Tick& tick : timeline_.ticks) {
      if (!by_warp) {
        write(tick, 0);
      } else if (tick.warps.empty()) {
        for (std::int64_t w = 0; w < warps; ++w) write(tick, w);
      } else {
        for (const std::int64_t w : tick.warps) write(tick, w);
      }
    }
  }
  Json event(std::string_view phase, std::int64_t thread) const {
    Json object = Json::object();
    return object.set("ph", phase).set("pid", process_).set("tid", thread);
  }
  void name(std::string_view what, std::int64_t thread, std::string_view text) {
    Json arguments = Json::object();
    arguments.set("name", text);
    events_.push(event("M", thread).set("name", what).set("args", std::move(arguments)));
  }
  void write(const Tick& tick, std::int64_t thread) {
    Json arguments = Json::object();
    const int line = line_of(program_, tick.span);
    arguments.set("line", line).set("text", program_.source().line(line));
    events_.push(event("X", thread)
                     .set("name", tick.mnemonic)
                     .set("cat", category(tick.kind))
                     .set("ts", tick.begin)
                     .set("dur", 1)
                     .set("args", std::move(arguments)));
  }
  void write(const Flight& flight, std::size_t number) {
    const std::string id = fmt::format("{}.{}", process_, number);
    Json arguments = Json::object();
    arguments.set("line", line_of(program_, flight.span)).set("count", flight.count);
    arguments.set("waited", flight.waited);
    const std::string title = flight_name(flight);
    for (const bool begin : {true, false}) {
      Json one = event(begin ? "b" : "e", flight.group);
      one.set("name", title).set("cat", "in flight").set("id", id);
      one.set("ts", begin ? flight.begin : flight.end);
      if (begin) one.set("args", arguments);
      events_.push(std::move(one));
    }
  }

  const isa::VerifiedProgram& program_;
  const BlockTimeline& timeline_;
  int process_;
  Json& events_;
};

/// A row of a chart: a statement of the text, executed by one group of warps.
struct Row {
  std::string mnemonic;
  TickKind kind = TickKind::other;
  std::vector<std::uint64_t> begins;
};

/// Rows by group, then in the order of the text.
using Rows = std::map<std::pair<std::uint16_t, std::uint32_t>, Row>;

Rows rows_of(const BlockTimeline& timeline) {
  Rows rows;
  for (const Tick& tick : timeline.ticks) {
    Row& row = rows[{tick.group, tick.span.begin}];
    row.mnemonic = tick.mnemonic;
    row.kind = tick.kind;
    row.begins.push_back(tick.begin);
  }
  return rows;
}

}  // namespace

Json chrome_trace(const isa::VerifiedProgram& program, const Timeline& timeline) {
  Json events = Json::array();
  int process = 0;
  for (const BlockTimeline& block : timeline.blocks) {
    BlockEvents(program, block, process++, events).write();
  }
  Json other = Json::object();
  other.set("file", program.source().name()).set("unit", "a microsecond is one statement");
  other.set("cut", timeline.cut);
  Json object = Json::object();
  object.set("traceEvents", std::move(events)).set("displayTimeUnit", "ms");
  return object.set("otherData", std::move(other));
}

std::string draw_text(const isa::VerifiedProgram& program, const BlockTimeline& timeline,
                      std::size_t width) {
  const std::uint64_t steps = std::max<std::uint64_t>(timeline.steps, 1);
  const std::uint64_t columns = std::min<std::uint64_t>(steps, width);
  const auto column = [&](std::uint64_t time) {
    return std::min(time * columns / steps, columns - 1);
  };
  std::string text = fmt::format("{}: {} statements", block_name(program, timeline), steps);
  if (columns < steps) text += fmt::format(" in {} columns", columns);
  text += "; # runs, = in flight\n";
  const isa::KernelInfo& info = program.info(timeline.kernel);
  int group = -1;
  for (const auto& [key, row] : rows_of(timeline)) {
    const std::uint32_t begin = key.second;
    if (info.has_groups() && std::exchange(group, int{key.first}) != key.first) {
      text += fmt::format("{}:\n", isa::name_of(info.groups[key.first]));
    }
    std::string cells(columns, ' ');
    for (const Flight& flight : timeline.flights) {
      if (flight.span.begin != begin || flight.group != key.first) continue;
      for (std::uint64_t c = column(flight.begin); c <= column(flight.end - 1); ++c) cells[c] = '=';
    }
    for (const std::uint64_t at : row.begins) cells[column(at)] = '#';
    text +=
        fmt::format("{:>5} {:<20} |{}|\n", line_of(program, {begin, begin}), row.mnemonic, cells);
  }
  return text;
}

std::string draw_svg(const isa::VerifiedProgram& program, const BlockTimeline& timeline) {
  constexpr std::int64_t row_height = 18, names = 190, most_width = 840, most_columns = 210;
  const std::uint64_t steps = std::max<std::uint64_t>(timeline.steps, 1);
  const auto columns = static_cast<std::uint64_t>(
      std::min<std::int64_t>(static_cast<std::int64_t>(steps), most_columns));
  const auto wide =
      std::clamp<std::int64_t>(most_width / static_cast<std::int64_t>(columns), 4, 40);
  const auto column = [&](std::uint64_t time) {
    return static_cast<std::int64_t>(std::min(time * columns / steps, columns - 1));
  };
  Canvas canvas;
  std::int64_t y = Canvas::margin + 14;
  const std::string title =
      fmt::format("{}: {} statements from left to right", block_name(program, timeline), steps);
  canvas.word(Canvas::margin, y, title, 13);
  y += 10;
  const isa::KernelInfo& info = program.info(timeline.kernel);
  int group = -1;
  for (const auto& [key, row] : rows_of(timeline)) {
    const std::uint32_t begin = key.second;
    if (info.has_groups() && std::exchange(group, int{key.first}) != key.first) {
      canvas.word(Canvas::margin, y + 13, isa::name_of(info.groups[key.first]), 11);
      y += row_height;
    }
    const int line = line_of(program, {begin, begin});
    canvas.word(Canvas::margin + 30, y + 13, fmt::format("{}", line), 11, Canvas::Anchor::end,
                true);
    canvas.word(Canvas::margin + 38, y + 13, row.mnemonic, 11);
    const std::int64_t row_left = Canvas::margin + names;
    for (const Flight& flight : timeline.flights) {
      if (flight.span.begin != begin || flight.group != key.first) continue;
      const std::int64_t from = column(flight.begin), to = column(flight.end - 1) + 1;
      canvas.cell({row_left + from * wide, y + 6, (to - from) * wide, row_height - 12, palette(0),
                   "",
                   fmt::format("{} from {} to {}{}", flight_name(flight), flight.begin, flight.end,
                               flight.waited ? "" : ", never waited for")});
    }
    std::int64_t last = -1;
    for (const std::uint64_t at : row.begins) {
      const std::int64_t from = column(at);
      if (from == last) continue;
      last = from;
      canvas.cell({row_left + from * wide, y + 2, wide, row_height - 4, palette(color_of(row.kind)),
                   "", fmt::format("line {}: {} at {}", line, row.mnemonic, at)});
    }
    y += row_height;
  }
  return canvas.finish(title);
}

}  // namespace tilevm::vm
