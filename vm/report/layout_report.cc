#include "vm/report/layout_report.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/dot/dot.h"
#include "isa/layout/draw.h"
#include "vm/picture/bit_rows.h"
#include "vm/text/parts.h"
#include "vm/text/style.h"

namespace tilevm::vm {

namespace {

/// Operands of a tensor-core instruction whose fragment is the layout: "A, C".
std::string operands_like(const isa::RegisterLayout& layout, const isa::MmaShape& shape) {
  std::string operands;
  const auto add = [&](const isa::RegisterLayout& fragment, char name) {
    if (fragment == layout) operands += fmt::format("{}{}", operands.empty() ? "" : ", ", name);
  };
  add(shape.a_layout, 'A');
  add(shape.b_layout, 'B');
  add(shape.c_layout, 'C');
  return operands;
}

/// A line for each instruction's shape: "C of mma.m16n8k16: f16 -> f32, f16; i8, u8 -> i32".
std::vector<std::string> fragments_by_shape(const isa::RegisterLayout& layout) {
  struct Types {
    std::vector<std::string> operands, accumulators;
    int min_sm = 0;
  };
  std::vector<std::string> shapes;
  std::map<std::string, std::vector<Types>> by_shape;
  const auto add = [](std::vector<std::string>& list, const std::string& item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  };
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    const std::string operands = operands_like(layout, shape);
    if (operands.empty()) continue;
    const std::string name = fmt::format("{} of mma.{}", operands, shape.name);
    add(shapes, name);
    std::vector<Types>& types = by_shape[name];
    const std::string a = to_string(shape.a), d = to_string(shape.accumulator);
    auto known = std::find_if(types.begin(), types.end(), [&](const Types& one) {
      return one.operands == std::vector<std::string>{a};
    });
    if (known == types.end()) known = types.insert(types.end(), {{a}, {}, shape.min_sm});
    add(known->accumulators, d);
  }
  std::vector<std::string> lines;
  for (const std::string& name : shapes) {
    std::vector<Types> merged;
    for (const Types& one : by_shape[name]) {
      const auto same = std::find_if(merged.begin(), merged.end(), [&](const Types& other) {
        return other.accumulators == one.accumulators && other.min_sm == one.min_sm;
      });
      if (same == merged.end()) {
        merged.push_back(one);
      } else {
        same->operands.push_back(one.operands.front());
      }
    }
    std::string types;
    for (const Types& one : merged) {
      types += fmt::format("{}{} -> {}", types.empty() ? "" : "; ", fmt::join(one.operands, ", "),
                           fmt::join(one.accumulators, ", "));
      if (one.min_sm > 80) types += fmt::format(" (from sm_{} on)", one.min_sm);
    }
    lines.push_back(fmt::format("{}: {}", name, types));
  }
  return lines;
}

/// Columns that a line takes on a terminal.
std::size_t visible_width(std::string_view line) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      i = line.find('m', i);
      if (i == std::string_view::npos) break;
    } else {
      ++width;
    }
  }
  return width;
}

/// Two texts side by side.
std::string beside(const std::string& left, const std::string& right) {
  const std::vector<std::string_view> a = parts_of(left, '\n'), b = parts_of(right, '\n');
  std::size_t width = 0;
  for (const std::string_view line : a) width = std::max(width, visible_width(line));
  std::string text;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    std::string line(i < a.size() ? a[i] : "");
    line.append(width - visible_width(line) + 4, ' ');
    line += i < b.size() ? b[i] : "";
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string drawing(const TypedLayout& typed, bool color) {
  return typed.registers() != nullptr ? draw_text(*typed.registers(), color)
                                      : draw_text(*typed.memory(), typed.bits(), color);
}

std::string legend(const TypedLayout& typed) {
  if (typed.registers() != nullptr) return "a cell is thread:local of the element";
  return typed.dtype ? "a cell is offset@bank of the element" : "a cell is the element's offset";
}

Json list_json(const std::vector<std::int64_t>& values) {
  Json list = Json::array();
  for (const std::int64_t value : values) list.push(value);
  return list;
}

/// One entry an element in row-major order, at most so many.
constexpr std::int64_t most_elements = std::int64_t{1} << 16;

Json registers_json(const isa::RegisterLayout& layout) {
  Json object = Json::object();
  object.set("threads", layout.num_threads()).set("locals", layout.num_locals());
  object.set("replicas", layout.num_replicas());
  Json places = Json::array();
  for (std::int64_t k = 0; k < std::min(layout.size(), most_elements); ++k) {
    const isa::Index index = isa::unravel(k, layout.shape());
    places.push(list_json({layout.first_thread_of(index), layout.local_of(index)}));
  }
  object.set("places", std::move(places)).set("cut", layout.size() > most_elements);
  Json fragments = Json::array();
  for (const isa::MmaShape& shape : isa::mma_shapes()) {
    const std::string operands = operands_like(layout, shape);
    if (operands.empty()) continue;
    Json item = Json::object();
    item.set("instruction", "mma." + shape.name).set("operands", operands);
    item.set("a", to_string(shape.a)).set("b", to_string(shape.b));
    item.set("accumulator", to_string(shape.accumulator)).set("min_sm", shape.min_sm);
    fragments.push(std::move(item));
  }
  return object.set("fragments", std::move(fragments));
}

Json memory_json(const isa::MemoryLayout& layout) {
  Json object = Json::object();
  const std::int64_t size = isa::element_count(layout.shape());
  Json offsets = Json::array();
  for (std::int64_t k = 0; k < std::min(size, most_elements); ++k) {
    offsets.push(layout.offset(isa::unravel(k, layout.shape())));
  }
  object.set("storage", layout.storage_size()).set("offsets", std::move(offsets));
  return object.set("cut", size > most_elements);
}

}  // namespace

std::string layout_text(const LayoutScene& scene, bool color) {
  const TypedLayout& first = scene.layouts.front();
  const auto titled = [&](const TypedLayout& typed) {
    return paint(typed.text, Style::bold, color) + "\n" + drawing(typed, color);
  };
  std::string text =
      scene.layouts.size() == 1 ? titled(first) : beside(titled(first), titled(scene.layouts[1]));
  text += paint(legend(first), Style::dim, color) + "\n\n";
  bool bits = true;
  for (const TypedLayout& one : scene.layouts) bits = bits && one.registers() && one.dtype;
  if (bits) text += draw_bits(scene.layouts, 0) + '\n';
  for (const TypedLayout& one : scene.layouts) {
    if (one.registers() != nullptr) text += describe(*one.registers()) + '\n';
  }
  if (scene.layouts.size() == 1 && first.registers() != nullptr) {
    for (const std::string& line : fragments_by_shape(*first.registers())) text += line + '\n';
  }
  if (scene.access != nullptr) {
    text += fmt::format("{}: {}\n{}\n{}", scene.access->requests.front().stores ? "store" : "load",
                        scene.access->how, describe(*scene.access), draw_text(*scene.access));
  }
  return text;
}

Json layout_json(const TypedLayout& typed) {
  Json object = typed.registers() != nullptr ? registers_json(*typed.registers())
                                             : memory_json(*typed.memory());
  object.set("text", typed.text);
  object.set("kind", typed.registers() != nullptr ? "register" : "memory");
  if (typed.dtype) object.set("dtype", isa::to_string(*typed.dtype));
  return object.set(
      "shape", std::visit([](const auto& one) { return list_json(one.shape()); }, typed.layout));
}

Json access_json(const SharedAccessPicture& access) {
  Json object = Json::object();
  object.set("how", access.how).set("requests", access.total.requests);
  object.set("wavefronts", access.total.transfers);
  object.set("bank_conflicts", access.total.transfers - access.total.ideal);
  const sim::SharedRequest& request = access.requests[access.worst];
  Json worst = Json::object();
  worst.set("request", access.worst).set("warp", request.warp).set("bytes", request.width);
  Json passes = Json::array();
  for (const Wavefront& wavefront : wavefronts_of(request)) {
    Json banks = Json::array();
    for (const auto& lanes : wavefront.lanes) {
      banks.push(list_json({lanes.begin(), lanes.end()}));
    }
    passes.push(std::move(banks));
  }
  return object.set("worst", worst.set("lanes_by_bank", std::move(passes)));
}

}  // namespace tilevm::vm
