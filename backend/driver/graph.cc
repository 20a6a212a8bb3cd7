#include "backend/driver/device_state.h"
#include "backend/driver/driver.h"

namespace tilevm::backend {

Result<Stream> Device::make_stream() const {
  cuda::Stream handle = nullptr;
  const Status made = with_context(*state_, "making a stream", [&](const cuda::Api& api) {
    return api.stream_create(&handle, cuda::stream_non_blocking);
  });
  if (!made) return made.error();
  Stream stream;
  stream.stream_ = std::shared_ptr<void>(handle, [state = state_](void* used) {
    if (state->stuck) return;
    const CurrentContext current(*state);
    state->api().stream_destroy(static_cast<cuda::Stream>(used));
  });
  return stream;
}

Result<Graph> Device::capture(const std::function<Status(cuda::Stream)>& work) const {
  const Result<Stream> stream = make_stream();
  if (!stream) return stream.error();
  const Status begun = with_context(*state_, "beginning to capture", [&](const cuda::Api& api) {
    return api.stream_begin_capture(stream->handle(), cuda::capture_thread_local);
  });
  if (!begun) return begun.error();
  const Status worked = work(stream->handle());
  cuda::GraphHandle captured = nullptr;
  cuda::GraphExecHandle handle = nullptr;
  const Status made = with_context(*state_, "making a graph", [&](const cuda::Api& api) {
    cuda::Code code = api.stream_end_capture(stream->handle(), &captured);
    if (code == cuda::success && worked) code = api.graph_instantiate(&handle, captured, 0);
    if (captured != nullptr) api.graph_destroy(captured);
    return code;
  });
  if (!worked) return worked.error();
  if (!made) return made.error();
  Graph graph;
  graph.device_ = state_;
  graph.graph_ = std::shared_ptr<void>(handle, [state = state_](void* used) {
    if (state->stuck) return;
    const CurrentContext current(*state);
    state->api().graph_exec_destroy(static_cast<cuda::GraphExecHandle>(used));
  });
  return graph;
}

Status Graph::launch(cuda::Stream stream) const {
  if (graph_ == nullptr) return Error{ErrorKind::usage, "no graph was captured"};
  return with_context(*device_, "launching a graph", [&](const cuda::Api& api) {
    return api.graph_launch(static_cast<cuda::GraphExecHandle>(graph_.get()), stream);
  });
}

}  // namespace tilevm::backend
