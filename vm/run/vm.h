// The facade: everything between a file's name and the tensors that its program computes.
//
//   read_source ─► load ─► resolve_entry ─► make_tensors ─► Engine::run ─► outputs
//
// Nothing here prints, exits or looks at the command line; commands.h does that on top of it.
#pragma once

#include "vm/run/engine.h"
#include "vm/run/entry.h"
#include "vm/run/entry_tensors.h"
#include "vm/run/exit.h"
#include "vm/run/load.h"
#include "vm/run/make_engine.h"
