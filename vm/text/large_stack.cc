#include "vm/text/large_stack.h"

#include <pthread.h>

namespace tilevm::vm {
namespace {

void* call(void* work) {
  (*static_cast<const std::function<void()>*>(work))();
  return nullptr;
}

}  // namespace

void run_on_large_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_t thread{};
  bool runs = false;
  if (pthread_attr_init(&attributes) == 0) {
    auto* const argument = const_cast<std::function<void()>*>(&work);  // call() only reads it
    runs = pthread_attr_setstacksize(&attributes, large_stack_bytes) == 0 &&
           pthread_create(&thread, &attributes, call, argument) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (!runs) return work();
  pthread_join(thread, nullptr);
}

}  // namespace tilevm::vm
