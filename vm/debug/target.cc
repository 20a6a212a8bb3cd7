#include "vm/debug/target.h"

#include <utility>

#include "vm/diff/bundle.h"

namespace tilevm::vm {

Result<FoundTarget> find_target(const TargetRequest& request) {
  FoundTarget found;
  if (is_bundle(request.path)) {
    const Result<Bundle> bundle = read_bundle(request.path);
    if (!bundle) return bundle.error();
    const Result<DiffCase> what = load_bundle(*bundle);
    if (!what) return what.error();
    found.target = DebugTarget{what->program, what->entry, bundle->tensors};
    return found;
  }
  const auto source = read_program(request.path, request.folders);
  if (!source) return source.error();
  const auto target = isa::parse_target(request.architecture);
  if (!target) return Error{ErrorKind::usage, target.error().message};
  const auto defines = parse_defines(request.defines);
  if (!defines) return defines.error();
  Loaded loaded = load(*source, *defines, *target);
  found.source = loaded.source;
  found.diagnostics = std::move(loaded.diagnostics);
  if (!loaded.program) return found;
  Result<Entry> entry = resolve_entry(*loaded.program, request.entry, request.data);
  if (!entry) return entry.error();
  DataReader reader(request.exact);
  Result<std::vector<HostTensor>> tensors = make_tensors(*entry, request.seeding, reader);
  found.notes = reader.notes();
  if (!tensors) return tensors.error();
  found.target = DebugTarget{*std::move(loaded.program), *std::move(entry), *std::move(tensors)};
  return found;
}

}  // namespace tilevm::vm
