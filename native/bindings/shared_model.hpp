// A model that many threads may read while one learns, guarded by a mutex. A reader takes a share of it. A learner
// changes it in place if there is no other share; otherwise it changes a copy, which replaces the model. A query keeps
// the model it was opened on.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "bindings.hpp"

namespace anystream::bindings {

template <typename Model>
class SharedModel {
  public:
    using Share = std::shared_ptr<Model>;

    explicit SharedModel(Model model) : model_(std::make_shared<Model>(std::move(model))) {}
    explicit SharedModel(Share model) : model_(std::move(model)) {}

    /// A share for a reader. Call it with the GIL held.
    [[nodiscard]] Share share() const {
        const nb::gil_scoped_release unlocked;
        const std::lock_guard lock(guard_);
        return model_;
    }
    /// Changes the model, or a copy that replaces it; `change` throws only before it changes anything. Call it with the
    /// GIL held; `change` runs without it.
    template <typename Change>
    void change(Change&& change) {
        const nb::gil_scoped_release unlocked;
        const std::lock_guard lock(guard_);
        if (model_.use_count() > 1) model_ = std::make_shared<Model>(*model_);
        std::atomic_thread_fence(std::memory_order_acquire);  // all reads of released shares happen before the change
        change(*model_);
    }

  private:
    mutable std::mutex guard_;
    Share model_;
};

}  // namespace anystream::bindings
