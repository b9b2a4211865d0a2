#include "tests/support/net/stub_master.hpp"

#include <algorithm>
#include <utility>

namespace kvc::test {
namespace {

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string parameter(const std::string& target, const std::string& name) {
  const std::size_t at = target.find(name + "=");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 1;
  return target.substr(begin, target.find('&', begin) - begin);
}

std::string list_of(bool is_there) {
  return is_there ? R"([{"size_":4096,"transport_endpoint_":"10.0.0.1:6000"}])" : "[]";
}

}  // namespace

stub_master::stub_master() : server_([this](const stub_mp_server::asked& what) { return answer(what); }) {}

void stub_master::put(const std::string& key, object what) {
  const std::lock_guard holding(lock_);
  objects_[key] = what;
}

void stub_master::remove(const std::string& key) {
  const std::lock_guard holding(lock_);
  objects_.erase(key);
}

int stub_master::hits(const std::string& key) {
  const std::lock_guard holding(lock_);
  return objects_[key].hits;
}

int stub_master::looks() {
  const std::lock_guard holding(lock_);
  return looks_;
}

void stub_master::set(on_hit what) {
  const std::lock_guard holding(lock_);
  on_hit_ = what;
}

void stub_master::depose(const std::string& leader_url) {
  const std::lock_guard holding(lock_);
  leader_ = leader_url;
}

void stub_master::babble(const std::string& text, int times) {
  const std::lock_guard holding(lock_);
  babble_ = text;
  babbles_ = times;
}

void stub_master::set_longest_target(std::size_t bytes) {
  const std::lock_guard holding(lock_);
  longest_target_ = bytes;
}

std::string stub_master::look(const std::string& keys) {
  std::string body;
  for (std::size_t at = 0; at <= keys.size();) {
    const std::size_t end = std::min(keys.find(',', at), keys.size());
    const std::string key = keys.substr(at, end - at);
    at = end + 1;
    const auto found = objects_.find(key);
    body += std::string(body.empty() ? "" : ",") + "\"" + key + "\":";
    if (found == objects_.end()) {
      body += R"({"ok":false,"error":"OBJECT_NOT_FOUND"})";
    } else {
      if (found->second.spoils_lists) return {};
      const std::string copying = R"([{"size_":4096,"status":"PROCESSING"}])";
      body += R"({"ok":true,"values":)" + (found->second.is_copied ? copying : list_of(found->second.memory)) + R"(,"disk_values":)" +
              list_of(found->second.disk) + R"(,"local_disk_values":)" + list_of(found->second.local_disk) + "}";
    }
  }
  return R"({"success":true,"data":{)" + body + "}}";
}

stub_mp_server::told stub_master::answer(const stub_mp_server::asked& what) {
  const std::lock_guard holding(lock_);
  if (what.target == "/leader") return {.status = 200, .body = R"({"leader":")" + leader_ + "\"}"};
  if (!leader_.empty()) return {.status = 503, .body = "not the leader"};
  if (what.target.size() > longest_target_) return {.status = 414, .body = "too long"};
  if (!babble_.empty() && babbles_ > 0) {
    --babbles_;
    return {.status = 200, .body = babble_};
  }
  if (what.target.starts_with("/batch_query_keys")) {
    ++looks_;
    const std::string keys = "," + decoded(parameter(what.target, "keys")) + ",";
    const bool breaks_off = std::ranges::any_of(
        objects_, [&keys](const auto& each) { return each.second.breaks_looks && keys.find("," + each.first + ",") != std::string::npos; });
    if (breaks_off) return {.breaks_off = true};
    std::string body = look(keys.substr(1, keys.size() - 2));
    if (body.empty()) return {.status = 500, .body = "internal"};
    return {.status = 200, .body = std::move(body)};
  }
  if (what.target.starts_with("/query_key")) {
    const auto found = objects_.find(parameter(what.target, "key"));
    if (found == objects_.end()) return {.status = 404, .body = "OBJECT_NOT_FOUND"};
    if (found->second.breaks_touches) return {.breaks_off = true};
    const bool is_enough = ++found->second.hits >= wanted_hits && found->second.local_disk && !found->second.stays;
    const std::string copy = found->second.memory ? R"({"size_":4096,"transport_endpoint_":"10.0.0.1:6000"})"
                                                    "\n"
                                                  : "";
    if (is_enough && on_hit_ == on_hit::promote) found->second.memory = true;
    const bool refuses = on_hit_ == on_hit::refuse || on_hit_ == on_hit::refuse_and_break;
    if (is_enough && refuses) ++refused_;
    if (is_enough && on_hit_ == on_hit::refuse_and_break) found->second.breaks_looks = true;
    if (is_enough && on_hit_ == on_hit::vanish) objects_.erase(found);
    return {.status = 200, .body = copy};
  }
  if (what.target == "/metrics")
    return {.status = 200, .body = "master_promotion_rejected_by_watermark_total " + std::to_string(refused_) + "\n"};
  return {.status = 404, .body = "{}"};
}

}  // namespace kvc::test
