// The Print statements of a kernel: what each shows, and the size of its records.
#pragma once

#include <vector>

#include "isa/base/source.h"
#include "isa/program/print.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// The Print statements of a kernel that passed its checks, in the order of the text.
[[nodiscard]] std::vector<PrintSite> find_print_sites(const Kernel& kernel,
                                                      const SourceFile& source);

}  // namespace tilevm::isa
