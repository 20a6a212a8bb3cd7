#include "vm/picture/banks.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "isa/access/access_plan.h"
#include "isa/program/program.h"
#include "sim/counting/warp_access.h"
#include "vm/run/load.h"

namespace tilevm::vm {

namespace {

/// The only load or store of the judged program that has requests.
std::optional<SharedAccessPicture> first_access(const isa::VerifiedProgram& program) {
  std::optional<SharedAccessPicture> found;
  isa::for_each_statement(program.kernel(0).body, [&](const isa::Stmt& stmt) {
    if (const auto* inst = std::get_if<isa::InstStmt>(&stmt.node); inst != nullptr && !found) {
      found = shared_access_of(program, 0, *inst);
    }
  });
  return found;
}

std::string program_of(const TileAccess& access) {
  const std::string type = isa::to_string(*access.memory.dtype);
  const isa::MemoryLayout& memory = *access.memory.memory();
  std::string text =
      fmt::format("def access<1>():\n    s = AllocateShared({}, shape={}, layout={})\n", type,
                  isa::to_string(memory.shape()), to_string(memory));
  const std::string tile = to_string(*access.tile.registers());
  if (access.stores) {
    text += fmt::format("    x = AllocateRegister({}, layout={}, init=0)\n", type, tile);
    return text + "    StoreShared(x, s)\n";
  }
  return text + fmt::format("    x = LoadShared(s, layout={})\n", tile);
}

}  // namespace

std::vector<Wavefront> wavefronts_of(const sim::SharedRequest& request) {
  const unsigned together = sim::lanes_served_together(request.width);
  std::vector<Wavefront> wavefronts;
  std::size_t first = 0;  // wavefront of the part
  // By bank: the different words of the part that were met, in their order.
  std::array<std::vector<std::uint64_t>, sim::shared_banks> words;
  std::int64_t part = -1;
  for (const sim::LaneAccess& lane : request.lanes) {
    if (lane.lane / together != part) {
      part = lane.lane / together;
      first = wavefronts.size();
      words = {};
    }
    for (std::uint64_t word = lane.address / 4; word * 4 < lane.address + request.width; ++word) {
      const std::size_t bank = word % sim::shared_banks;
      auto& met = words[bank];
      const auto known = std::find(met.begin(), met.end(), word);
      const std::size_t pass = first + static_cast<std::size_t>(known - met.begin());
      if (known == met.end()) met.push_back(word);
      while (wavefronts.size() <= pass) wavefronts.push_back({part, {}});
      wavefronts[pass].lanes[bank].push_back(lane.lane);
    }
  }
  return wavefronts;
}

std::optional<SharedAccessPicture> shared_access_of(const isa::VerifiedProgram& program, int kernel,
                                                    const isa::InstStmt& stmt) {
  SharedAccessPicture picture;
  picture.requests = sim::shared_requests(program, kernel, stmt);
  if (picture.requests.empty()) return std::nullopt;
  picture.how = isa::describe(program.info(kernel).access_plan(stmt));
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < picture.requests.size(); ++i) {
    const sim::SharedRequest& request = picture.requests[i];
    const sim::AccessCount count = sim::count_wavefronts(request.lanes, request.width);
    picture.total += count;
    if (count.transfers > most) {
      most = count.transfers;
      picture.worst = i;
    }
  }
  return picture;
}

std::optional<SharedAccessPicture> draw_access(const TileAccess& access, SourceFile& source,
                                               Diagnostics& diagnostics) {
  const auto text = std::make_shared<const SourceFile>("<access>", program_of(access));
  source = *text;
  isa::Target target = *isa::parse_target("sm_90");
  Loaded loaded = load(text, {}, target);
  std::optional<SharedAccessPicture> picture;
  if (loaded.program) {
    picture = first_access(*loaded.program);
    if (!picture) {
      diagnostics.error(Code::not_supported, {},
                        "elements narrower than a byte are stored by atomics, which are not "
                        "counted; draw the load instead");
    }
    return picture;
  }
  for (Diagnostic& diagnostic : loaded.diagnostics.sorted()) {
    diagnostics.report(std::move(diagnostic));
  }
  return std::nullopt;
}

std::string describe(const SharedAccessPicture& picture) {
  const sim::AccessCount& total = picture.total;
  const std::uint64_t conflicts = total.transfers - total.ideal;
  return fmt::format("{} request{} of warps: {} wavefront{}, {}", total.requests,
                     total.requests == 1 ? "" : "s", total.transfers,
                     total.transfers == 1 ? "" : "s",
                     conflicts == 0 ? std::string("no bank conflicts")
                                    : fmt::format("{} of them for bank conflicts", conflicts));
}

std::string draw_text(const SharedAccessPicture& picture) {
  const sim::SharedRequest& request = picture.requests[picture.worst];
  std::string text = fmt::format("request {} (warp {}, {} bytes a thread), lanes by bank:\n",
                                 picture.worst, request.warp, request.width);
  text += "  bank      ";
  for (unsigned bank = 0; bank < sim::shared_banks; ++bank) text += fmt::format("{:>3}", bank);
  text += '\n';
  std::int64_t number = 0;
  for (const Wavefront& wavefront : wavefronts_of(request)) {
    text += fmt::format("  pass {:<5}", number++);
    for (const auto& lanes : wavefront.lanes) {
      text += lanes.empty() ? "  ." : fmt::format("{:>3}", lanes.front());
    }
    text += '\n';
  }
  return text;
}

}  // namespace tilevm::vm
