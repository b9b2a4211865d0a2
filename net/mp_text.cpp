#include "net/mp_text.hpp"

#include <cctype>

#include "core/hex.hpp"
#include "net/answer_writer.hpp"

namespace kvc::net {

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view plain = "-._~";
  std::string out;
  out.reserve(text.size());
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if ((byte < 0x80 && std::isalnum(byte) != 0) || plain.find(each) != std::string_view::npos) {
      out += each;
    } else {
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

void append_object_key(std::string& out, const core::object_key& key) {
  std::string hex;
  core::append_hex(key.hash, hex);
  answer_writer writer(out, wire_form::json);
  writer.object(5);
  writer.member("chunk_hash_hex", hex);
  writer.member("model_name", key.model);
  writer.key("kv_rank");
  writer.signed_number(key.kv_rank);
  writer.member("object_group_id", key.object_group);
  writer.member("cache_salt", key.salt);
  writer.end_object();
}

}  // namespace kvc::net
