// Parts of the debugger's replies as JSON.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/verify/verify.h"
#include "sim/debug/reply.h"
#include "vm/text/json.h"

namespace tilevm::vm {

template <class Items, class F>
Json list(const Items& items, F&& f) {
  Json array = Json::array();
  for (const auto& item : items) array.push(f(item));
  return array;
}

[[nodiscard]] Json numbers(const std::vector<std::int64_t>& values);
[[nodiscard]] Json scalar_json(const isa::Scalar& scalar);
/// The code and the value of an element; no value if it is undefined.
[[nodiscard]] Json element_json(const isa::DType& dtype, const sim::debug::Element& element);
[[nodiscard]] std::string_view reason_name(sim::debug::reply::Stopped::Reason reason);
/// Sets "line", and "file" unless it is the program's own.
void set_line(Json& object, const SourceFile& source, sim::debug::SourceLine line);
[[nodiscard]] Json position_json(const sim::debug::Position& position, const SourceFile& source);
[[nodiscard]] Json written_json(const std::vector<sim::debug::Written>& written);
[[nodiscard]] Json change_json(const sim::debug::WatchChange& change, const SourceFile& source);
/// Sets "readers" and "more_readers", and the threads of the faulty statement.
void set_readers(Json& item, const sim::debug::reply::MemoryElement& element);
/// Values by name.
[[nodiscard]] Json scalars_json(const std::vector<sim::debug::ScalarVariable>& scalars);
[[nodiscard]] Json values_json(const std::vector<sim::debug::reply::Computed>& values);
[[nodiscard]] Json tensors_json(const std::vector<sim::debug::reply::TensorInfo>& tensors);

}  // namespace tilevm::vm
