// Replies of the debugger as JSON.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isa/base/render.h"
#include "isa/type/number.h"
#include "vm/data/value_json.h"
#include "vm/debug/json_parts.h"
#include "vm/debug/render.h"

namespace tilevm::vm {

namespace {

namespace reply = sim::debug::reply;
using sim::debug::Element;

/// Fills an object for each kind of reply.
class Writer {
 public:
  explicit Writer(const isa::VerifiedProgram& program) : program_(program) {}

  Json operator()(const Error& error) const { return make("error").set("message", error.message); }

  Json operator()(const reply::Stopped& stop) const {
    Json object = make("stopped");
    object.set("reason", reason_name(stop.reason));
    if (stop.breakpoint > 0) object.set("breakpoint", stop.breakpoint);
    if (stop.hits > 0) object.set("hits", stop.hits);
    object.set("position", position_json(stop.position, program_.source()));
    if (!stop.wrote.empty()) object.set("wrote", written_json(stop.wrote));
    if (!stop.changed.empty()) object.set("changed", scalars_json(stop.changed));
    if (!stop.condition.empty()) object.set("condition", values_json(stop.condition));
    if (!stop.no_condition.empty()) object.set("no_condition", stop.no_condition);
    if (stop.change) object.set("change", change_json(*stop.change, program_.source()));
    if (stop.fault) {
      object.set("code", to_string(stop.fault->diagnostic.code));
      object.set("message", stop.fault->diagnostic.message);
      object.set("report", render(stop.fault->diagnostic, program_.source(), false));
    }
    return object;
  }

  Json operator()(const reply::Tile& tile) const {
    Json object = make("tile");
    object.set("text", tile.text).set("type", tile.type).set("shape", numbers(tile.shape));
    object.set("origin", numbers(tile.origin));
    object.set("codes", list(tile.elements, [](const Element& e) { return Json(e.code); }));
    object.set("values", list(tile.elements, [&](const Element& element) {
                 return element.undefined ? Json() : code_json(tile.dtype, element.code);
               }));
    object.set("nan", tile.nan).set("inf", tile.inf).set("undefined", tile.undefined);
    if (tile.outside_view) {
      object.set("outside", list(tile.outside, [](std::size_t k) { return Json(k); }));
      object.set("outside_view", outside_json(*tile.outside_view));
    }
    if (!tile.threads.empty()) {
      object.set("threads", numbers(tile.threads)).set("place", tile.local);
    }
    return object;
  }

  Json operator()(const reply::ThreadTile& tile) const {
    Json object = make("thread_tile");
    object.set("text", tile.text).set("type", tile.type).set("thread", tile.thread);
    object.set("indices", list(tile.indices, numbers));
    object.set("elements", list(tile.elements, [&](const Element& element) {
                 return element_json(tile.dtype, element);
               }));
    if (std::ranges::any_of(tile.outside, [](const auto& view) { return view.has_value(); })) {
      object.set("outside", list(tile.outside, [](const auto& view) {
                   return view ? outside_json(*view) : Json();
                 }));
    }
    std::string bytes;
    for (const std::uint8_t byte : tile.bytes) bytes += fmt::format("{:02x}", byte);
    return object.set("bytes", bytes);
  }

  Json operator()(const reply::Computed& computed) const {
    Json object = make("value").set("text", computed.text);
    std::visit([&](auto value) { object.set("value", value); }, computed.value);
    return object;
  }

  Json operator()(const reply::LayoutShown& shown) const {
    Json object = make("layout").set("name", shown.name).set("type", shown.type);
    if (shown.registers) object.set("layout", isa::to_string(*shown.registers));
    if (shown.memory) object.set("layout", isa::to_string(*shown.memory));
    return object;
  }

  Json operator()(const reply::MemoryShown& shown) const {
    Json object = make("memory").set("text", shown.text).set("type", shown.type);
    object.set("elements", list(shown.elements, [&](const reply::MemoryElement& element) {
                 Json item = element_json(shown.dtype, element.element);
                 item.set("index", numbers(element.index)).set("bit", element.bit);
                 item.set("in_flight", element.in_flight).set("group", element.group);
                 item.set("visible", element.visible);
                 set_line(item, program_.source(), element.line);
                 if (element.writer) item.set("writer", *element.writer);
                 set_readers(item, element);
                 return item;
               }));
    return object;
  }

  Json operator()(const reply::Blocks& blocks) const {
    Json object = make("blocks").set("launch", blocks.launch).set("kernel", blocks.kernel);
    object.set("begun", blocks.begun).set("total", blocks.total);
    object.set("residents", list(blocks.residents, [&](const reply::BlockInfo& info) {
                 Json item = Json::object();
                 item.set("block", numbers(info.block));
                 set_line(item, program_.source(), info.line);
                 item.set("steps", info.steps).set("focus", info.focus).set("ended", info.ended);
                 return item.set("waits_for", info.waits_for);
               }));
    return object;
  }

  Json operator()(const reply::Race& race) const {
    Json object = make("races");
    object.set("fault", race.fault ? Json(race.fault->diagnostic.message) : Json());
    return object;
  }

  Json operator()(const reply::Groups& groups) const {
    Json object = make("groups").set("committed", groups.committed);
    object.set("copies", list(groups.copies, [&](const reply::CopyInfo& copy) {
                 Json item = Json::object();
                 set_line(item, program_.source(), copy.line);
                 item.set("tensor", copy.tensor).set("group", copy.group);
                 item.set("retired", copy.stage == sim::PendingCopy::Stage::retired);
                 return item.set("bytes", copy.bytes);
               }));
    object.set("products", list(groups.products, [&](const reply::ProductInfo& product) {
                 Json item = Json::object();
                 set_line(item, program_.source(), product.line);
                 item.set("result", product.result).set("warps", product.warps);
                 return item.set("group", product.group);
               }));
    return object;
  }

  Json operator()(const reply::Barriers& barriers) const {
    Json object = make("barriers").set("passed", barriers.epoch);
    object.set("barriers", list(barriers.barriers, [&](const reply::BarrierInfo& info) {
                 Json item = Json::object();
                 set_line(item, program_.source(), info.line);
                 item.set("mnemonic", info.mnemonic);
                 return item.set("executed", info.executed);
               }));
    return object;
  }

  Json operator()(const reply::Stats& stats) const {
    Json object = make("stats").set("steps", stats.steps);
    object.set("statements", list(stats.statements, [&](const reply::StatInfo& info) {
                 Json item = Json::object();
                 set_line(item, program_.source(), info.line);
                 item.set("mnemonic", info.mnemonic);
                 return item.set("executed", info.executed);
               }));
    return object;
  }

  Json operator()(const reply::Cost& cost) const {
    Json object = make("cost").set("position", position_json(cost.position, program_.source()));
    for (std::size_t t = 0; t < cost.counts.size(); ++t) {
      const sim::AccessCount& count = cost.counts[t];
      if (count.requests == 0) continue;
      Json item = Json::object();
      item.set("requests", count.requests).set("bytes", count.bytes);
      item.set("transfers", count.transfers).set("ideal", count.ideal);
      object.set(std::string(to_string(static_cast<sim::Traffic>(t))), std::move(item));
    }
    return object;
  }

  Json operator()(const reply::Scalars& scalars) const {
    return make("scalars").set("values", scalars_json(scalars.scalars));
  }

  Json operator()(const reply::Tensors& tensors) const {
    return make("tensors").set("tensors", tensors_json(tensors.tensors));
  }

  Json operator()(const reply::Locals& locals) const {
    return make("locals")
        .set("values", scalars_json(locals.scalars.scalars))
        .set("tensors", tensors_json(locals.tensors.tensors));
  }

  Json operator()(const reply::Breakpoints& breakpoints) const {
    return make("breakpoints")
        .set("list", list(breakpoints.list, [&](const reply::BreakInfo& info) {
               Json item = Json::object();
               item.set("number", info.number);
               item.set("what", info.line.line > 0
                                    ? "line " + line_text(program_.source(), info.line)
                                    : info.what);
               item.set("condition", info.condition).set("hits", info.hits);
               item.set("enabled", info.enabled).set("temporary", info.temporary);
               return item.set("watch", info.is_watch);
             }));
  }

  Json operator()(const reply::Snapshots& shown) const {
    Json object = make("snapshots").set("count", shown.use.count).set("bytes", shown.use.bytes);
    object.set("limit", shown.use.limit).set("farthest", shown.use.farthest);
    return object.set("milliseconds", shown.use.milliseconds).set("taking_ms", shown.use.taking);
  }

  Json operator()(const reply::WhyShown& why) const {
    Json object = make("why").set("text", why.text).set("more", why.more);
    object.set(
        "steps", list(why.causes, [&](const reply::Cause& cause) {
          using Kind = reply::Cause::Kind;
          Json item = Json::object();
          item.set("kind", cause.kind == Kind::statement   ? "statement"
                           : cause.kind == Kind::input     ? "input"
                           : cause.kind == Kind::parameter ? "parameter"
                           : cause.kind == Kind::zeros     ? "zeros"
                                                           : "unknown");
          item.set("place", cause.place).set("bits", cause.bits).set("copy", cause.copy);
          if (cause.has_element) {
            item.set("element", element_json(cause.dtype, cause.element));
            item.set("dtype", isa::to_string(cause.dtype));
          }
          if (cause.scalar) {
            item.set("value", scalar_json(*cause.scalar));
            item.set("dtype", isa::to_string(cause.scalar->kind));
          }
          if (cause.thread) item.set("thread", *cause.thread).set("local", *cause.local);
          if (cause.kind == Kind::statement) {
            item.set("position", position_json(cause.position, program_.source()));
          }
          if (cause.outside) item.set("outside", outside_json(*cause.outside));
          item.set("sources", list(cause.sources, [](const reply::Cause::Source& source) {
                     Json one = Json::object();
                     one.set("text", source.text);
                     return std::move(one.set(
                         "branches", list(source.branches, [](std::size_t n) { return Json(n); })));
                   }));
          item.set("more_sources", cause.more).set("followed", cause.followed);
          item.set("values", cause.values);
          return item.set("skipped", cause.skipped);
        }));
    return object;
  }

  Json operator()(const reply::Changed& changed) const {
    Json object = make("changed").set("text", changed.text);
    object.set("change", changed.change ? change_json(*changed.change, program_.source()) : Json());
    if (changed.change) object.set("position", position_json(changed.position, program_.source()));
    return object;
  }

  Json operator()(const reply::TraceShown& trace) const {
    return make("trace").set("steps", list(trace.steps, [&](const reply::Traced& step) {
                               Json item = position_json(step.position, program_.source());
                               return std::move(item.set("wrote", written_json(step.wrote)));
                             }));
  }

  Json operator()(const reply::HashShown& shown) const {
    return make("hash").set("hash", fmt::format("{:016x}", shown.hash));
  }
  Json operator()(const reply::Done& done) const {
    return make("done").set("message", done.message);
  }

 private:
  static Json outside_json(const reply::OutsideView& outside) {
    Json object = Json::object();
    object.set("view", outside.view).set("extents", numbers(outside.extents));
    return std::move(object.set("index", numbers(outside.index)));
  }
  static Json make(std::string_view kind) {
    Json object = Json::object();
    return object.set("reply", kind);
  }

  const isa::VerifiedProgram& program_;
};

}  // namespace

Json reply_json(const sim::debug::Reply& reply, const isa::VerifiedProgram& program) {
  return std::visit(Writer(program), reply);
}

}  // namespace tilevm::vm
