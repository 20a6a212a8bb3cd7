// The options of a case: those of `tilevm run` that say what is computed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "isa/base/source.h"
#include "tests/filetest/expectations.h"
#include "vm/run/vm.h"

namespace tilevm::filetest {

struct Arguments {
  std::vector<std::string> defines;
  vm::DataOptions data;
  vm::Seeding seeding;
  std::string entry;
  std::string target;  ///< sm_90, or the default of `tilevm compile` for what is not run
  bool shadow = false;
  std::string checks;  ///< `--check`; empty: the default
};

/// Error (usage): an option that tests do not have.
[[nodiscard]] Result<Arguments> parse_arguments(const Case& test);

/// The program as a case asks for it. Error (usage): a define or the target.
[[nodiscard]] Result<vm::Loaded> load_case(const Arguments& arguments,
                                           const std::shared_ptr<const SourceFile>& source);

}  // namespace tilevm::filetest
