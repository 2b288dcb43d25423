#include "explain.h"

#include <algorithm>
#include <numeric>

#include "assign.h"
#include "limits.h"

namespace onearena::internal {
namespace {

constexpr int64_t kNodesPerTrial = 20'000;
constexpr int32_t kMaxTrials = 400;
constexpr double kMaxSeconds = 2.0;

// The problem with only some of its buffers, which keep their numbers' order.
Problem part_of(const Problem& problem, const std::vector<int32_t>& buffers) {
  Problem part;
  part.memories = problem.memories;
  std::vector<int32_t> number(problem.buffers.size(), -1);
  for (int32_t buffer : buffers) {
    number[buffer] = static_cast<int32_t>(part.buffers.size());
    part.buffers.push_back(problem.buffers[buffer]);
  }
  for (const Group& group : problem.groups) {
    Group kept;
    for (const Member& member : group) {
      if (number[member.buffer] >= 0) kept.push_back({number[member.buffer], member.delta});
    }
    if (!kept.empty()) part.groups.push_back(kept);
  }
  for (const Pair& pair : problem.pairs) {
    if (number[pair.first] >= 0 && number[pair.second] >= 0) {
      part.pairs.push_back({number[pair.first], number[pair.second]});
    }
  }
  return part;
}

class Explainer {
 public:
  Explainer(const Problem& problem, const Options& options) : problem_(problem) {
    trial_ = options;
    trial_.node_limit = kNodesPerTrial;
    trial_.fit_only = true;
    limits_.deadline = Clock::now() + std::chrono::milliseconds(int64_t(kMaxSeconds * 1000));
    limits_.stop = options.stop;
  }

  // Takes away larger and larger shares of what may be unnecessary, then single buffers.
  std::vector<int32_t> run(std::vector<int32_t> buffers) {
    for (size_t share = std::max<size_t>(1, buffers.size() / 2); share > 0; share /= 2) {
      for (size_t at = 0; at < buffers.size();) {
        std::vector<int32_t> rest(buffers.begin(), buffers.begin() + at);
        rest.insert(rest.end(), buffers.begin() + std::min(buffers.size(), at + share),
                    buffers.end());
        if (is_impossible(rest)) {
          buffers = std::move(rest);
        } else {
          at += share;
        }
        if (trials_ >= kMaxTrials || limits_.reached()) return buffers;
      }
    }
    return buffers;
  }

  bool is_impossible(const std::vector<int32_t>& buffers) {
    ++trials_;
    return plan_memories(part_of(problem_, buffers), trial_, limits_).status == Status::kInfeasible;
  }

 private:
  const Problem& problem_;
  Options trial_;
  Limits limits_;
  int32_t trials_ = 0;
};

}  // namespace

std::vector<int32_t> explain(const Problem& problem, const Options& options,
                             const std::vector<int32_t>& known) {
  Explainer explainer(problem, options);
  std::vector<int32_t> start(problem.buffers.size());
  std::iota(start.begin(), start.end(), 0);
  // what contradicts itself may still do so only together with more
  if (!known.empty() && explainer.is_impossible(known)) start = known;
  std::vector<int32_t> found = explainer.run(start);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace onearena::internal
