// The compact form of a dump: MessagePack records one after the other, which dump_decode reads back. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/medium.hpp"
#include "core/snapshot.hpp"
#include "net/dump_records.hpp"

namespace kvc::net {

/// Writes records; each call appends to `out`. The order is: header; per worker its owner record, homes and slices, and its end; after the
/// last worker the end of the dump, without which it was cut short. Homes are numbered from 0 for each worker in the order of the calls and
/// come before the slices that name them.
class dump_encoder {
 public:
  /// `media` outlives the encoder.
  explicit dump_encoder(const core::medium_table& media) : media_(&media) {}

  static void header(std::string& out);
  static void owner(const dump_owner& told, std::string& out);
  static void home(const dump_home& told, std::string& out);
  void slice(const core::dump_slice& told, std::string& out);
  static void end(const dump_end& told, std::string& out);
  static void end_of_dump(std::uint64_t workers, std::string& out);

 private:
  void name(const core::dump_slice& in, const core::dump_slice::odd_name& told, std::string& out) const;
  void waiting(const core::dump_slice& in, const core::dump_slice::waiting_name& told, std::string& out) const;

  const core::medium_table* media_;
  std::vector<std::byte> hashes_;  ///< reused
  template <class Hash>
  void hashes(std::span<const Hash> list, std::string& out);
};

}  // namespace kvc::net
