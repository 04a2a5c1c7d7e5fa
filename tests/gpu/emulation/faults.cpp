// A kernel that touches memory it should not, or that the runtime gives up on, must not take the process with it.
// Handlers of the signals are in place only while a kernel runs: outside of one, Python's faulthandler has them back.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <pthread.h>

#include "runtime.h"

namespace emulation {
namespace {

const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

sigjmp_buf escape;
pthread_t thread_of_the_kernel;
char reason_text[512];  // fixed, because a signal handler may not allocate
alignas(16) char handler_stack[64 << 10];  // a kernel that overflows its own stack has no room for a handler

const char *explain(int signal, const siginfo_t *info) {
  static char text[256];
  if (signal == SIGILL) return "an index is outside its array";  // the trap of -fsanitize=bounds-strict
  if (signal == SIGFPE) return "integer division by zero";
  if (info->si_code == SI_KERNEL) return "CUDA_ERROR_MISALIGNED_ADDRESS, or an address that cannot exist";
  int written = snprintf(text, sizeof text, "CUDA_ERROR_ILLEGAL_ADDRESS: ");
  describe(reinterpret_cast<uintptr_t>(info->si_addr), text + written, sizeof text - written);
  return text;
}

void handle(int signal, siginfo_t *info, void *) {
  if (!pthread_equal(pthread_self(), thread_of_the_kernel)) {
    std::signal(signal, SIG_DFL);  // not ours: the instruction runs again and ends the process as it would have
    return;
  }
  const uint3 &thread = emulated_thread->thread;
  const char *reason = explain(signal, info);
  snprintf(reason_text, sizeof reason_text, "thread (%u, %u, %u): %s", thread.x, thread.y, thread.z, reason);
  siglongjmp(escape, 1);
}

class Handlers {
 public:
  Handlers() {
    thread_of_the_kernel = pthread_self();
    stack_t stack{};
    stack.ss_sp = handler_stack;
    stack.ss_size = sizeof handler_stack;
    sigaltstack(&stack, &previous_stack);
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t i = 0; i < std::size(signals); i++) sigaction(signals[i], &action, &previous[i]);
  }
  ~Handlers() {
    for (size_t i = 0; i < std::size(signals); i++) sigaction(signals[i], &previous[i], nullptr);
    sigaltstack(&previous_stack, nullptr);
  }

 private:
  struct sigaction previous[std::size(signals)];
  stack_t previous_stack;
};

}  // namespace

std::string guarded(void (*body)(void *), void *argument) {
  Handlers handlers;
  if (sigsetjmp(escape, 1)) return reason_text;  // 1: leaving a handler unblocks its signal, for the next fault
  body(argument);
  return "";
}

void abandon(const std::string &reason) {
  snprintf(reason_text, sizeof reason_text, "%s", reason.c_str());
  siglongjmp(escape, 1);
}

}  // namespace emulation
