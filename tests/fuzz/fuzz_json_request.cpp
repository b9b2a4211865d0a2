// Any bytes as the JSON body of every kind of request.
#include <cstddef>
#include <cstdint>

#include "tests/support/fuzz_request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  kvc::fuzz::check_body(body, R"({"queries":[)" + body + "]}", kvc::net::wire_form::json);
  return 0;
}
