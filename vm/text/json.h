// JSON values for output: `--json` and records.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tilevm::vm {

/// A JSON value; objects keep the order in which their members were set.
class Json {
 public:
  Json() = default;                      ///< null
  Json(bool value) : value_(value) {}    // NOLINT: implicit by intent
  Json(double value) : value_(value) {}  // NOLINT: implicit by intent
  template <std::signed_integral T>
  Json(T value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT: implicit by intent
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : value_(static_cast<std::uint64_t>(value)) {}  // NOLINT: implicit by intent
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT: implicit by intent
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT: implicit by intent
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT: implicit by intent

  [[nodiscard]] static Json array() { return Json(Array{}); }
  [[nodiscard]] static Json object() { return Json(Object{}); }

  /// Adds a member to an object (each key once) / an item to an array.
  Json& set(std::string key, Json value);
  Json& push(Json value);

  /// The value on one line, always valid JSON: bytes that are not UTF-8 become U+FFFD, numbers that
  /// are not in JSON become the strings "nan", "inf" and "-inf".
  [[nodiscard]] std::string text() const;

 private:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;
  explicit Json(Array value) : value_(std::move(value)) {}
  explicit Json(Object value) : value_(std::move(value)) {}
  void write(std::string& out) const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

}  // namespace tilevm::vm
