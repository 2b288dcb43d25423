#include "arena.h"

#include <algorithm>

#include "boundary.h"

namespace onearena::runtime {
namespace {

constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 47;

}  // namespace

Arena::Impl::Impl(const ArenaOptions& options)
    : limit_(options.limit_bytes), reserve_(options.reserve_bytes) {
  if (reserve_ > kMaxArenaBytes || limit_ > kMaxArenaBytes) {
    throw Error(ErrorKind::kUsage, "an arena cannot have more than 2^47 bytes");
  }
}

Arena::Impl::Lease::Lease(Impl& arena, bool wait) : arena_(arena) {
  if (arena.owner_.load() == std::this_thread::get_id()) {
    throw Error(ErrorKind::kBusy, "the arena is in use by a run of this thread");
  }
  lock_ = wait ? std::unique_lock(arena.run_) : std::unique_lock(arena.run_, std::try_to_lock);
  if (!lock_) throw Error(ErrorKind::kBusy, "the arena is in use by another run");
  arena.owner_ = std::this_thread::get_id();
}

Arena::Impl::Lease::~Lease() { arena_.owner_ = std::thread::id(); }

uint8_t* Arena::Impl::Lease::ensure(uint64_t bytes) {
  Impl& arena = arena_;
  if (bytes <= arena.usable_ && arena.memory_) return arena.memory_.data();
  const std::lock_guard guard(arena.map_mutex_);
  const uint64_t wanted = whole_pages(std::max<uint64_t>(bytes, 1));
  const auto refuse = [&] {
    return Error(ErrorKind::kLimit,
                 "the machine has no " + std::to_string(bytes) + " bytes for the arena");
  };
  if (bytes > kMaxArenaBytes) throw refuse();
  if (wanted > arena.memory_.bytes()) {
    Mapping larger = Mapping::reserve(std::max(wanted, arena.reserve_));
    if (!larger) larger = Mapping::reserve(wanted);  // little address space: what is needed now
    if (!larger) throw refuse();
    if (!larger.commit(wanted)) throw refuse();
    arena.memory_ = std::move(larger);
  } else if (!arena.memory_.commit(wanted)) {
    throw refuse();
  }
  arena.usable_ = wanted;
  return arena.memory_.data();
}

void Arena::Impl::note(uint64_t bytes) {
  uint64_t known = size_;
  while (known < bytes && !size_.compare_exchange_weak(known, bytes)) {
  }
}

uint64_t Arena::Impl::resident_bytes() const {
  const std::lock_guard guard(map_mutex_);
  return memory_.resident_bytes(usable_);
}

void Arena::Impl::trim() {
  const Lease lease(*this, true);
  const std::lock_guard guard(map_mutex_);
  memory_.discard(usable_);
}

Arena::Arena(const ArenaOptions& options)
    : impl_(at_boundary("arena", [&] { return std::make_shared<Impl>(options); })) {}
Arena::~Arena() = default;
uint64_t Arena::size_bytes() const { return impl_->size_bytes(); }
uint64_t Arena::limit_bytes() const { return impl_->limit_bytes(); }
uint64_t Arena::resident_bytes() const { return impl_->resident_bytes(); }
void Arena::trim() { impl_->trim(); }

}  // namespace onearena::runtime
