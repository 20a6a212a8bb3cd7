// Members of a request, whatever a client has sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

namespace tilevm::vm::dap {

using boost::json::object;

/// A member of a type; nothing if it is missing or of another type.
[[nodiscard]] inline const object* object_in(const object& from, std::string_view name) {
  const boost::json::value* const value = from.if_contains(name);
  return value != nullptr ? value->if_object() : nullptr;
}
[[nodiscard]] inline const boost::json::array* array_in(const object& from, std::string_view name) {
  const boost::json::value* const value = from.if_contains(name);
  return value != nullptr ? value->if_array() : nullptr;
}
[[nodiscard]] inline std::optional<std::string> text_in(const object& from, std::string_view name) {
  const boost::json::value* const value = from.if_contains(name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}
[[nodiscard]] inline std::optional<std::int64_t> integer_in(const object& from,
                                                            std::string_view name) {
  const boost::json::value* const value = from.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code error;
  const auto number = value->to_number<std::int64_t>(error);
  return error ? std::nullopt : std::optional(number);
}
[[nodiscard]] inline bool flag_in(const object& from, std::string_view name, bool otherwise) {
  const boost::json::value* const value = from.if_contains(name);
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

/// Whether a request wants numbers in hexadecimal.
[[nodiscard]] inline bool wants_hex(const object& arguments) {
  const object* format = object_in(arguments, "format");
  return format != nullptr && flag_in(*format, "hex", false);
}

}  // namespace tilevm::vm::dap
