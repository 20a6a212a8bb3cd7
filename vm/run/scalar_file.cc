#include "vm/run/scalar_file.h"

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isa/inst/tensor_type.h"
#include "isa/type/number.h"
#include "vm/data/array_file.h"
#include "vm/data/convert.h"
#include "vm/text/byte_source.h"
#include "vm/text/data_error.h"

namespace tilevm::vm {
namespace {

Status check_array(const ArrayType& array, const Spec& spec, const std::string& name,
                   isa::ScalarKind kind) {
  if (checked_count(array.shape) != 1) {
    return data_error(
        Code::wrong_data_shape,
        fmt::format("`{}` holds {}, but `{}` is one number, {}; give an array of no dimensions",
                    spec.path, format_type(array.dtype, array.shape), name, isa::to_string(kind)),
        {spec.path, name, {}});
  }
  if (!array.untyped) return Done{};
  return data_error(Code::wrong_data_type,
                    fmt::format("`{}` holds an item of one byte without a type (`V1`), and `{}` is "
                                "a number, {}; save it by `.astype(numpy.float32)`",
                                spec.path, name, isa::to_string(kind)),
                    {spec.path, name, {}});
}

isa::Scalar scalar_of(isa::ScalarKind kind, std::uint64_t code) {
  if (kind == isa::ScalarKind::boolean) return isa::Scalar::of(code != 0);
  if (kind == isa::ScalarKind::f32) return {kind, code};
  return isa::convert({isa::ScalarKind::u64, code}, kind);  // extends the sign
}

}  // namespace

Result<isa::Scalar> read_scalar_file(const Spec& spec, const std::string& name,
                                     isa::ScalarKind kind) {
  Result<std::unique_ptr<ByteSource>> bytes = open_bytes(spec.path);
  if (!bytes) return bytes.error();
  const Result<ArrayFile> file = ArrayFile::open(*std::move(bytes));
  if (!file) return file.error();
  const Result<HostArray> array = file->read(spec.member, name, [&](const ArrayType& found) {
    return check_array(found, spec, name, kind);
  });
  if (!array) return array.error();
  const isa::Number value = isa::decode(array->dtype, array->code(0));
  const isa::DType dtype = isa::element_type(kind);
  if (const std::optional<std::uint64_t> code = near_code(dtype, value)) {
    return scalar_of(kind, *code);
  }
  return data_error(
      Code::data_not_representable,
      fmt::format("`{}`: `{}` = {} is not {}", spec.path, name,
                  isa::format_value(array->dtype, array->code(0)), why_not(dtype, value)),
      {spec.path, name, {}});
}

}  // namespace tilevm::vm
