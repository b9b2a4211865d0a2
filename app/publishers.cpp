#include "app/publishers.hpp"

#include <map>
#include <utility>

#include "app/plain_text.hpp"
#include "net/api_types.hpp"
#include "net/request_document.hpp"

namespace kvc::app {
namespace {

net::checked read_one(const publisher_entry& entry, std::uint64_t default_seed, core::medium_table& media,
                      net::registration_request& read) {
  net::request_document document;
  if (net::checked refused = document.read(entry.json, net::wire_form::json, net::request_document::shape::single)) return refused;
  return net::read_registration(document, document.items().front(), default_seed, media, read);
}

std::string line_about(const publisher_entry& entry, const std::string& sentence, const std::string& field) {
  constexpr std::size_t most_of_name = 300;
  return one_line(shown(entry.name, most_of_name) + (field.empty() ? "" : "." + field) + ": " + sentence + " (from " + entry.source + ")");
}

}  // namespace

checked_publishers check_publishers(const settings& values, core::medium_table& media) {
  checked_publishers result;
  std::map<core::worker_key, const publisher_entry*> seen;
  std::map<core::partition_key, std::uint64_t> seeds;
  for (const publisher_entry& entry : values.publishers) {
    net::registration_request read;
    if (const net::checked refused = read_one(entry, values.hash_seed, media, read)) {
      result.errors.push_back(line_about(entry, refused->sentence, refused->field));
      continue;
    }
    if (!read.new_medium.empty()) read.registration.medium = media.intern(read.new_medium);
    for (const std::string& warning : read.warnings) result.warnings.push_back(line_about(entry, warning, ""));
    const auto [first, is_new] = seen.emplace(read.registration.worker, &entry);
    if (!is_new) {
      result.errors.push_back(line_about(entry, "the same tenant, instance, rank and kind as " + first->second->name, ""));
      continue;
    }
    const auto [seed, is_first] = seeds.emplace(read.registration.partition, read.registration.hash_seed);
    if (!is_first && seed->second != read.registration.hash_seed) {
      result.errors.push_back(line_about(entry, "another entry of this partition has another hash seed", "hash_seed"));
      continue;
    }
    result.registrations.push_back(std::move(read.registration));
  }
  return result;
}

checked_stores check_stores(const settings& values) {
  checked_stores result;
  std::map<std::string, const publisher_entry*> seen;
  for (const publisher_entry& entry : values.store_entries) {
    net::request_document document;
    net::store_registration read;
    net::checked refused = document.read(entry.json, net::wire_form::json, net::request_document::shape::single);
    if (!refused) refused = net::read_store(document, document.items().front(), read);
    if (refused) {
      result.errors.push_back(line_about(entry, refused->sentence, refused->field));
      continue;
    }
    const auto [first, is_new] = seen.emplace(read.backend, &entry);
    if (!is_new) {
      result.errors.push_back(line_about(entry, "the same backend as " + first->second->name, ""));
      continue;
    }
    result.registrations.push_back(std::move(read));
  }
  return result;
}

}  // namespace kvc::app
