#include "net/api_quota.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/usage_listing.hpp"
#include "net/answer_writer.hpp"
#include "net/coordinator_reply.hpp"
#include "net/coordinator_tier.hpp"
#include "net/field_reading.hpp"
#include "net/home_listing.hpp"
#include "net/label_text.hpp"
#include "net/log.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t salts_per_turn = 1'024;  ///< of a listing; a bound of its own since not every salt adds to the text
constexpr std::string_view invalid_limit = "invalid quota limit";

/// A limit in GiB. Nothing after a fault; what is no finite number is let through for the caller to refuse.
std::optional<double> read_limit(const tape_value& value, const field_place& where, field_faults& faults) {
  const std::optional<double> limit = read_real(value, where, faults);
  if (limit && std::isfinite(*limit) && *limit < 0) {
    faults.add("greater_than_equal", where, "Input should be greater than or equal to 0", value, fault_context{"ge", 0});
    return std::nullopt;
  }
  return limit;
}

void write_row(answer_writer& out, const core::usage_row& row) {
  out.object(4);
  out.member("cache_salt", row.salt);
  out.key("quota_limit_gb");
  out.real(core::gib_of_bytes(row.quota_bytes.value_or(0)));
  out.member("quota_exists", row.quota_bytes.has_value());
  out.key("usage_gb");
  out.real(core::gib_of_bytes(static_cast<double>(row.used_bytes)));
  out.end_object();
}

/// Usage and quota of all salts. As `write_row` for each, but all except the salt is put together on the stack and goes over in one piece.
class usage_list final : public home_listing {
 public:
  explicit usage_list(coordinator_context& context) : home_listing(context), salts_(text_, wire_form::json) {}

  [[nodiscard]] asio::awaitable<bool> write_some(std::string& into, std::size_t bytes) override;

 private:
  void begin();
  void add(const core::usage_row& row);

  std::string text_;  ///< what is written into
  answer_writer salts_;
  core::usage_place place_;  ///< as far as salts were looked at
  bool has_begun_ = false;
  bool has_rows_ = false;
};

void usage_list::begin() {
  text_ += R"({"total_gb":)";
  answer_writer(text_, wire_form::json).real(core::gib_of_bytes(static_cast<double>(context().tables.usage.total_bytes())));
  text_ += R"(,"by_cache_salt":[)";
  has_begun_ = true;
}

void usage_list::add(const core::usage_row& row) {
  text_ += has_rows_ ? R"(,{"cache_salt":)" : R"({"cache_salt":)";
  has_rows_ = true;
  salts_.text(row.salt);
  std::array<char, 160> piece;  // two numbers of at most 24 letters, and the names
  char* to = piece.data();
  const auto put = [&to](std::string_view text) { to = std::ranges::copy(text, to).out; };
  decimal_memo& decimals = context().decimals;
  put(R"(,"quota_limit_gb":)");
  put(decimals.text(core::gib_of_bytes(row.quota_bytes.value_or(0))));
  put(R"(,"quota_exists":)");
  put(row.quota_bytes ? "true" : "false");
  put(R"(,"usage_gb":)");
  put(decimals.text(core::gib_of_bytes(static_cast<double>(row.used_bytes))));
  put("}");
  text_.append(piece.data(), to);
}

asio::awaitable<bool> usage_list::write_some(std::string& into, std::size_t bytes) {
  const coordinator_tables& tables = context().tables;
  if (!has_begun_) begin();
  for (;;) {
    const std::size_t enough = std::min(bytes, text_.size() + bytes_per_turn);  // as salts may be as long as the head of a request
    const auto see = [this, enough](const core::usage_row& row) {
      add(row);
      return text_.size() < enough;
    };
    const bool has_more = core::some_usage_rows(tables.usage, tables.quotas, place_, salts_per_turn, see);
    if (!has_more) text_ += "]}";
    if (!has_more || text_.size() >= bytes) {
      into = std::exchange(text_, {});
      co_return !has_more;
    }
    co_await yield_home(context());
  }
}

/// For the log: objects are deleted by these figures, so that somebody will want to know when they changed.
std::string shown(double gib) {
  std::string text;
  answer_writer(text, wire_form::json).real(gib);
  return text;
}

http_reply changed(std::string_view salt, double limit_gib, std::string_view status) {
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object(3);
  out.member("cache_salt", salt);
  out.key("limit_gb");
  out.real(limit_gib);
  out.member("status", status);
  out.end_object();
  return reply;
}

http_reply default_reply(const core::quota_table& quotas) {
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  out.object(1);
  out.key("default_limit_gb");
  if (const std::optional<double> limit = quotas.default_limit()) {
    out.real(core::gib_of_bytes(*limit));
  } else {
    out.nothing();
  }
  out.end_object();
  return reply;
}

}  // namespace

void read_quota(const tape_value& body, quota_order& into, field_faults& faults) {
  const field_place root("body");
  if (!check_object(body, root, faults)) return;
  if (const auto value = require_member(body, "limit_gb", root, faults)) {
    into.limit_gib = read_limit(*value, field_place(root, "limit_gb"), faults).value_or(0);
  }
  into.tier = read_body_tier(body, root, faults).value_or(core::cache_tier::l2);
}

void read_default_quota(const tape_value& body, default_quota_order& into, field_faults& faults) {
  const field_place root("body");
  if (!check_object(body, root, faults)) return;
  const auto value = require_member(body, "default_limit_gb", root, faults);
  if (value && value->has_value()) into.limit_gib = read_limit(*value, field_place(root, "default_limit_gb"), faults);
}

http_reply set_quota_reply(coordinator_tables& tables, std::string_view segment, const quota_order& wanted) {
  if (wanted.tier != core::cache_tier::l2) return wrong_tier_reply(wanted.tier);
  const core::result<double> bytes = core::quota_bytes_of_gib(wanted.limit_gib);
  if (!bytes) return error_reply(400, invalid_limit);
  const std::string_view salt = core::salt_of_segment(segment);
  const std::optional<double> before = tables.quotas.find(salt);
  const core::result<void> set = tables.quotas.set(salt, *bytes);
  if (!set) return overloaded_reply(set.error().message());
  if (before != *bytes) {  // clients may say the same every minute
    log::info(log::module::fleet, "quota set", {{"cache_salt", label_text(salt)}, {"limit_gb", shown(wanted.limit_gib)}});
  }
  return changed(salt, wanted.limit_gib, "ok");
}

http_reply read_usage_reply(const coordinator_tables& tables, std::string_view segment, const http_request& request) {
  if (auto refused = refuse_query_tier(request)) return *std::move(refused);
  http_reply reply;
  answer_writer out(reply.body, wire_form::json);
  write_row(out, core::usage_of(core::salt_of_segment(segment), tables.usage, tables.quotas));
  return reply;
}

http_reply remove_quota_reply(coordinator_tables& tables, std::string_view segment, const http_request& request) {
  if (auto refused = refuse_query_tier(request)) return *std::move(refused);
  const std::string_view salt = core::salt_of_segment(segment);
  const bool was_there = tables.quotas.remove(salt);
  if (was_there) log::info(log::module::fleet, "quota removed", {{"cache_salt", label_text(salt)}});
  return changed(salt, 0.0, was_there ? "removed" : "not_found");
}

http_reply read_default_quota_reply(const coordinator_tables& tables) {
  return default_reply(tables.quotas);
}

http_reply set_default_quota_reply(coordinator_tables& tables, const default_quota_order& wanted) {
  std::optional<double> bytes;
  if (wanted.limit_gib) {
    const core::result<double> whole = core::quota_bytes_of_gib(*wanted.limit_gib);
    if (!whole) return error_reply(400, invalid_limit);
    bytes = *whole;
  }
  const std::optional<double> before = tables.quotas.default_limit();
  tables.quotas.set_default_limit(bytes);
  if (before != bytes) {
    log::info(log::module::fleet, "default quota set", {{"limit_gb", bytes ? shown(core::gib_of_bytes(*bytes)) : std::string("none")}});
  }
  return default_reply(tables.quotas);
}

asio::awaitable<http_reply> list_usage_reply(coordinator_context& context, lane& here, const http_request& request) {
  if (auto refused = refuse_query_tier(request)) co_return *std::move(refused);
  http_reply reply = co_await listing_reply(context, here, std::make_shared<usage_list>(context));
  co_return reply;
}

}  // namespace kvc::net
