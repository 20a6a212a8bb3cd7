#include "isa/program/exchange.h"

#include <variant>

namespace tilevm::isa {

std::int64_t exchange_bytes(const InstStmt& stmt, const Kernel& kernel) {
  return std::visit(
      [&]<class Inst>(const Inst& inst) -> std::int64_t {
        if constexpr (Inst::schema.description.exchanges) {
          return exchange_bytes(inst, stmt, kernel);
        } else {
          return 0;
        }
      },
      stmt.inst);
}

}  // namespace tilevm::isa
