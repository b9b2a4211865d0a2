#include "core/stream_cursor.hpp"

namespace kvc::core {

stream_cursor::verdict stream_cursor::observe_live(seqno batch) {
  if (newest_live_ && batch <= *newest_live_) return {.what = verdict::kind::restart};
  newest_live_ = batch;
  if (applied_ && batch <= *applied_) return {.what = verdict::kind::duplicate};
  if (batch <= next()) return {.what = verdict::kind::contiguous};  // below: a publisher that starts lower than its type suggests
  return {.what = verdict::kind::gap, .missing_from = next(), .missing_to = seqno{batch.get() - 1}};
}

void stream_cursor::applied(seqno batch) {
  if (!applied_ || batch > *applied_) applied_ = batch;
}

}  // namespace kvc::core
