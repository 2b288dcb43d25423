// Planning one structure again and again with other sizes: valid, exact about what cannot be kept,
// and without a single allocation.
#include <new>

#include "check.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

// Counts what the whole process allocates.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}
void* operator new(std::size_t size) {
  if (void* result = operator new(size, std::nothrow)) return result;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace onearena::testing {
namespace {

Problem any_structure(Random& random) {
  Problem problem;
  const int64_t count = random.in(0, 80);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t begin = random.in(0, 60);
    problem.buffers.push_back(buffer(random.in(0, 500), begin, begin + random.in(0, 20)));
    if (random.once_in(3)) problem.buffers.back().alignment = random.in(1, 64);
  }
  for (int64_t k = 0; k + 1 < count; ++k) {
    Buffer& second = problem.buffers[static_cast<size_t>(k + 1)];
    if (!random.once_in(8)) continue;
    second.size = problem.buffers[static_cast<size_t>(k)].size;
    problem.pairs.push_back({static_cast<int32_t>(k), static_cast<int32_t>(k + 1)});
  }
  return problem;
}

std::vector<int64_t> other_sizes(const Problem& problem, Random& random) {
  const int64_t factor = random.in(0, 3000);
  std::vector<int64_t> result;
  for (const Buffer& buffer : problem.buffers) {
    result.push_back(random.once_in(3) ? random.in(0, 3000) : buffer.size * factor / 1000);
  }
  for (const Pair& pair : problem.pairs) {
    result[static_cast<size_t>(pair.second)] = result[static_cast<size_t>(pair.first)];
  }
  return result;
}

int64_t replan(Replanner& replanner, const std::vector<int64_t>& sizes,
               std::vector<int64_t>& offsets) {
  offsets.assign(sizes.size(), -7);
  const int64_t before = allocations;
  const int64_t height = replanner.replan(sizes.data(), offsets.data());
  CHECK(allocations == before);
  return height;
}

void check_again(Problem problem, Replanner& replanner, const std::vector<int64_t>& sizes) {
  for (size_t k = 0; k < sizes.size(); ++k) problem.buffers[k].size = sizes[k];
  std::vector<int64_t> offsets;
  const int64_t height = replan(replanner, sizes, offsets);
  CHECK(height >= lower_bound(problem));
  const std::vector<int32_t> memories(sizes.size(), 0);
  CHECK(verify(problem, {offsets.data(), memories.data(), &height}).empty());
  std::vector<int64_t> again;
  CHECK(replan(replanner, sizes, again) == height && again == offsets);
}

Options short_time() {
  Options options;
  options.time_limit_s = 0.02;
  return options;
}

void test_random_structures() {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    const Problem problem = any_structure(random);
    Plan first;
    Replanner replanner(problem, short_time(), &first);
    check_plan(problem, first);
    std::vector<int64_t> sizes;
    for (const Buffer& buffer : problem.buffers) sizes.push_back(buffer.size);
    std::vector<int64_t> offsets;
    CHECK(replan(replanner, sizes, offsets) <= first.heights[0]);
    for (int k = 0; k < 10; ++k) check_again(problem, replanner, other_sizes(problem, random));
    Replanner moved = std::move(replanner);
    check_again(problem, moved, sizes);
  }
}

void test_what_cannot_be_kept() {
  Problem problem;
  problem.buffers = {buffer(10, 0, 2), buffer(10, 1, 3)};
  problem.memories[0].capacity = 30;
  Replanner replanner(problem, Options{}, nullptr);
  std::vector<int64_t> offsets;
  CHECK(replan(replanner, {10, 10}, offsets) == 20);
  CHECK(replan(replanner, {10, 20}, offsets) == 30);
  CHECK(replan(replanner, {10, 21}, offsets) == -1);
  CHECK(replan(replanner, {-1, 10}, offsets) == -1);
  CHECK(replan(replanner, {INT64_MAX, INT64_MAX}, offsets) == -1);
  CHECK(replan(replanner, {INT64_MIN, 0}, offsets) == -1);
  CHECK(replan(replanner, {0, 0}, offsets) == 0);
  CHECK(replan(replanner, {10, 10}, offsets) == 20);
}

void test_pins_are_kept() {
  Problem problem;
  problem.buffers = {buffer(10, 0, 2), buffer(10, 1, 3)};
  problem.buffers[0].offset = 5;
  problem.buffers[1].offset = 20;
  Replanner replanner(problem, Options{}, nullptr);
  std::vector<int64_t> offsets;
  CHECK(replan(replanner, {15, 10}, offsets) == 30);
  CHECK((offsets == std::vector<int64_t>{5, 20}));
  CHECK(replan(replanner, {16, 10}, offsets) == -1);
}

void test_other_structures_are_refused() {
  const auto refused = [](auto change) {
    Problem problem;
    problem.buffers = {buffer(8, 0, 4), buffer(8, 1, 3)};
    change(problem);
    CHECK(throws<MalformedProblem>([&] { Replanner(problem, Options{}, nullptr); }));
  };
  refused([](Problem& p) { p.buffers[0].size = -1; });
  refused([](Problem& p) { p.memories.resize(2); });
  refused([](Problem& p) { p.buffers[0].gaps = {{{1, 2}, {0, 4}}}; });
  refused([](Problem& p) { p.groups = {{{0, 0}, {1, 4}}}; });
}

}  // namespace
}  // namespace onearena::testing

int main() {
  using namespace onearena::testing;
  test_random_structures();
  test_what_cannot_be_kept();
  test_pins_are_kept();
  test_other_structures_are_refused();
}
