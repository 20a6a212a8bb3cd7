// Result<T>: a value, or an Error of the environment (a file, a compiler, a driver, the host).
//
// Faults of the user's program are Diagnostics (diagnostic.h); faults of ours end the process
// through TILEVM_CHECK (check.h). The kind of an Error says whose fault it is, and gives the exit
// status.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "isa/base/check.h"

namespace tilevm {

enum class ErrorKind {
  program,      ///< the program or its data is at fault: exit 1
  usage,        ///< the command line is at fault: exit 2
  unavailable,  ///< a backend is missing (no driver, no compiler, no device): exit 3
  limit,        ///< a limit or a timeout was reached: exit 4
};

/// Where in the user's data an error is, for programs that read it; empty where there is no such
/// place.
struct DataPlace {
  std::string file, tensor;
  std::vector<std::int64_t> index;  ///< index of an element
};

/// What went wrong, in the user's words, with the way out. The message names code and place too.
struct Error {
  ErrorKind kind = ErrorKind::usage;
  std::string message;
  std::string code{};  ///< "TV0505", or empty
  DataPlace place{};
};

/// A value of type T or an Error. Test it, then use `*result` or `result.error()`.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by intent
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by intent

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() & {
    TILEVM_CHECK(ok(), "value of a failed Result");
    return *std::get_if<0>(&state_);
  }
  const T& operator*() const& {
    TILEVM_CHECK(ok(), "value of a failed Result");
    return *std::get_if<0>(&state_);
  }
  T&& operator*() && { return std::move(**this); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  [[nodiscard]] const Error& error() const {
    TILEVM_CHECK(!ok(), "error of a successful Result");
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace tilevm
