#include "pieces.h"

#include <algorithm>

namespace onearena::verifying {

void cut(const Buffer& buffer, int32_t id, int64_t offset, std::vector<Piece>& pieces) {
  const auto append = [&](Span life, Span bytes) {
    if (life.begin >= life.end || bytes.begin >= bytes.end) return;
    pieces.push_back({life, {offset + bytes.begin, offset + bytes.end}, id});
  };
  std::vector<Gap> gaps = buffer.gaps;
  std::sort(gaps.begin(), gaps.end(),
            [](const Gap& a, const Gap& b) { return a.life.begin < b.life.begin; });
  const Span whole{0, buffer.size};
  int64_t step = buffer.life.begin;
  for (const Gap& gap : gaps) {
    if (gap.life.begin >= gap.life.end) continue;
    append({step, gap.life.begin}, whole);
    append(gap.life, gap.bytes);
    step = gap.life.end;
  }
  append({step, buffer.life.end}, whole);
}

}  // namespace onearena::verifying
