// The stable code of every kind of diagnostic.
//
// The number is printed as TV0104 and never changes its meaning. The hundreds group them:
//   00xx reading text   01xx names and operands   02xx types, shapes and layouts
//   03xx whole program  04xx faults of a run      05xx input and output data
// Title and explanation are in codes.cc; a code without them does not compile (-Wswitch).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilevm {

enum class Code : std::uint16_t {
  // Reading text.
  syntax_error = 1,
  bad_character = 2,
  bad_indentation = 3,
  nesting_too_deep = 4,
  file_too_large = 5,
  bad_number = 6,
  not_text = 7,
  unclosed_bracket = 8,
  cannot_include = 9,

  // Names and operands.
  unknown_name = 101,
  unknown_instruction = 102,
  unknown_operand = 103,
  unknown_layout = 104,
  unknown_type = 105,
  unknown_decorator = 106,
  missing_operand = 107,
  duplicate_operand = 108,
  too_many_operands = 109,
  duplicate_name = 110,
  wrong_operand_kind = 111,
  not_a_constant = 112,
  no_result = 113,
  result_count = 114,
  misplaced = 115,
  unknown_define = 116,
  bad_define = 117,
  unknown_kernel = 118,
  out_not_allowed = 119,
  unused_result = 120,
  bad_call = 121,
  recursive_call = 122,
  index_out_of_range = 123,

  // Types, shapes and layouts.
  type_mismatch = 201,
  shape_mismatch = 202,
  layout_mismatch = 203,
  bad_shape = 204,
  rank_mismatch = 205,
  bad_layout = 206,
  layout_not_divisible = 207,
  thread_count_mismatch = 208,
  out_type_mismatch = 209,
  scalar_type = 210,
  view_bits_differ = 211,
  view_threads_differ = 212,
  no_dot_instruction = 213,
  dot_shapes = 214,
  constant_overflow = 215,
  division_by_zero = 216,
  value_not_representable = 217,
  not_supported = 218,
  convert_crosses_threads = 219,
  bad_tensor_map = 220,

  // The whole program.
  require_failed = 301,
  bad_grid = 302,
  too_many_threads = 303,
  program_too_large = 304,
  offset_out_of_range = 305,
  assigned_in_block = 306,
  shadowed_in_block = 307,
  no_entry = 308,
  argument_mismatch = 309,
  unset_output = 310,
  never_written = 311,
  shared_memory_too_large = 312,
  bad_group = 313,
  registers_do_not_fit = 314,

  // Faults of a run.
  out_of_bounds = 401,
  step_limit = 402,
  run_division_by_zero = 403,
  uninitialized_read = 404,
  in_flight_access = 405,
  race = 406,
  replicas_differ = 407,
  redundant_barrier = 408,
  deadlock = 409,
  emulated_fault = 410,
  range_step = 411,
  unwritten_output = 412,
  store_outside = 413,
  unordered_places = 414,
  assertion_failed = 415,
  address_wraps = 416,
  index_outside = 417,
  padding_used = 418,
  modelled_instruction = 419,
  proxy_not_fenced = 420,
  products_in_flight = 421,
  barrier_phase = 422,
  barrier_not_ready = 423,
  named_barrier = 424,
  exit_in_flight = 425,
  bad_tensor_box = 426,

  // Input and output data.
  bad_specification = 501,
  bad_file = 502,
  wrong_data_shape = 503,
  wrong_data_type = 504,
  data_not_representable = 505,
  unknown_tensor = 506,
  cannot_infer_tensor = 507,
  data_rounded = 508,
};

struct CodeInfo {
  std::string_view title;        ///< a few words
  std::string_view explanation;  ///< what it means, an example, and the way out
};

/// Title and explanation of a code; nothing for a number that is not a code.
[[nodiscard]] std::optional<CodeInfo> code_info(Code code);

/// Every code in ascending order.
[[nodiscard]] std::vector<Code> all_codes();

/// "TV0104".
[[nodiscard]] std::string to_string(Code code);

/// Reads "TV0104", "tv104" or "104"; nothing if there is no such code.
[[nodiscard]] std::optional<Code> parse_code(std::string_view text);

}  // namespace tilevm
