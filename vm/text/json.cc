#include "vm/text/json.h"

#include <cmath>

#include <fmt/format.h>

#include "isa/base/check.h"

namespace tilevm::vm {

namespace {

/// Bytes of the UTF-8 sequence that begins at `text[0]`, or 0 if it is none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool outside = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f);
  return overlong || outside ? 0 : length;
}

void write_string(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const char c = text.front();
    std::size_t taken = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else if (const std::size_t length = utf8_length(text); length > 0) {
      out += text.substr(0, length);
      taken = length;
    } else {
      out += "\\ufffd";
    }
    text.remove_prefix(taken);
  }
  out += '"';
}

void write_number(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "\"nan\"";
  } else if (std::isinf(value)) {
    out += value < 0 ? "\"-inf\"" : "\"inf\"";
  } else {
    out += fmt::format("{}", value);
  }
}

}  // namespace

Json& Json::set(std::string key, Json value) {
  auto* object = std::get_if<Object>(&value_);
  TILEVM_CHECK(object != nullptr, "a member of what is not an object");
  object->emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  auto* array = std::get_if<Array>(&value_);
  TILEVM_CHECK(array != nullptr, "an item of what is not an array");
  array->push_back(std::move(value));
  return *this;
}

void Json::write(std::string& out) const {
  struct Writer {
    std::string& out;
    void operator()(std::monostate) const { out += "null"; }
    void operator()(bool value) const { out += value ? "true" : "false"; }
    void operator()(std::int64_t value) const { out += fmt::format("{}", value); }
    void operator()(std::uint64_t value) const { out += fmt::format("{}", value); }
    void operator()(double value) const { write_number(value, out); }
    void operator()(const std::string& value) const { write_string(value, out); }
    void operator()(const Array& items) const {
      out += '[';
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += ", ";
        items[i].write(out);
      }
      out += ']';
    }
    void operator()(const Object& members) const {
      out += '{';
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (i > 0) out += ", ";
        write_string(members[i].first, out);
        out += ": ";
        members[i].second.write(out);
      }
      out += '}';
    }
  };
  std::visit(Writer{out}, value_);
}

std::string Json::text() const {
  std::string out;
  write(out);
  return out;
}

}  // namespace tilevm::vm
