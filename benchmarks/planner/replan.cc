// How long re-planning takes when the structure is known and the sizes are new.
//
//   replan < problem
//
// The problem is a line for each buffer: begin, end, size. Prints a line for each way of changing
// sizes: its name, nanoseconds of a call (median, 99 of 100), and height / load (mean, worst); a
// load is the largest sum of sizes alive at once, so no plan is smaller. Exit code 1: a wrong plan.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "onearena/planner.h"

namespace {

using Sizes = std::vector<int64_t>;
using onearena::Buffer;
using onearena::Problem;

constexpr int kVariations = 64;
constexpr int kCalls = 32;
constexpr int64_t kUnit = 64;

Problem read() {
  Problem problem;
  long long begin, end, size;
  while (std::scanf("%lld %lld %lld", &begin, &end, &size) == 3) {
    Buffer buffer;
    buffer.size = size;
    buffer.life = {begin, end};
    problem.buffers.push_back(buffer);
  }
  return problem;
}

int64_t rounded(double size) {
  return std::max<int64_t>(1, static_cast<int64_t>(size / kUnit + 0.5)) * kUnit;
}

// One dimension of the shapes changes.
Sizes scaled(const Problem& problem, std::mt19937_64& rng) {
  const double factor = std::uniform_int_distribution<int>(1, 32)(rng) / 16.0;
  Sizes sizes;
  for (const Buffer& b : problem.buffers) sizes.push_back(rounded(b.size * factor));
  return sizes;
}

// One dimension changes that some tensors have twice and some not at all, always the same ones.
Sizes bent(const Problem& problem, std::mt19937_64& rng) {
  const double factor = std::uniform_int_distribution<int>(1, 32)(rng) / 16.0;
  Sizes sizes;
  for (size_t k = 0; k < problem.buffers.size(); ++k) {
    const double powers[] = {1, factor, factor, factor, factor * factor};
    sizes.push_back(rounded(problem.buffers[k].size * powers[k % 5]));
  }
  return sizes;
}

// Every size by itself, up to twice as large.
Sizes random(const Problem& problem, std::mt19937_64& rng) {
  Sizes sizes;
  std::uniform_real_distribution<double> factor(0.1, 2.0);
  for (const Buffer& b : problem.buffers) sizes.push_back(rounded(b.size * factor(rng)));
  return sizes;
}

int64_t load(const Problem& problem, const Sizes& sizes) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (size_t k = 0; k < sizes.size(); ++k) {
    changes.emplace_back(problem.buffers[k].life.begin, sizes[k]);
    changes.emplace_back(problem.buffers[k].life.end, -sizes[k]);
  }
  std::sort(changes.begin(), changes.end());  // ends before begins, they are negative
  int64_t now = 0, most = 0;
  for (const auto& change : changes) most = std::max(most, now += change.second);
  return most;
}

bool is_plan(const Problem& problem, const Sizes& sizes, const Sizes& offsets, int64_t height) {
  for (size_t a = 0; a < sizes.size(); ++a) {
    if (offsets[a] < 0 || offsets[a] + sizes[a] > height) return false;
    const onearena::Span life = problem.buffers[a].life;
    for (size_t b = 0; b < a; ++b) {
      const onearena::Span other = problem.buffers[b].life;
      if (life.begin < other.end && other.begin < life.end && offsets[a] < offsets[b] + sizes[b] &&
          offsets[b] < offsets[a] + sizes[a]) {
        return false;
      }
    }
  }
  return true;
}

bool measure(const char* name, const Problem& problem, onearena::Replanner& replanner,
             Sizes (*vary)(const Problem&, std::mt19937_64&)) {
  using Clock = std::chrono::steady_clock;
  std::mt19937_64 rng(1);
  std::vector<Sizes> all;
  for (int k = 0; k < kVariations; ++k) all.push_back(vary(problem, rng));
  Sizes offsets(problem.buffers.size());
  std::vector<double> times, ratios;
  for (int call = 0; call < kCalls; ++call) {
    for (const Sizes& sizes : all) {  // never the same sizes twice in a row
      const auto start = Clock::now();
      const int64_t height = replanner.replan(sizes.data(), offsets.data());
      times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
      if (call > 0) continue;
      if (!is_plan(problem, sizes, offsets, height)) {
        std::fprintf(stderr, "%s: not a plan\n", name);
        return false;
      }
      ratios.push_back(static_cast<double>(height) / load(problem, sizes));
    }
  }
  std::sort(times.begin(), times.end());
  std::printf("%s %.0f %.0f %.6f %.6f\n", name, times[times.size() / 2],
              times[times.size() * 99 / 100],
              std::accumulate(ratios.begin(), ratios.end(), 0.0) / ratios.size(),
              *std::max_element(ratios.begin(), ratios.end()));
  return true;
}

}  // namespace

int main() {
  const Problem problem = read();
  onearena::Options options;
  onearena::Plan first;
  onearena::Replanner replanner(problem, options, &first);
  const bool is_right = measure("scaled", problem, replanner, scaled) &&
                        measure("bent", problem, replanner, bent) &&
                        measure("random", problem, replanner, random);
  return is_right ? 0 : 1;
}
