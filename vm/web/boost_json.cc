// Boost.JSON, which vm/fidelity compiles for the command, and which is not in the module; and what
// Boost calls instead of throwing where its user has no exceptions (playground/module.cmake).
#include <exception>
#include <stdexcept>

#include <boost/json/src.hpp>

namespace boost {

[[noreturn]] void throw_exception(const std::exception& error, const source_location& place);
void throw_exception(const std::exception& error, const source_location&) {
  throw std::runtime_error(error.what());
}

}  // namespace boost
