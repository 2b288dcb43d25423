// Buffers as rectangles of steps and bytes.
#ifndef ONEARENA_VERIFY_PIECES_H_
#define ONEARENA_VERIFY_PIECES_H_

#include <cstdint>
#include <vector>

#include "onearena/problem.h"

namespace onearena::verifying {

// During all of `life` the buffer occupies exactly `bytes` of its memory. Neither is empty.
struct Piece {
  Span life;
  Span bytes;
  int32_t buffer;
};

// Appends what the buffer occupies, as pieces of different steps. offset + size must not overflow.
void cut(const Buffer& buffer, int32_t id, int64_t offset, std::vector<Piece>& pieces);

}  // namespace onearena::verifying

#endif  // ONEARENA_VERIFY_PIECES_H_
