#include "schedule_settle.h"

#include <algorithm>
#include <utility>

namespace onearena::internal {
namespace {

constexpr int32_t kMaxPasses = 4;
constexpr int64_t kMaxSwaps = 50000;

using Element = std::vector<int32_t>;  // operations that stay together

class Settling {
 public:
  explicit Settling(const ScheduleGraph& graph)
      : graph_(graph), done_(graph.words()), live_(graph.live_at_start()) {}

  // Puts elements into order; what comes before them has run.
  void sort(std::vector<Element>* elements) {
    for (int32_t pass = 0; pass < kMaxPasses; ++pass) {
      if (!sort_once(elements)) break;
    }
  }

  void run(const Element& element) {
    live_ = cost(element).live;
    mark(element);
  }

 private:
  struct Cost {
    int64_t peak = 0, sum = 0, live = 0;
  };

  // Of running an element now; changes nothing.
  Cost cost(const Element& element) {
    Cost result{0, 0, live_};
    for (int32_t op : element) {
      const Effect effect = graph_.run(done_.data(), result.live, op);
      result = {std::max(result.peak, effect.peak), result.sum + effect.peak, effect.live};
      add(done_.data(), op);
    }
    unmark(element);
    return result;
  }

  Cost cost(const Element& first, const Element& second) {
    const Cost one = cost(first);
    mark(first);
    const int64_t live = std::exchange(live_, one.live);
    const Cost two = cost(second);
    live_ = live;
    unmark(first);
    return {std::max(one.peak, two.peak), one.sum + two.sum, two.live};
  }

  void mark(const Element& element) {
    for (int32_t op : element) add(done_.data(), op);
  }

  void unmark(const Element& element) {
    for (int32_t op : element) done_[op >> 6] &= ~(Word{1} << (op & 63));
  }

  bool depends(const Element& second, const Element& first) const {
    for (int32_t op : second) {
      for (int32_t other : graph_.before(op)) {
        if (std::find(first.begin(), first.end(), other) != first.end()) return true;
      }
    }
    return false;
  }

  bool shall_change(const Element& first, const Element& second) {
    if (first.front() < second.front() || depends(second, first)) return false;
    const Cost now = cost(first, second), then = cost(second, first);
    return then.peak <= now.peak && then.sum <= now.sum;
  }

  bool sort_once(std::vector<Element>* elements) {
    const int64_t live_at_start = live_;
    std::vector<int64_t> live{live_};  // in front of each element
    bool changed = false;
    for (size_t k = 0; k < elements->size(); ++k) {
      live_ = live[k];
      size_t j = k;
      for (; j > 0 && swaps_ < kMaxSwaps; --j) {
        unmark((*elements)[j - 1]);
        live_ = live[j - 1];
        if (!shall_change((*elements)[j - 1], (*elements)[j])) {
          run((*elements)[j - 1]);
          break;
        }
        std::swap((*elements)[j - 1], (*elements)[j]);
        changed = true;
        ++swaps_;
      }
      live.resize(k + 2);
      for (; j <= k; ++j) {
        run((*elements)[j]);
        live[j + 1] = live_;
      }
    }
    for (const Element& element : *elements) unmark(element);
    live_ = live_at_start;
    return changed;
  }

  const ScheduleGraph& graph_;
  std::vector<Word> done_;
  int64_t live_;
  int64_t swaps_ = 0;
};

}  // namespace

void settle(const ScheduleGraph& graph, std::vector<int32_t>* order) {
  std::vector<Element> elements;
  for (int32_t op : *order) {
    const bool is_next = !elements.empty() && graph.block(op) >= 0 &&
                         graph.block(elements.back().back()) == graph.block(op);
    if (!is_next) elements.emplace_back();
    elements.back().push_back(op);
  }
  // blocks change places by their first operations in the problem, whatever runs first
  Settling settling(graph);
  settling.sort(&elements);
  order->clear();
  for (const Element& element : elements) {
    std::vector<Element> inner;
    for (int32_t op : element) inner.push_back({op});
    if (inner.size() > 1) settling.sort(&inner);
    for (const Element& op : inner) {
      settling.run(op);
      order->push_back(op.front());
    }
  }
}

}  // namespace onearena::internal
