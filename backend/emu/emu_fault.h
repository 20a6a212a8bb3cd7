// What ends an emulated launch early.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilevm::backend {

struct EmuFault {
  enum class Kind : std::uint8_t {
    trap,        ///< the kernel stopped itself: a division by zero, a negative extent
    memory,      ///< an access outside of all memory, or misaligned
    divergence,  ///< threads that must meet at one instruction are at different ones
    deadlock,    ///< threads wait for what cannot come
    step_limit,  ///< a loop does not end
    replicas,    ///< threads that hold the same element store different bits
    order,       ///< two events that nothing orders
  };
  Kind kind = Kind::trap;
  std::string message;  ///< text without the location
  unsigned line = 0;    ///< line of the program's text; 0: unknown
  std::array<unsigned, 3> block{};
  unsigned thread = 0;
  /// Return addresses, innermost first, from which the line follows where it is unknown.
  std::vector<const void*> frames{};
  const void* earlier = nullptr;  ///< Kind::order: the code of the other event
  unsigned earlier_line = 0;      ///< line in the program's text; 0: unknown
};

}  // namespace tilevm::backend
