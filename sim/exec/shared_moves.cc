#include "sim/exec/shared_moves.h"

#include "sim/checks/shared_checks.h"
#include "sim/shadow/shadow_access.h"

namespace tilevm::sim {

bool load_tile(const SharedAccess& access, Context& context) {
  TileOrigin origin{};
  if (!find_shared_origin(access, context, origin)) return false;
  if (!check_shared_access(access, origin, SharedUse::read, context)) return false;
  const TableLookup runs = find_runs(access, context, origin);
  const SharedMemory& shared = context.state.shared;
  read_shared(runs, access, shared.bytes.data(), context.state.registers.at(access.tile.offset));
  UndefinedRegisters& undefined = context.state.undefined;
  if (may_be_undefined(access, shared)) {
    read_shared(runs, access, shared.undefined.data(), undefined.at(access.tile.offset));
    undefined.update(access.tile, {access.mnemonic, access.span});
  } else if (undefined.any()) {
    undefined.clear(access.tile);
  }
  if (context.state.shadow.kept) load_shadow(runs, access, context);
  return true;
}

bool store_tile(const SharedAccess& access, Context& context) {
  TileOrigin origin{};
  if (!find_shared_origin(access, context, origin)) return false;
  if (!check_shared_access(access, origin, SharedUse::write, context)) return false;
  const TableLookup runs = find_runs(access, context, origin);
  SharedMemory& shared = context.state.shared;
  write_shared(runs, access, context.state.registers.at(access.tile.offset), shared.bytes.data());
  if (may_be_undefined(access, shared)) define_shared(runs, access, shared);
  if (context.state.shadow.kept) store_shadow(runs, access, context);
  return true;
}

}  // namespace tilevm::sim
