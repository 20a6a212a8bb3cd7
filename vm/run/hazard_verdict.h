// What a run says of a program's hazards: of its races, missing waits and values that nothing
// defines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/api/sim.h"
#include "vm/run/engine.h"
#include "vm/run/exit.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// A verdict is about one size and one set of inputs. Whatever was not looked at makes it
/// incomplete, never clean.
struct HazardVerdict {
  enum class Kind : std::uint8_t { clean, faulty, incomplete };
  Kind kind = Kind::incomplete;
  std::string reason;  ///< why it is incomplete; otherwise empty
};

/// The verdict on a run of the engine `engine` with these checks. `failure` is what the run ended
/// with, and `report` what it left.
[[nodiscard]] HazardVerdict hazard_verdict_of(std::string_view engine, const sim::Checks& checks,
                                              const RunReport& report,
                                              const std::optional<Failure>& failure);

/// `{"is": "incomplete", "reason": ..}`.
[[nodiscard]] Json to_json(const HazardVerdict& verdict);

}  // namespace tilevm::vm
