#include "net/api_quota.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/usage_listing.hpp"
#include "net/answer_writer.hpp"
#include "net/coordinator_reply.hpp"
#include "net/coordinator_tier.hpp"
#include "net/field_reading.hpp"

namespace kvc::net {
namespace {

constexpr std::size_t rows_per_slice = 1'024;
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

/// As `write_row`, for a listing of a thousand: all but the salt is put together on the stack and goes over in one piece.
class row_list {
 public:
  row_list(std::string& body, decimal_memo& decimals) : body_(body), salts_(body, wire_form::json), decimals_(decimals) {}

  void add(const core::usage_row& row) {
    body_ += R"({"cache_salt":)";
    salts_.text(row.salt);
    std::array<char, 160> piece;  // two numbers of at most 24 letters, and the names
    char* to = piece.data();
    const auto add = [&to](std::string_view text) { to = std::ranges::copy(text, to).out; };
    add(R"(,"quota_limit_gb":)");
    add(decimals_.text(core::gib_of_bytes(row.quota_bytes.value_or(0))));
    add(R"(,"quota_exists":)");
    add(row.quota_bytes ? "true" : "false");
    add(R"(,"usage_gb":)");
    add(decimals_.text(core::gib_of_bytes(static_cast<double>(row.used_bytes))));
    add("},");
    body_.append(piece.data(), to);
  }

 private:
  std::string& body_;
  answer_writer salts_;
  decimal_memo& decimals_;
};

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

http_reply set_quota_reply(coordinator_tables& tables, std::string_view segment, const tape_value& body) {
  field_faults faults;
  const field_place root("body");
  std::optional<double> limit;
  std::optional<core::cache_tier> tier;
  if (check_object(body, root, faults)) {
    if (const auto value = require_member(body, "limit_gb", root, faults))
      limit = read_limit(*value, field_place(root, "limit_gb"), faults);
    tier = read_body_tier(body, root, faults);
  }
  if (!faults.empty()) return faults_reply(faults);
  if (*tier != core::cache_tier::l2) return wrong_tier_reply(*tier);
  const core::result<double> bytes = core::quota_bytes_of_gib(*limit);
  if (!bytes) return error_reply(400, invalid_limit);
  const std::string_view salt = core::salt_of_segment(segment);
  const core::result<void> set = tables.quotas.set(salt, *bytes);
  if (!set) return overloaded_reply(set.error().message());
  return changed(salt, *limit, "ok");
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
  return changed(salt, 0.0, tables.quotas.remove(salt) ? "removed" : "not_found");
}

http_reply read_default_quota_reply(const coordinator_tables& tables) {
  return default_reply(tables.quotas);
}

http_reply set_default_quota_reply(coordinator_tables& tables, const tape_value& body) {
  field_faults faults;
  const field_place root("body");
  std::optional<double> bytes;
  if (check_object(body, root, faults)) {
    const auto value = require_member(body, "default_limit_gb", root, faults);
    if (value && value->has_value()) {
      const std::optional<double> limit = read_limit(*value, field_place(root, "default_limit_gb"), faults);
      if (limit) {
        const core::result<double> whole = core::quota_bytes_of_gib(*limit);
        if (!whole) return error_reply(400, invalid_limit);
        bytes = *whole;
      }
    }
  }
  if (!faults.empty()) return faults_reply(faults);
  tables.quotas.set_default_limit(bytes);
  return default_reply(tables.quotas);
}

asio::awaitable<http_reply> list_usage_reply(coordinator_context& context, const http_request& request) {
  if (auto refused = refuse_query_tier(request)) co_return *std::move(refused);
  const coordinator_tables& tables = context.tables;
  http_reply reply;
  constexpr std::size_t bytes_per_row = 112;
  reply.body.reserve(std::min(rows_per_slice, tables.usage.keys().salts().size() + tables.quotas.all().size() + 1) * bytes_per_row);
  std::string& body = reply.body;
  body += R"({"total_gb":)";
  answer_writer(body, wire_form::json).real(core::gib_of_bytes(static_cast<double>(tables.usage.total_bytes())));
  body += R"(,"by_cache_salt":[)";
  row_list rows(body, context.decimals);
  core::usage_place place;
  for (bool has_more = true; has_more;) {
    has_more =
        core::some_usage_rows(tables.usage, tables.quotas, place, rows_per_slice, [&](const core::usage_row& row) { rows.add(row); });
    if (has_more && place) co_await yield_home(context);
  }
  if (body.back() == ',') body.pop_back();
  body += "]}";
  co_return reply;
}

}  // namespace kvc::net
