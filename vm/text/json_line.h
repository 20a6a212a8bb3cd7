// Files of one JSON object a line: how a line becomes a record.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "isa/base/result.h"

namespace tilevm::vm {

/// Why JSON could not be read, without the library's own words for where in its sources it noticed.
[[nodiscard]] std::string reason_of(const std::exception& error);

/// What `read` makes of the object of a line; it throws what Boost.JSON throws where a member is
/// missing or of another type. Error (program): the line is not such an object ("no record of a
/// run"), or not of schema 1.
template <class Read>
auto read_json_line(const std::string& line, std::string_view complaint, const Read& read)
    -> Result<decltype(read(boost::json::object{}))> {
  try {
    const boost::json::object object = boost::json::parse(line).as_object();
    const auto schema = object.at("schema").to_number<int>();
    if (schema != 1) {
      return Error{ErrorKind::program, "a record of schema " + std::to_string(schema) + ", not 1"};
    }
    return read(object);
  } catch (const std::exception& error) {
    return Error{ErrorKind::program, std::string(complaint) + ": " + reason_of(error)};
  }
}

}  // namespace tilevm::vm
