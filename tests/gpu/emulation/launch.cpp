// A launch: its limits, then one block after the other.
#include "runtime.h"

namespace emulation {

bool only_ends = false;
std::string skipped;

namespace {

std::string text(const dim3 &size) {
  return "(" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " + std::to_string(size.z) + ")";
}

std::string limits_exceeded(const dim3 &grid, const dim3 &block, unsigned most_threads) {
  size_t threads = size_t(block.x) * block.y * block.z;
  if (threads > most_threads) {
    return "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: a block of " + text(block) + " threads, and the kernel's " +
           "__launch_bounds__ allow " + std::to_string(most_threads);
  }
  if (threads == 0 || threads > 1024 || block.x > 1024 || block.y > 1024 || block.z > 64) {
    return "CUDA_ERROR_INVALID_VALUE: a block of " + text(block) + " threads; 1 to 1024, and at most 64 along z";
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    return "CUDA_ERROR_INVALID_VALUE: a grid of " + text(grid) + " blocks; at most 2147483647 x 65535 x 65535";
  }
  return "";
}

void run_grid(void *argument) {
  const Launch &launch = *static_cast<const Launch *>(argument);
  start_shared_memory(launch.dynamic_bytes);
  static std::vector<size_t> blocks;  // static, because a kernel that fails leaves this function without its end
  const size_t count = size_t(launch.grid.x) * launch.grid.y * launch.grid.z;
  if (only_ends && count > 2) {
    blocks = {0, count - 1};
  } else {
    arrange(blocks, count);
  }
  for (size_t block : blocks) {
    clear_shared_memory();
    run_block(position(block, launch.grid));
  }
}

}  // namespace

std::string run(Launch launch) {
  if (!skipped.empty() && std::string(launch.kernel->name).rfind(skipped, 0) == 0) return "";
  std::string problem = limits_exceeded(launch.grid, launch.block, launch.kernel->most_threads);
  if (!problem.empty()) return problem;
  restart_schedule();
  prepare_threads(launch);
  problem = guarded(run_grid, &launch);
  if (problem.empty()) return "";
  const uint3 &block = emulated_thread->block;
  return "block " + text(dim3(block.x, block.y, block.z)) + ": " + problem;
}

}  // namespace emulation
