#include "vm/run/checks.h"

#include <string>
#include <vector>

#include "vm/text/choice.h"

namespace tilevm::vm {

Result<sim::Checks> parse_checks(std::string_view list) {
  sim::Checks checks;
  std::vector<std::string> choices{"all", "none"};
  for (const sim::NamedCheck& check : sim::named_checks) {
    checks.*check.member = false;
    choices.emplace_back(check.name);
  }
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string name(list.substr(0, comma));
    const Status status = check_choice("check", name, choices);
    if (!status) return status.error();
    for (const sim::NamedCheck& check : sim::named_checks) {
      if (name == check.name || (name == "all" && check.is_default())) {
        checks.*check.member = true;
      }
    }
    if (comma == std::string_view::npos) return checks;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace tilevm::vm
