#include "vm/run/entry_parts.h"

#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/suggest.h"
#include "vm/run/load.h"
#include "vm/run/scalar_file.h"
#include "vm/text/data_error.h"

namespace tilevm::vm {

namespace {

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

/// Takes a name's text out of the options.
std::optional<std::string> take(Texts& texts, const std::string& name) {
  const auto found = texts.find(name);
  if (found == texts.end()) return std::nullopt;
  std::string text = found->second;
  texts.erase(found);
  return text;
}

Error with_option(const Error& error, std::string_view option, const std::string& name) {
  Error named = error;
  named.message = fmt::format("{} {}: {}", option, name, error.message);
  return named;
}

Result<isa::Scalar> parse_scalar(isa::ScalarKind kind, const std::string& name,
                                 const std::string& text) {
  const auto wrong = [&] {
    return usage(fmt::format("--in {}: `{}` is not a value of {}", name, text, to_string(kind)));
  };
  const auto reads = [&](auto& value) {
    const char* const end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data(), end, value);
    return result.ec == std::errc{} && result.ptr == end;
  };
  switch (kind) {
    case isa::ScalarKind::boolean:
      if (text == "true" || text == "1") return isa::Scalar::of(true);
      if (text == "false" || text == "0") return isa::Scalar::of(false);
      return wrong();
    case isa::ScalarKind::f32: {
      float value = 0;
      if (!reads(value)) return wrong();
      return isa::Scalar::f32(value);
    }
    case isa::ScalarKind::u64: {
      std::uint64_t value = 0;
      if (!reads(value)) return wrong();
      return isa::Scalar{kind, value};
    }
    case isa::ScalarKind::i32:
    case isa::ScalarKind::u32:
    case isa::ScalarKind::i64: {
      std::int64_t value = 0;
      if (!reads(value)) return wrong();
      const isa::Scalar scalar = isa::convert(isa::Scalar::i64(value), kind);
      if (scalar.as_int() != value) return wrong();
      return scalar;
    }
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace

std::string quoted(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("`{}`", fmt::join(names, "`, `"));
}

Error unknown_tensor(std::string_view entry, std::string_view role, const std::string& name,
                     const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  const std::string hint = near.empty() ? fmt::format("there is {}", quoted(names))
                                        : fmt::format("did you mean `{}`?", near);
  return usage_error(Code::unknown_tensor,
                     fmt::format("`{}` has no {} `{}`; {}", entry, role, name, hint),
                     {{}, name, {}});
}

Result<Texts> by_name(const std::vector<std::string>& assignments, std::string_view option) {
  Texts texts;
  for (const std::string& assignment : assignments) {
    Result<std::pair<std::string, std::string>> pair = split_assignment(assignment, option);
    if (!pair) return pair.error();
    if (!texts.emplace(pair->first, pair->second).second) {
      return usage(fmt::format("`{} {}` is given twice", option, pair->first));
    }
  }
  return texts;
}

std::optional<isa::DType> Choice::dtype() const {
  if (spec && spec->dtype) return spec->dtype;
  return dest ? dest->dtype : std::nullopt;
}

std::optional<isa::Shape> Choice::shape() const {
  if (spec && spec->shape) return spec->shape;
  return dest ? dest->shape : std::nullopt;
}

Result<Choice> take_choice(Texts& inputs, Texts& outputs, const std::string& name) {
  Choice choice;
  if (const std::optional<std::string> text = take(inputs, name)) {
    Result<Spec> spec = parse_spec(*text);
    if (!spec) return with_option(spec.error(), "--in", name);
    choice.spec = *std::move(spec);
  }
  if (const std::optional<std::string> text = take(outputs, name)) {
    Result<Dest> dest = parse_dest(*text);
    if (!dest) return with_option(dest.error(), "--out", name);
    choice.dest = *std::move(dest);
  }
  return choice;
}

Result<isa::Scalar> take_scalar(Texts& inputs, std::string_view of, const std::string& name,
                                isa::ScalarKind kind) {
  const std::optional<std::string> text = take(inputs, name);
  if (text) {
    const Result<Spec> spec = parse_spec(*text);
    const bool is_file = spec && spec->kind == SourceKind::file && spec->path != "-";
    return is_file ? read_scalar_file(*spec, name, kind) : parse_scalar(kind, name, *text);
  }
  return usage(fmt::format("{} needs a value for its parameter `{} {}`: give it with --in {}=VALUE",
                           of, to_string(kind), name, name));
}

}  // namespace tilevm::vm
