#include "vm/data/value_json.h"

#include "isa/type/number.h"

namespace tilevm::vm {

Json code_json(const isa::DType& type, std::uint64_t code) {
  if (type.is_float()) return isa::to_double(isa::decode(type, code));
  if (type == isa::u64) return code;
  return static_cast<std::int64_t>(isa::cast(type, isa::i64, code));
}

}  // namespace tilevm::vm
