#include "vm/run/make_engine.h"

#include "vm/run/engine_cuda.h"
#include "vm/run/engine_emu.h"
#include "vm/run/engine_sim.h"
#include "vm/text/choice.h"

namespace tilevm::vm {

const std::vector<std::string>& engine_names() {
  static const std::vector<std::string> names = {"sim", "emu", "cuda"};
  return names;
}

Result<std::unique_ptr<Engine>> make_engine(const std::string& name, const EngineOptions& options) {
  if (name == "sim") return make_sim_engine(options);
  if (name == "cuda") return make_cuda_engine();
  if (name == "emu") return make_emu_engine(options);
  return check_choice("backend", name, engine_names()).error();
}

}  // namespace tilevm::vm
