#include "vm/run/entry_sizes.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "isa/base/check.h"
#include "vm/data/array_file.h"
#include "vm/text/byte_source.h"

namespace tilevm::vm {
namespace {

std::optional<ExtentSolution> solve(const isa::Expr::Binary& node, std::int64_t value) {
  const std::optional<std::int64_t> a = node.a.constant_int(), b = node.b.constant_int();
  if (a.has_value() == b.has_value()) return std::nullopt;
  const isa::Expr& unknown = a ? node.b : node.a;
  const std::int64_t known = a ? *a : *b;
  std::int64_t rest = 0;
  switch (node.op) {
    case isa::ScalarBinary::mul:
      if (known == 0 || known == -1 || value % known != 0) return std::nullopt;
      return solve_extent(unknown, value / known);
    case isa::ScalarBinary::add:
      if (__builtin_sub_overflow(value, known, &rest)) return std::nullopt;
      return solve_extent(unknown, rest);
    case isa::ScalarBinary::sub:
      if (a ? __builtin_sub_overflow(known, value, &rest)
            : __builtin_add_overflow(value, known, &rest)) {
        return std::nullopt;
      }
      return solve_extent(unknown, rest);
    case isa::ScalarBinary::div:
    case isa::ScalarBinary::mod:
    case isa::ScalarBinary::shl:
    case isa::ScalarBinary::shr:
    case isa::ScalarBinary::bit_and:
    case isa::ScalarBinary::bit_or:
    case isa::ScalarBinary::bit_xor:
    case isa::ScalarBinary::eq:
    case isa::ScalarBinary::ne:
    case isa::ScalarBinary::lt:
    case isa::ScalarBinary::le:
    case isa::ScalarBinary::gt:
    case isa::ScalarBinary::ge:
    case isa::ScalarBinary::logical_and:
    case isa::ScalarBinary::logical_or:
    case isa::ScalarBinary::minimum:
    case isa::ScalarBinary::maximum:
      return std::nullopt;
  }
  TILEVM_NO_ENUMERATOR();
}

/// The shape of the array of a file, of which no data is read.
Result<isa::Shape> shape_in_file(const Spec& spec, const std::string& name) {
  Result<std::unique_ptr<ByteSource>> bytes = open_bytes(spec.path);
  if (!bytes) return bytes.error();
  const Result<ArrayFile> file = ArrayFile::open(*std::move(bytes));
  if (!file) return file.error();
  std::optional<isa::Shape> shape;
  const Result<HostArray> array = file->read(spec.member, name, [&](const ArrayType& type) {
    shape = type.shape;
    return Status(Error{ErrorKind::program, "only the shape is wanted"});
  });
  if (shape) return *std::move(shape);
  return array.error();
}

/// The shape that the user's choice for a tensor tells; nothing if it tells none.
Result<std::optional<isa::Shape>> shape_of_choice(const Choice& choice, const std::string& name) {
  if (choice.shape() || !choice.spec) return choice.shape();
  const Spec& spec = *choice.spec;
  const bool is_array = spec.kind == SourceKind::file || spec.kind == SourceKind::codes;
  if (!is_array || spec.path == "-") return std::optional<isa::Shape>{};
  Result<isa::Shape> shape = shape_in_file(spec, name);
  if (!shape) return Error{shape.error()};
  return std::optional(*std::move(shape));
}

/// The extent that a scalar follows from.
struct SizeSource {
  std::int64_t value = 0;
  std::string tensor;
  std::size_t dimension = 0;
};

class Sizes {
 public:
  Sizes(const isa::Pipeline& pipeline, const std::function<bool(std::size_t)>& is_given)
      : pipeline_(pipeline), is_given_(is_given), sources_(pipeline.scalars.size()) {}

  /// Another rank is reported where the data is read. An array of no dimensions is one element.
  Status look_at(const isa::PipelineTensor& tensor, isa::Shape shape) {
    if (shape.empty()) shape.assign(tensor.extents.size(), 1);
    if (shape.size() != tensor.extents.size()) return Done{};
    for (std::size_t d = 0; d < tensor.extents.size(); ++d) {
      const auto found = solve_extent(tensor.extents[d], shape[d]);
      if (!found) continue;
      if (Status s = take(*found, {found->value, tensor.name, d}); !s) return s;
    }
    return Done{};
  }

  [[nodiscard]] ToldSizes values() const {
    ToldSizes values;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      values.push_back(sources_[i] ? scalar_of(i, sources_[i]->value) : std::nullopt);
    }
    return values;
  }

 private:
  Status take(const ExtentSolution& found, SizeSource source) {
    const auto index = static_cast<std::size_t>(found.var.index);
    if (is_given_(index)) return Done{};
    std::optional<SizeSource>& known = sources_[index];
    if (known && known->value != source.value) {
      return Error{ErrorKind::usage,
                   fmt::format("`{}` is {} by dimension {} of `{}`, but {} by dimension {} of `{}`",
                               pipeline_.scalars[index].name, known->value, known->dimension,
                               known->tensor, source.value, source.dimension, source.tensor)};
    }
    if (!known) known = std::move(source);
    return Done{};
  }

  /// Nothing if the kind does not hold the value.
  [[nodiscard]] std::optional<isa::Scalar> scalar_of(std::size_t index, std::int64_t value) const {
    const isa::ScalarKind kind = pipeline_.scalars[index].kind;
    if (!isa::is_integer(kind)) return std::nullopt;
    const isa::Scalar scalar = isa::convert(isa::Scalar::i64(value), kind);
    const bool is_held = isa::convert(scalar, isa::ScalarKind::i64).as_int() == value;
    return is_held ? std::optional(scalar) : std::nullopt;
  }

  const isa::Pipeline& pipeline_;
  const std::function<bool(std::size_t)>& is_given_;
  std::vector<std::optional<SizeSource>> sources_;
};

/// Whether an extent has a scalar that is not given.
bool asks_for_size(const isa::PipelineTensor& tensor,
                   const std::function<bool(std::size_t)>& is_given) {
  bool asks = false;
  for (const isa::Expr& extent : tensor.extents) {
    isa::for_each_variable(extent, [&](isa::VarId var) {
      asks = asks || !is_given(static_cast<std::size_t>(var.index));
    });
  }
  return asks;
}

}  // namespace

std::optional<ExtentSolution> solve_extent(const isa::Expr& expr, std::int64_t value) {
  if (const auto* variable = std::get_if<isa::Expr::Variable>(&expr.node())) {
    return ExtentSolution{variable->var, value};
  }
  if (const auto* convert = std::get_if<isa::Expr::Convert>(&expr.node())) {
    if (!isa::is_integer(convert->a.kind())) return std::nullopt;
    return solve_extent(convert->a, value);
  }
  const auto* binary = std::get_if<isa::Expr::Binary>(&expr.node());
  return binary != nullptr ? solve(*binary, value) : std::nullopt;
}

Result<ToldSizes> sizes_of_shapes(const isa::Pipeline& pipeline,
                                  const std::vector<std::optional<isa::Shape>>& shapes,
                                  const std::function<bool(std::size_t)>& is_given) {
  Sizes sizes(pipeline, is_given);
  for (std::size_t i = 0; i < pipeline.tensors.size(); ++i) {
    if (!shapes[i]) continue;
    if (Status status = sizes.look_at(pipeline.tensors[i], *shapes[i]); !status) {
      return status.error();
    }
  }
  return sizes.values();
}

const isa::PipelineTensor* tensor_that_tells(const isa::Pipeline& pipeline, std::size_t scalar) {
  for (const isa::PipelineTensor& tensor : pipeline.tensors) {
    if (!tensor.is_input()) continue;
    for (const isa::Expr& extent : tensor.extents) {
      const auto solution = solve_extent(extent, 0);
      if (solution && static_cast<std::size_t>(solution->var.index) == scalar) {
        return &tensor;
      }
    }
  }
  return nullptr;
}

Result<ToldSizes> sizes_of_data(const isa::Pipeline& pipeline, const Texts& inputs,
                                const Texts& outputs) {
  const std::function<bool(std::size_t)> is_given = [&](std::size_t scalar) {
    return inputs.contains(pipeline.scalars[scalar].name);
  };
  Texts in = inputs, out = outputs;  // from which each is taken once
  std::vector<std::optional<isa::Shape>> shapes;
  for (const isa::PipelineTensor& tensor : pipeline.tensors) {
    shapes.emplace_back();
    if (!tensor.is_parameter() || !asks_for_size(tensor, is_given)) continue;
    Texts none;
    const Result<Choice> choice =
        take_choice(tensor.is_input() ? in : none, tensor.is_output() ? out : none, tensor.name);
    if (!choice) return choice.error();
    auto shape = shape_of_choice(*choice, tensor.name);
    if (!shape) return shape.error();
    shapes.back() = *std::move(shape);
  }
  return sizes_of_shapes(pipeline, shapes, is_given);
}

}  // namespace tilevm::vm
