// Boost.JSON, which vm/fidelity compiles for the command, and which is not in the module.
#include <boost/json/src.hpp>
