#include <ostream>
#include <thread>

#include <fmt/format.h>

#include "backend/emu/emu_options.h"
#include "backend/emu/host_compiler.h"
#include "backend/engine/doctor.h"
#include "vm/cli/commands.h"

namespace tilevm::vm {

namespace {

std::string line(const backend::Finding& finding, bool color) {
  const auto style = [&] {
    switch (finding.health) {
      case backend::Health::ok:
        return Style::green;
      case backend::Health::warn:
        return Style::yellow;
      case backend::Health::missing:
        return Style::red;
    }
    return Style::bold;
  };
  std::string text = fmt::format(
      "{} {:<10}  {}", paint(fmt::format("{:<7}", to_string(finding.health)), style(), color),
      finding.what, finding.detail);
  if (!finding.fix.empty()) text += fmt::format("\n                    -> {}", finding.fix);
  return text;
}

/// The compiler of the engine emu.
backend::Finding examine_emu() {
  const Result<backend::HostCompiler> compiler =
      backend::HostCompiler::find(backend::EmuOptions{}.optimisation);
  if (compiler) return {backend::Health::ok, "C++", compiler->description(), ""};
  return {backend::Health::missing, "C++", compiler.error().message,
          "only `--engine emu` needs it"};
}

/// What can be done with what was found.
bool can_run_cuda(const std::vector<backend::Finding>& findings) {
  bool gpu = false;
  bool compiles = false;
  for (const backend::Finding& finding : findings) {
    const bool ok = finding.health == backend::Health::ok;
    gpu = gpu || (ok && finding.what.starts_with("GPU"));
    compiles = compiles || (ok && finding.what == "compiling");
  }
  return gpu && compiles;
}

}  // namespace

Exit doctor(const DoctorOptions& options, Io& io) {
  Reporter reporter(io, "doctor", options.json);
  std::vector<backend::Finding> findings = {
      {backend::Health::ok, "tilevm",
       fmt::format("{}, simulator on {} threads", options.version,
                   std::thread::hardware_concurrency()),
       ""}};
  findings.push_back(examine_emu());
  const bool emu = findings.back().health == backend::Health::ok;
  for (backend::Finding& finding : backend::examine_cuda()) findings.push_back(std::move(finding));
  const bool cuda = can_run_cuda(findings);
  Json list = Json::array();
  for (const backend::Finding& finding : findings) {
    if (!options.json) io.out << line(finding, io.color_out) << '\n';
    Json item = Json::object();
    item.set("health", to_string(finding.health)).set("what", finding.what);
    item.set("detail", finding.detail).set("fix", finding.fix);
    list.push(std::move(item));
  }
  if (!options.json) {
    io.out << "programs run in the simulator" << (emu ? ", on an emulated GPU" : "")
           << (cuda ? " and on the GPU\n" : "; for the GPU see the lines above\n");
  }
  reporter.set("findings", std::move(list));
  Json backends = Json::array();
  backends.push("sim");
  if (emu) backends.push("emu");
  if (cuda) backends.push("cuda");
  reporter.set("backends", std::move(backends));
  return reporter.finish(Exit::ok);
}

}  // namespace tilevm::vm
