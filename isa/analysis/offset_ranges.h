// Offsets whose ranges are known, against the extents of their views.
#pragma once

#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Warns where a tile's offset, over the ranges of block indices and loop variables that are known,
/// goes past the view's extent: whole tiles are then outside, which odd sizes alone never cause.
void warn_about_offsets(const Kernel& kernel, const SourceFile& source, Diagnostics& diagnostics);

}  // namespace tilevm::isa
