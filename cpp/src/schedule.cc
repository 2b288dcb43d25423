#include "onearena/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "onearena/planner.h"
#include "schedule_graph.h"
#include "schedule_search.h"
#include "schedule_settle.h"

namespace onearena {
namespace {

using internal::ScheduleGraph;
using internal::Stretch;
using internal::Word;

constexpr int32_t kMaxWindows = 24;
constexpr int32_t kFirstWidth = 4;
// States of a beam from the first operation to the last, at most about so many times the number of
// those that may run next.
constexpr int32_t kMaxBeam = 12000;

struct Found {
  std::vector<int32_t> order;
  int64_t lower_bound = 0, states = 0;
};

// What has run so far.
class Front {
 public:
  explicit Front(const ScheduleGraph& graph)
      : graph_(graph), done_(graph.words()), live_(graph.live_at_start()) {}

  const std::vector<Word>& done() const { return done_; }
  int64_t live() const { return live_; }

  void run(const std::vector<int32_t>& order) {
    for (int32_t op : order) {
      live_ = graph_.run(done_.data(), live_, op).live;
      internal::add(done_.data(), op);
    }
  }

 private:
  const ScheduleGraph& graph_;
  std::vector<Word> done_;
  int64_t live_;
};

// From one stretch to the next. The bound holds up to the first that is not proven.
Found sweep(const ScheduleGraph& graph, int64_t known_peak, const ScheduleOptions& options) {
  Found found;
  Front front(graph);
  bool is_proven = true;
  while (found.order.size() < static_cast<size_t>(graph.size())) {
    const int64_t limit = is_proven ? known_peak : std::numeric_limits<int64_t>::max();
    const int64_t left = options.state_limit - found.states;
    const int64_t most = is_proven ? left : std::min(left, options.state_limit / 8);
    Stretch next = next_stretch(graph, front.done(), front.live(), limit, most);
    found.states += next.states;
    if (is_proven) found.lower_bound = std::max(found.lower_bound, next.lower_bound);
    if (next.order.empty()) {
      is_proven = false;
      next =
          beam_stretch(graph, front.done(), front.live(), options.beam_width, options.state_limit);
    }
    front.run(next.order);
    found.order.insert(found.order.end(), next.order.begin(), next.order.end());
  }
  return found;
}

// Searches the surroundings of the peak anew, until that does not lower it.
int64_t search_windows(const ScheduleGraph& graph, const ScheduleOptions& options,
                       int64_t lower_bound, std::vector<int32_t>* order) {
  int64_t states = 0;
  const auto count = static_cast<int64_t>(order->size());
  int64_t failures = 0;
  for (int32_t round = 0; round < kMaxWindows && failures < 3; ++round) {
    const auto peaks = graph.peaks(*order);
    const auto top = std::max_element(peaks.begin(), peaks.end());
    if (*top <= lower_bound) break;
    // the peak in the middle of the window, or near its begin or end
    const int64_t place = std::vector<int64_t>{2, 4, 1}[failures] * options.window / 4;
    const int64_t last = std::max<int64_t>(count - options.window, 0);
    const int64_t begin = std::clamp<int64_t>(top - peaks.begin() - place, 0, last);
    const int64_t end = std::min<int64_t>(begin + options.window, count);
    Front front(graph);
    front.run({order->begin(), order->begin() + begin});
    const Stretch found = best_window(graph, front.done(), front.live(),
                                      {order->begin() + begin, order->begin() + end}, *top - 1,
                                      options.state_limit / 8);
    states += found.states;
    failures = found.order.empty() ? failures + 1 : 0;
    std::copy(found.order.begin(), found.order.end(), order->begin() + begin);
  }
  return states;
}

std::vector<int32_t> read_backwards(std::vector<int32_t> order) {
  std::reverse(order.begin(), order.end());
  const auto last = static_cast<int32_t>(order.size()) - 1;
  for (int32_t& op : order) op = last - op;
  return order;
}

}  // namespace

Schedule schedule(const ScheduleProblem& problem, const ScheduleOptions& wanted) {
  const ScheduleGraph graph(problem, false);
  ScheduleOptions options = wanted;
  options.state_limit = std::max<int64_t>(options.state_limit, 1);
  const int32_t widest = kMaxBeam / std::max(graph.size(), 1);
  options.beam_width = std::max(std::min(options.beam_width, widest), 1);
  options.window = std::max(options.window, 2);
  Schedule result;
  std::vector<int32_t> as_it_is(problem.operations.size());
  std::iota(as_it_is.begin(), as_it_is.end(), 0);
  const int64_t known = graph.peak(as_it_is);
  result.lower_bound = graph.lower_bound();
  const auto take = [&](const std::vector<int32_t>& order) {
    const int64_t peak = graph.peak(order);
    if (!result.order.empty() && peak >= result.peak) return;
    result.order = order;
    result.peak = peak;
  };
  const auto learn = [&](const Found& found) {
    result.states += found.states;
    result.lower_bound = std::max(result.lower_bound, found.lower_bound);
  };
  // a little first: often one direction is easy where the other one is not
  for (const bool is_last : {false, true}) {
    ScheduleOptions effort = options;
    if (!is_last) {
      effort.state_limit = options.state_limit / 16;
      effort.beam_width = std::min(options.beam_width, kFirstWidth);
    }
    const Found forwards = sweep(graph, known, effort);
    learn(forwards);
    take(forwards.order);
    if (result.peak <= result.lower_bound) break;
    const Found backwards = sweep(ScheduleGraph(problem, true), known, effort);
    learn(backwards);
    take(read_backwards(backwards.order));
    if (result.peak <= result.lower_bound) break;
  }
  take(as_it_is);
  if (result.peak > result.lower_bound) {
    result.states += search_windows(graph, options, result.lower_bound, &result.order);
  }
  settle(graph, &result.order);
  result.peak = graph.peak(result.order);
  return result;
}

int64_t peak_of(const ScheduleProblem& problem, const std::vector<int32_t>& order) {
  const ScheduleGraph graph(problem, false);
  if (!graph.is_allowed(order)) throw MalformedProblem("the operations may not run in this order");
  return graph.peak(order);
}

}  // namespace onearena
