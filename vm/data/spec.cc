#include "vm/data/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "isa/base/suggest.h"

namespace tilevm::vm {
namespace {

constexpr std::array<std::pair<std::string_view, SourceKind>, 8> generators = {
    {{"rand", SourceKind::rand},
     {"wild", SourceKind::wild},
     {"corner", SourceKind::corner},
     {"zeros", SourceKind::zeros},
     {"iota", SourceKind::iota},
     {"full", SourceKind::full},
     {"codes", SourceKind::codes},
     {"packed", SourceKind::packed}}};

constexpr std::string_view sources_text =
    "FILE.npy, FILE.npz[:ARRAY], FILE.safetensors[:ARRAY], - (standard input), codes:FILE, "
    "packed:FILE, rand[:SEED], wild[:SEED], corner[:SEED], zeros, iota[:STEP] or full:VALUE";

constexpr std::size_t max_rank = 16;

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

bool is_word(std::string_view text) {
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return !text.empty();
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// "64, 64" without brackets.
Result<isa::Shape> parse_shape(std::string_view inside, std::string_view text) {
  isa::Shape shape;
  if (trim(inside).empty()) return shape;
  while (true) {
    const std::size_t comma = inside.find(',');
    const std::string_view item = trim(inside.substr(0, comma));
    std::int64_t extent = 0;
    const auto [end, code] = std::from_chars(item.data(), item.data() + item.size(), extent);
    if (code != std::errc{} || end != item.data() + item.size() || extent < 1) {
      return usage(
          fmt::format("`{}` in `{}` is not an extent; a shape reads `[64, 64]`", item, text));
    }
    shape.push_back(extent);
    if (shape.size() > max_rank) {
      return usage(fmt::format("the shape in `{}` has more than {} dimensions", text, max_rank));
    }
    if (comma == std::string_view::npos) break;
    inside.remove_prefix(comma + 1);
  }
  if (!checked_count(shape)) return usage(fmt::format("the shape in `{}` is too large", text));
  return shape;
}

Error unknown_type(std::string_view word, std::string_view text) {
  std::vector<std::string> names;
  for (const isa::DType& type : isa::all_dtypes()) names.push_back(isa::to_string(type));
  const std::string near = nearest(word, names);
  return usage(fmt::format("`{}` in `{}` is not a type{}", word, text,
                           near.empty() ? "; types are i6, u4, f16, bf16, f6e3m2, ..."
                                        : fmt::format("; did you mean `{}`?", near)));
}

/// A type and a shape before `=`, if there are any, and the text after it.
struct Typed {
  std::optional<isa::DType> dtype;
  std::optional<isa::Shape> shape;
  std::string_view rest;
};

/// Splits `f16[64,64]=rest`, `f16=rest` and `[64,64]=rest`; other text is all rest, since names of
/// files may hold `=` and brackets too.
Result<Typed> split_type(std::string_view text) {
  Typed typed{{}, {}, text};
  const std::size_t head_end = text.find_first_of("[=");
  if (head_end == std::string_view::npos) return typed;
  const std::string_view word = trim(text.substr(0, head_end));
  const bool bracket = text[head_end] == '[';
  const std::size_t close = bracket ? text.find("]=", head_end) : std::string_view::npos;
  if (bracket && close == std::string_view::npos) return typed;
  if (!word.empty()) {
    typed.dtype = isa::parse_dtype(word);
    if (!typed.dtype && bracket && is_word(word)) return unknown_type(word, text);
    if (!typed.dtype) return typed;
  } else if (!bracket) {
    return typed;
  }
  if (bracket) {
    Result<isa::Shape> shape = parse_shape(text.substr(head_end + 1, close - head_end - 1), text);
    if (!shape) return shape.error();
    typed.shape = *shape;
  }
  typed.rest = text.substr(bracket ? close + 2 : head_end + 1);
  return typed;
}

Error unknown_source(std::string_view word, std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : generators) names.emplace_back(name);
  const std::string near = nearest(word, names);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean `{}`?", near);
  return usage(fmt::format("`{}` is not a source of data{}{} data comes from {}", text, hint,
                           near.empty() ? ";" : "", sources_text));
}

Result<std::uint64_t> parse_seed(std::string_view digits, std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (digits.empty() || code != std::errc{} || end != digits.data() + digits.size()) {
    return usage(fmt::format("`{}` in `{}` is not a seed; a seed is an integer from 0 to 2^64 - 1",
                             digits, text));
  }
  return seed;
}

/// A file, and which of its arrays.
struct FileName {
  std::string path, member;
  Dest::Format format = Dest::Format::npy;
};

/// Reads PATH.npy, PATH.npz:ARRAY, PATH.safetensors:ARRAY and `-`; nothing for other text.
std::optional<FileName> parse_file(std::string_view text) {
  using Format = Dest::Format;
  if (text == "-" || text.starts_with("-:")) {
    return FileName{"-", std::string(text.substr(std::min<std::size_t>(2, text.size()))), {}};
  }
  if (text.ends_with(".npy") && text.size() > 4) return FileName{std::string(text), {}, {}};
  for (const auto& [suffix, format] :
       {std::pair{std::string_view(".npz"), Format::npz}, {".safetensors", Format::safetensors}}) {
    if (text.ends_with(suffix) && text.size() > suffix.size()) {
      return FileName{std::string(text), {}, format};
    }
    const std::size_t at = text.find(std::string(suffix) + ":");
    if (at == std::string_view::npos || at == 0) continue;
    const std::size_t end = at + suffix.size();
    if (end + 1 == text.size()) return {};
    return FileName{std::string(text.substr(0, end)), std::string(text.substr(end + 1)), format};
  }
  return {};
}

/// Fills in what follows the generator's name. `argument` is empty without a value if there is no
/// colon.
Status read_argument(Spec& spec, std::string_view name, std::optional<std::string_view> argument) {
  switch (spec.kind) {
    case SourceKind::iota: {
      if (!argument) return Done{};
      const char* const end = argument->data() + argument->size();
      const auto [parsed, code] = std::from_chars(argument->data(), end, spec.step);
      if (argument->empty() || code != std::errc{} || parsed != end) {
        return usage(fmt::format("`{}` in `{}` is not a step; `iota:4` counts 0, 4, 8, ..",
                                 *argument, spec.text));
      }
      return Done{};
    }
    case SourceKind::zeros:
      if (argument) return usage(fmt::format("`{}` takes no value: `{}`", name, spec.text));
      return Done{};
    case SourceKind::rand:
    case SourceKind::wild:
    case SourceKind::corner: {
      if (!argument) return Done{};
      const Result<std::uint64_t> seed = parse_seed(*argument, spec.text);
      if (!seed) return seed.error();
      spec.seed = *seed;
      return Done{};
    }
    case SourceKind::full:
      if (!argument || argument->empty()) return usage("`full` needs a value, such as `full:1.5`");
      spec.value = *argument;
      return Done{};
    case SourceKind::codes:
    case SourceKind::packed:
    case SourceKind::file:
      break;
  }
  if (!argument) return usage(fmt::format("`{0}` needs a file: `{0}:FILE.npy`", name));
  const std::optional<FileName> file = parse_file(*argument);
  if (!file) {
    return usage(fmt::format("`{}` in `{}` is not an .npy, .npz or .safetensors file", *argument,
                             spec.text));
  }
  spec.path = file->path;
  spec.member = file->member;
  return Done{};
}

}  // namespace

Result<Spec> parse_spec(std::string_view text) {
  const Result<Typed> typed = split_type(text);
  if (!typed) return typed.error();
  Spec spec;
  spec.dtype = typed->dtype;
  spec.shape = typed->shape;
  spec.text = text;
  const std::string_view source = typed->rest;
  const std::size_t colon = source.find(':');
  const std::string_view head = source.substr(0, colon);
  for (const auto& [name, kind] : generators) {
    if (name != head) continue;
    spec.kind = kind;
    std::optional<std::string_view> argument;
    if (colon != std::string_view::npos) argument = source.substr(colon + 1);
    const Status read = read_argument(spec, name, argument);
    if (!read) return read.error();
    return spec;
  }
  const std::optional<FileName> file = parse_file(source);
  if (!file || (colon != std::string_view::npos && is_word(head))) {
    return unknown_source(head, text);
  }
  spec.kind = SourceKind::file;
  spec.path = file->path;
  spec.member = file->member;
  return spec;
}

Result<Dest> parse_dest(std::string_view text) {
  const Result<Typed> typed = split_type(text);
  if (!typed) return typed.error();
  Dest dest{typed->dtype, typed->shape, false, {}, {}, {}, std::string(text)};
  std::string_view path = typed->rest;
  if (path.starts_with("codes:")) {
    dest.codes = true;
    path.remove_prefix(6);
  }
  const bool is_npz = path == "npz:-", is_safetensors = path == "safetensors:-";
  const std::optional<FileName> file = parse_file(is_npz || is_safetensors ? "-" : path);
  if (!file || (file->path == "-" && !file->member.empty())) {
    return usage(
        fmt::format("`{}` cannot hold data; results go to FILE.npy, FILE.npz[:ARRAY], "
                    "FILE.safetensors[:ARRAY], to standard output by -, npz:- or "
                    "safetensors:-, or as raw bits to codes:FILE",
                    text));
  }
  dest.path = file->path;
  dest.member = file->member;
  dest.format = is_npz           ? Dest::Format::npz
                : is_safetensors ? Dest::Format::safetensors
                                 : file->format;
  return dest;
}

}  // namespace tilevm::vm
