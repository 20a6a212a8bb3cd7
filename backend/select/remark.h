// Remarks about the form that was selected for an instruction.
#pragma once

#include <string>

#include "isa/program/program.h"

namespace tilevm::backend {

/// What an instruction became.
struct Remark {
  const isa::InstStmt* stmt = nullptr;  ///< points into the program
  Span span{};                          ///< range of the statement
  std::string text;                     ///< "4 x 16 bytes", for each thread
  std::string missed;                   ///< why it is no wider; empty if it is the widest
  Span culprit{};                       ///< range of the expression that `missed` quotes, or empty
};

}  // namespace tilevm::backend
