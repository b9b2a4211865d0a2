// The forms that carry their own dimensions: the standard envelope and Mooncake's generations.
#include <span>
#include <variant>

#include "net/event_encode_parts.hpp"

namespace kvc::net {
namespace {

using change = core::object_event::change;

std::string hexadecimal(std::span<const char> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text.push_back(digits[byte >> 4U]);
    text.push_back(digits[byte & 0xfU]);
  }
  return text;
}

/// The seed's envelope.
class standard_writer {
 public:
  explicit standard_writer(event_parts& to) : to_(&to) {}

  void operator()(const core::stored_event& event) {
    begin(15, "stored", event.scope);
    to_->hashes("seq_hashes", event.hashes, false);
    if (event.base) {
      to_->number("base_block_idx", event.base->get());
    } else {
      to_->nothing("base_block_idx");
    }
    to_->parent("parent_hash", event.parent, false);
    event.has_tokens ? to_->tokens("token_ids", event.tokens) : to_->nothing("token_ids");
  }
  void operator()(const core::removed_event& event) {
    begin(12, "removed", event.scope);
    to_->hashes("seq_hashes", event.hashes, false);
  }
  void operator()(const core::cleared_event& event) { begin(11, "cleared", event.scope); }
  void operator()(const core::object_event&) {}  // the envelope knows blocks only

 private:
  void begin(std::uint32_t members, std::string_view word, const core::event_scope& scope) {
    to_->begin_envelope(members, word);
    to_->text("model_name", scope.model);
    to_->number("block_size", scope.block_size);
    to_->text("additional_salt", scope.salt);
    to_->text("lora_name", scope.lora);
    to_->text("tenant_id", scope.tenant);
    to_->text("backend_id", std::string_view(scope.backend ? *scope.backend : to_->options().backend_id));
    to_->medium("medium", scope);
    to_->rank("dp_rank", scope.rank);
  }

  event_parts* to_;
};

/// A store's envelope. The master knows neither model nor block size, parent or tokens; the branch adds what its connectors told it.
class mooncake_writer {
 public:
  explicit mooncake_writer(event_parts& to) : to_(&to), is_branch_(to.options().form == event_form::mooncake_branch) {}

  void operator()(const core::stored_event& event) { stored(event.scope, event.hashes); }
  void operator()(const core::removed_event& event) { removed(event.scope, event.hashes); }
  void operator()(const core::cleared_event& event) {
    to_->begin_envelope(12, "cleared");
    dimensions("AllBlocksCleared", event.scope);
  }
  void operator()(const core::object_event& event) { event.what == change::removed ? removed(event.scope, {}) : stored(event.scope, {}); }

 private:
  void stored(const core::event_scope& scope, const std::vector<core::engine_hash>& names) {
    begin(20, "stored", "BlockStored", scope, names);
    is_branch_ ? to_->nothing("base_block_idx") : to_->number("base_block_idx", 0);
    for (const std::string_view unset : {"parent_hash", "token_ids", "parent_block_hash"}) to_->nothing(unset);
  }

  void removed(const core::event_scope& scope, const std::vector<core::engine_hash>& names) {
    begin(17, "removed", "BlockRemoved", scope, names);
    to_->nothing("base_block_idx");
  }

  void begin(std::uint32_t members, std::string_view word, std::string_view tag, const core::event_scope& scope,
             const std::vector<core::engine_hash>& names) {
    const bool has_digest = is_branch_ && names.size() == 1;
    to_->begin_envelope(members + (has_digest ? 1 : 0), word);
    dimensions(tag, scope);
    to_->text("group_id", std::string_view(std::to_string(scope.group)));
    to_->text("object_key", std::string_view(scope.object_key));
    to_->hashes("seq_hashes", names, false);
    to_->hashes("block_hashes", names, true);
    if (has_digest) to_->text("connector_block_hash", std::string_view(hexadecimal(digest_of_name(names.front()))));
  }

  void dimensions(std::string_view tag, const core::event_scope& scope) {
    to_->text("type", tag);
    if (is_branch_) {
      to_->text("model_name", scope.model);
      to_->number("block_size", scope.block_size);
      to_->text("additional_salt", scope.salt);
      to_->text("lora_name", scope.lora);
    } else {
      for (const std::string_view unset : {"model_name", "block_size", "additional_salt", "lora_name"}) to_->nothing(unset);
    }
    to_->text("tenant_id", std::string_view(scope.tenant ? *scope.tenant : "default"));
    to_->text("backend_id", std::string_view(scope.backend ? *scope.backend : to_->options().backend_id));
    to_->medium("medium", scope);
    is_branch_ ? to_->rank("dp_rank", scope.rank) : to_->nothing("dp_rank");
  }

  event_parts* to_;
  bool is_branch_;
};

/// Objects and replicas by position. (Source: seed 004.)
void write_object(const core::object_event& event, event_parts& to) {
  const bool is_store = event.what == change::stored;
  to.begin_array(is_store ? 8 : 3, is_store ? "BlockStoreEvent" : "BlockUpdateEvent");
  to.text({}, std::string_view(event.scope.object_key));
  to.replicas(event.what == change::removed ? std::vector<core::object_replica>() : event.replicas);
  if (!is_store) return;
  const auto hash_text = [](const std::optional<core::engine_hash>& name) {
    if (!name) return std::string();
    const auto digest = digest_of_name(*name);
    return "0x" + hexadecimal(std::span(digest).last(8));
  };
  to.text({}, std::string_view(event.scope.model ? *event.scope.model : ""));
  to.number({}, event.scope.block_size);
  to.text({}, std::string_view(hash_text(event.name)));
  to.text({}, std::string_view(hash_text(event.parent)));
  to.tokens({}, event.tokens);
}

}  // namespace

void write_envelope_event(const core::event& what, event_parts& to) {
  if (to.options().form == event_form::standard) return std::visit(standard_writer(to), what);
  if (to.options().form != event_form::mooncake_array) return std::visit(mooncake_writer(to), what);
  if (const auto* object = std::get_if<core::object_event>(&what)) return write_object(*object, to);
  to.begin_array(1, "RemoveAllEvent");
}

}  // namespace kvc::net
