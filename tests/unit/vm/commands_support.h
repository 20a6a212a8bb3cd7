// Calls commands as the command line does, on streams that a test can read.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "tests/unit/contains.h"
#include "tests/unit/vm/scratch_folder.h"
#include "vm/cli/commands.h"

namespace tilevm::vm {

/// Standard streams of a command.
struct Streams {
  std::istringstream in;
  std::ostringstream out, err;
  Io io{in, out, err};

  explicit Streams(const std::string& input = "") : in(input) {}
};

/// Writes a file of a test; gives its path.
inline std::string write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

inline std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// c[i] = a[i] + s, element by element; a kernel without a pipeline and with a scalar.
inline const std::string shift_program = R"(const N = 6

def shift<1>(f32* a_ptr, f32* c_ptr):
    ga = ViewGlobal(a_ptr, shape=[N])
    gc = ViewGlobal(c_ptr, shape=[N])
    a = LoadGlobal(ga, layout=local(6), offset=[0:])
    StoreGlobal(Add(a, a), gc, offset=[0:])
)";

/// Two kernels, none of them `main`, and one with a scalar parameter.
inline const std::string two_kernels = R"(def first<1>(i32* x_ptr):
    g = ViewGlobal(x_ptr, shape=[4])
    StoreGlobal(AllocateRegister(i32, layout=local(4), init=1), g)

def second<1>(i32* x_ptr, i32 n):
    g = ViewGlobal(x_ptr, shape=[4])
    StoreGlobal(AllocateRegister(i32, layout=local(4), init=n), g)

def dynamic<1>(i32* x_ptr, i32 n):
    g = ViewGlobal(x_ptr, shape=[n])
    StoreGlobal(AllocateRegister(i32, layout=local(4), init=n), g)
)";

}  // namespace tilevm::vm
