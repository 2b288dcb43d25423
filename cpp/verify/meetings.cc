#include "meetings.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "pieces.h"

namespace onearena::verifying {
namespace {

// The overlaps that are allowed.
class Sharing {
 public:
  Sharing(const Problem& problem, const Placed& placed, const std::vector<int32_t>& group_of)
      : placed_(placed), group_of_(group_of) {
    for (const Pair& pair : problem.pairs) pairs_.push_back(std::minmax(pair.first, pair.second));
    std::sort(pairs_.begin(), pairs_.end());
  }

  // Whether the two, both in one memory, may occupy the same bytes as they lie now.
  bool allowed(int32_t one, int32_t other) const {
    const int32_t group = group_of_[static_cast<size_t>(one)];
    if (group != -1 && group == group_of_[static_cast<size_t>(other)]) return true;
    return placed_.offsets[one] == placed_.offsets[other] &&
           std::binary_search(pairs_.begin(), pairs_.end(),
                              std::pair<int32_t, int32_t>(std::minmax(one, other)));
  }

 private:
  const Placed& placed_;
  const std::vector<int32_t>& group_of_;
  std::vector<std::pair<int32_t, int32_t>> pairs_;
};

using Key = std::pair<int64_t, size_t>;  // a byte, and the number of a piece

// The pieces of one step, by their first byte. Pieces of about the same length are kept together,
// so that what meets given bytes is among those that begin less than twice that length before
// them: apart from the ones that do meet, hardly any, as pieces seldom overlap each other.
class Alive {
 public:
  explicit Alive(const std::vector<Piece>& pieces) : pieces_(pieces) {}

  void insert(size_t k) { row(k).insert({pieces_[k].bytes.begin, k}); }
  void erase(size_t k) { row(k).erase({pieces_[k].bytes.begin, k}); }

  template <typename Visit>
  void for_each_meeting(const Span& bytes, Visit visit) const {
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r].empty()) continue;
      const int64_t longest = (int64_t{1} << r) - 1 + (int64_t{1} << r);
      const int64_t from = bytes.begin >= INT64_MIN + longest ? bytes.begin - longest : INT64_MIN;
      for (auto it = rows_[r].lower_bound({from, 0}); it != rows_[r].end(); ++it) {
        if (it->first >= bytes.end) break;
        if (pieces_[it->second].bytes.end > bytes.begin) visit(it->second);
      }
    }
  }

 private:
  std::set<Key>& row(size_t k) {
    const Span& bytes = pieces_[k].bytes;
    int64_t length = bytes.end - bytes.begin;
    size_t r = 0;
    while (length >>= 1) ++r;
    return rows_[r];
  }

  const std::vector<Piece>& pieces_;
  std::array<std::set<Key>, 63> rows_;  // [r]: 2^r <= length < 2^(r + 1)
};

// Goes through the steps of one memory, and compares each piece with those alive at its birth.
class Sweep {
 public:
  Sweep(const Problem& problem, const Sharing& sharing, const std::vector<Piece>& pieces,
        Faults& faults)
      : problem_(problem), sharing_(sharing), pieces_(pieces), faults_(faults), alive_(pieces) {
    any_last_ = std::any_of(pieces.begin(), pieces.end(),
                            [this](const Piece& piece) { return is_last(piece); });
  }

  void run() {
    const std::vector<size_t> births = order([](const Piece& piece) { return piece.life.begin; });
    const std::vector<size_t> deaths = order([](const Piece& piece) { return piece.life.end; });
    auto death = deaths.begin();
    for (size_t k : births) {
      while (pieces_[*death].life.end <= pieces_[k].life.begin) erase(*death++);
      compare(k);
      if (faults_.full()) return;
      insert(k);
    }
  }

 private:
  template <typename Step>
  std::vector<size_t> order(Step step) const {
    std::vector<size_t> result(pieces_.size());
    for (size_t k = 0; k < result.size(); ++k) result[k] = k;
    std::sort(result.begin(), result.end(),
              [&](size_t a, size_t b) { return step(pieces_[a]) < step(pieces_[b]); });
    return result;
  }

  bool is_last(const Piece& piece) const {
    return problem_.buffers[static_cast<size_t>(piece.buffer)].is_last;
  }

  void insert(size_t k) {
    alive_.insert(k);
    if (!any_last_) return;
    by_end_.insert({pieces_[k].bytes.end, k});
    if (is_last(pieces_[k])) last_.insert({pieces_[k].bytes.begin, k});
  }

  void erase(size_t k) {
    alive_.erase(k);
    if (!any_last_) return;
    by_end_.erase({pieces_[k].bytes.end, k});
    if (is_last(pieces_[k])) last_.erase({pieces_[k].bytes.begin, k});
  }

  void compare(size_t k) {
    const Piece& born = pieces_[k];
    alive_.for_each_meeting(born.bytes, [&](size_t other) {
      const auto [low, high] = std::minmax(born.buffer, pieces_[other].buffer);
      if (!sharing_.allowed(low, high)) faults_.add(FaultKind::kOverlap, low, high);
    });
    for (const auto& [begin, other] : last_) {
      if (begin >= born.bytes.end) break;
      above(pieces_[other], born);
    }
    if (!is_last(born)) return;
    for (auto it = by_end_.rbegin(); it != by_end_.rend() && it->first > born.bytes.begin; ++it) {
      above(born, pieces_[it->second]);
    }
  }

  void above(const Piece& last, const Piece& other) {
    if (sharing_.allowed(last.buffer, other.buffer)) return;
    faults_.add(FaultKind::kLast, last.buffer, other.buffer);
  }

  const Problem& problem_;
  const Sharing& sharing_;
  const std::vector<Piece>& pieces_;
  Faults& faults_;
  Alive alive_;
  std::set<Key> by_end_;  // alive pieces by their end, kept only where some buffer is last
  std::set<Key> last_;    // alive pieces of last buffers by their first byte
  bool any_last_ = false;
};

std::vector<std::vector<Piece>> pieces_by_memory(const Problem& problem, const Placed& placed) {
  std::vector<std::vector<Piece>> result(problem.memories.size());
  for (size_t k = 0; k < problem.buffers.size(); ++k) {
    const Buffer& buffer = problem.buffers[k];
    const int32_t memory = placed.memories[k];
    if (memory < 0 || static_cast<size_t>(memory) >= result.size()) continue;
    if (placed.offsets[k] > INT64_MAX - buffer.size) continue;
    cut(buffer, static_cast<int32_t>(k), placed.offsets[k], result[static_cast<size_t>(memory)]);
  }
  return result;
}

}  // namespace

void find_meetings(const Problem& problem, const Placed& placed,
                   const std::vector<int32_t>& group_of, Faults& faults) {
  const Sharing sharing(problem, placed, group_of);
  for (const std::vector<Piece>& pieces : pieces_by_memory(problem, placed)) {
    if (faults.full()) return;
    if (!pieces.empty()) Sweep(problem, sharing, pieces, faults).run();
  }
}

}  // namespace onearena::verifying
