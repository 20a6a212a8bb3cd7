#include "vm/run/hazard_verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilevm::vm {

namespace {

HazardVerdict incomplete(std::string reason) {
  return {HazardVerdict::Kind::incomplete, std::move(reason)};
}

/// A run that a limit ended looked at a part of the program alone.
HazardVerdict hazard_verdict_of(const Failure& failure) {
  if (const auto* error = std::get_if<Error>(&failure)) return incomplete(error->message);
  const auto found = std::get<Diagnostics>(failure).sorted();
  const auto is_limit = [](const Diagnostic& each) { return each.code == Code::step_limit; };
  const auto limit = std::find_if(found.begin(), found.end(), is_limit);
  if (limit != found.end()) return incomplete(limit->message);
  return {HazardVerdict::Kind::faulty, {}};
}

/// Checks that are on by default and were not.
std::string checks_off(const sim::Checks& checks) {
  std::string names;
  for (const sim::NamedCheck& check : sim::named_checks) {
    if (!check.is_default() || checks.*check.member) continue;
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", check.name);
  }
  return names;
}

}  // namespace

HazardVerdict hazard_verdict_of(std::string_view engine, const sim::Checks& checks,
                                const RunReport& report, const std::optional<Failure>& failure) {
  if (failure) return hazard_verdict_of(*failure);
  if (engine != "sim") {
    return incomplete(
        fmt::format("the engine {} does not look for hazards; `--engine sim` does", engine));
  }
  if (const std::string off = checks_off(checks); !off.empty()) {
    return incomplete(fmt::format("without the checks {}", off));
  }
  switch (report.orders) {
    case sim::OrdersRun::alike:
      return {HazardVerdict::Kind::clean, {}};
    case sim::OrdersRun::some:
      return incomplete(
          "blocks order themselves: the orders that were run are clean, others were not run");
    case sim::OrdersRun::one:
      return incomplete("blocks order themselves, and one order was run");
  }
  return {};
}

Json to_json(const HazardVerdict& verdict) {
  Json object = Json::object();
  object.set("is", verdict.kind == HazardVerdict::Kind::clean    ? "clean"
                   : verdict.kind == HazardVerdict::Kind::faulty ? "faulty"
                                                                 : "incomplete");
  if (!verdict.reason.empty()) object.set("reason", verdict.reason);
  return object;
}

}  // namespace tilevm::vm
