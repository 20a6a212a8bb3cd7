// Bytes of shared and global tensors.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "vm/dap/adapter.h"
#include "vm/dap/arguments.h"

namespace tilevm::vm::dap {

namespace {

using sim::debug::GlobalPlace;
using sim::debug::SharedPlace;
using sim::debug::Tensor;

/// The most bytes of one answer.
constexpr std::int64_t max_bytes = std::int64_t{1} << 22;

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::vector<std::uint8_t>> from_base64(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::uint8_t>(group >> bits));
  }
  return bytes;
}

/// The memory behind a reference: the bytes of a tensor.
struct Region {
  Tensor tensor;
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  std::size_t begin = 0;  ///< first byte of the tensor in shared memory
};

Result<Region> region_of(sim::debug::Session& session, const std::string& reference) {
  const auto tensor = session.names().tensor(reference);
  if (!tensor) return tensor.error();
  if (const auto* shared = std::get_if<SharedPlace>(&tensor->place)) {
    const auto begin = static_cast<std::size_t>(shared->first_bit / 8);
    const auto& layout = shared->type->layout;
    const auto bits = static_cast<std::size_t>(layout.storage_size()) * tensor->dtype.bits;
    return Region{*tensor, session.focus_block()->shared.bytes.data() + begin, (bits + 7) / 8,
                  begin};
  }
  if (const auto* global = std::get_if<GlobalPlace>(&tensor->place)) {
    return Region{*tensor, global->buffer.data, global->buffer.bytes, 0};
  }
  return Error{ErrorKind::usage,
               fmt::format("`{}` is in registers, which have no address", reference)};
}

}  // namespace

Adapter::Answer Adapter::read_memory(const Object& arguments) {
  const auto region = region_of(*session_, text_in(arguments, "memoryReference").value_or(""));
  if (!region) return region.error();
  const std::int64_t offset = integer_in(arguments, "offset").value_or(0);
  const std::int64_t count = integer_in(arguments, "count").value_or(0);
  Json body = Json::object();
  body.set("address", fmt::format("{:#x}", std::max<std::int64_t>(offset, 0)));
  const auto size = static_cast<std::int64_t>(region->bytes);
  if (offset < 0 || offset >= size || count <= 0) {
    return std::move(body.set("unreadableBytes", std::max<std::int64_t>(count, 0)));
  }
  const std::int64_t taken = std::min({count, size - offset, max_bytes});
  body.set("data", to_base64({region->data + offset, static_cast<std::size_t>(taken)}));
  if (taken < count) body.set("unreadableBytes", count - taken);
  return body;
}

Adapter::Answer Adapter::write_memory(const Object& arguments) {
  const auto region = region_of(*session_, text_in(arguments, "memoryReference").value_or(""));
  if (!region) return region.error();
  const auto bytes = from_base64(text_in(arguments, "data").value_or(""));
  const std::int64_t offset = integer_in(arguments, "offset").value_or(0);
  if (!bytes) return Error{ErrorKind::usage, "the data is not base64"};
  const auto size = static_cast<std::int64_t>(bytes->size());
  if (offset < 0 || offset > static_cast<std::int64_t>(region->bytes) - size) {
    return Error{ErrorKind::usage, fmt::format("the tensor has {} bytes", region->bytes)};
  }
  session_->write_bytes(region->tensor, static_cast<std::size_t>(offset), *bytes);
  Json changed = Json::object(), body = Json::object();
  changed.set("memoryReference", region->tensor.name).set("offset", offset).set("count", size);
  if (client_.memory_events) event("memory", std::move(changed));
  return body.set("bytesWritten", size);
}

}  // namespace tilevm::vm::dap
