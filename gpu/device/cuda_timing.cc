#include "gpu/device/cuda_timing.h"

#include <algorithm>

namespace moe4::gpu {
namespace {

// A graph of one launch.
class Graph {
 public:
  explicit Graph(const CudaDriver& driver) : driver_(driver) {}
  ~Graph() {
    if (exec_ != nullptr) driver_.graph_exec_destroy(exec_);
    if (graph_ != nullptr) driver_.graph_destroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  CudaStatus capture(CudaStream stream, const std::function<CudaStatus()>& start) {
    constexpr int kThreadLocal = 1;  // what other threads of this process do does not matter
    if (const CudaStatus status = driver_.begin_capture(stream, kThreadLocal)) return status;
    const CudaStatus started = start();
    const CudaStatus captured = driver_.end_capture(stream, &graph_);
    if (started != cuda_status::kSuccess) return started;
    return captured != cuda_status::kSuccess ? captured : driver_.graph_instantiate(&exec_, graph_, 0);
  }
  CudaStatus launch(CudaStream stream) const { return driver_.graph_launch(exec_, stream); }

 private:
  const CudaDriver& driver_;
  CudaGraph graph_ = nullptr;
  CudaGraphExec exec_ = nullptr;
};

class Measurement {
 public:
  Measurement(CudaSession& session, const TimingSettings& settings)
      : session_(session), driver_(session.driver()), settings_(settings), graph_(session.driver()) {}
  ~Measurement() {
    if (session_.lost()) return;
    for (CudaEvent event : events_) {
      if (event != nullptr) driver_.event_destroy(event);
    }
    if (flush_ != 0) driver_.release(flush_);
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  Timing run(const std::function<CudaStatus()>& start) {
    Timing timing;
    const auto launch = [&] { return settings_.graph ? graph_.launch(session_.stream()) : start(); };
    bool well = prepare(start, timing);
    for (int n = 0; well && n < settings_.warm_up + settings_.runs; ++n) {
      double microseconds = 0;
      well = one(n, launch, timing, microseconds);
      if (well && n >= settings_.warm_up) timing.microseconds.push_back(microseconds);
    }
    if (!well) timing.microseconds.clear();
    return timing;
  }

 private:
  bool well(CudaStatus status, const char* what, Timing& timing) {
    if (status == cuda_status::kSuccess) return true;
    timing.error = std::string(what) + ": " + driver_.words(status);
    if (kills_context(status)) session_.lose();
    return false;
  }

  bool prepare(const std::function<CudaStatus()>& start, Timing& timing) {
    if (!well(driver_.allocate(&flush_, settings_.flush_bytes), "memory to flush the cache with", timing))
      return false;
    for (CudaEvent& event : events_) {
      if (!well(driver_.event_create(&event, 0), "an event", timing)) return false;
    }
    return !settings_.graph ||
           well(graph_.capture(session_.stream(), start), "the capture of a graph", timing);
  }

  bool one(int n, const std::function<CudaStatus()>& launch, Timing& timing, double& microseconds) {
    const CudaStream stream = session_.stream();
    CudaStatus status =
        driver_.fill_later(flush_, static_cast<unsigned char>(n), settings_.flush_bytes, stream);
    if (status == cuda_status::kSuccess) status = driver_.event_record(events_[0], stream);
    if (status == cuda_status::kSuccess) status = launch();
    if (status == cuda_status::kSuccess) status = driver_.event_record(events_[1], stream);
    if (!well(status, "the launch", timing)) return false;
    status = session_.wait(settings_.time_limit);
    if (status == cuda_status::kNotReady) {
      timing.error = "a run did not end within the time limit";
      session_.lose();
      return false;
    }
    float milliseconds = 0;
    if (status == cuda_status::kSuccess)
      status = driver_.event_elapsed(&milliseconds, events_[0], events_[1]);
    microseconds = 1000.0 * static_cast<double>(milliseconds);
    return well(status, "a run", timing);
  }

  CudaSession& session_;
  const CudaDriver& driver_;
  const TimingSettings& settings_;
  Graph graph_;
  CudaAddress flush_ = 0;
  CudaEvent events_[2] = {};
};

}  // namespace

double Timing::median() const {
  std::vector<double> sorted = microseconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

Timing measure_launch(CudaSession& session, const std::function<CudaStatus()>& start,
                      const TimingSettings& settings) {
  return Measurement(session, settings).run(start);
}

}  // namespace moe4::gpu
