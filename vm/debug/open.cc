#include "vm/debug/open.h"

#include <utility>

#include "vm/run/engine_sim.h"

namespace tilevm::vm {

Result<std::unique_ptr<sim::debug::Session>> open_session(const isa::VerifiedProgram& program,
                                                          const Entry& entry,
                                                          std::vector<HostTensor> tensors,
                                                          const DebugOptions& options) {
  sim::debug::SessionSpec spec{program, {}, {}, {}, {}, options.run, options.timeline};
  for (const isa::Launch& launch : entry.launches) {
    spec.launches.push_back({launch.kernel, launch.arguments});
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Entry::Tensor& tensor = entry.tensors[i];
    sim::Buffer buffer{tensor.name, std::move(tensors[i].data)};
    if (!tensor.input && use_of(program, entry, i).read) {
      buffer.undefined.assign(buffer.bytes.size(), 0xff);
    }
    spec.buffers.push_back(std::move(buffer));
    spec.dtypes.push_back(tensor.dtype);
    spec.shapes.push_back(tensor.shape);
  }
  return sim::debug::Session::make(std::move(spec));
}

}  // namespace tilevm::vm
