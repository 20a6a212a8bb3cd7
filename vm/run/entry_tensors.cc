#include "vm/run/entry_tensors.h"

#include <utility>

namespace tilevm::vm {

namespace {

/// Random data that names no seed takes the run's.
Spec seeded(Spec spec, const Seeding& seeding) {
  const bool given = !spec.text.empty();
  const bool random = spec.kind == SourceKind::rand || spec.kind == SourceKind::wild ||
                      spec.kind == SourceKind::corner;
  if (!given && seeding.wild) spec.kind = SourceKind::wild;
  if (random && spec.text.find(':') == std::string::npos) spec.seed = seeding.seed;
  return spec;
}

}  // namespace

Result<std::vector<HostTensor>> make_tensors(const Entry& entry, const Seeding& seeding,
                                             DataReader& reader) {
  std::vector<HostTensor> tensors;
  for (const Entry::Tensor& tensor : entry.tensors) {
    Result<HostTensor> made = tensor.input ? load(seeded(tensor.spec, seeding), tensor.dtype,
                                                  tensor.shape, tensor.name, reader)
                                           : make_tensor(tensor.dtype, tensor.shape, tensor.name);
    if (!made) return made.error();
    tensors.push_back(*std::move(made));
  }
  return tensors;
}

Result<std::vector<HostTensor>> make_tensors(const Entry& entry, const Seeding& seeding) {
  DataReader reader;
  return make_tensors(entry, seeding, reader);
}

}  // namespace tilevm::vm
