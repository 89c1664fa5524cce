// A model that many threads may read while one learns: it stands behind a mutex. Whoever reads takes a share of it;
// whoever learns changes it in place if nobody else has a share, and else changes a copy and puts that in its place. So
// a query keeps the model it was opened on.
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

    /// What queries read. Call it with the GIL held.
    [[nodiscard]] Share share() const {
        const nb::gil_scoped_release unlocked;
        const std::lock_guard lock(guard_);
        return model_;
    }
    /// Changes the model, or a copy of it that takes its place; `change` throws only before it changes anything. Call
    /// it with the GIL held: it runs without.
    template <typename Change>
    void change(Change&& change) {
        const nb::gil_scoped_release unlocked;
        const std::lock_guard lock(guard_);
        if (model_.use_count() > 1) model_ = std::make_shared<Model>(*model_);
        std::atomic_thread_fence(std::memory_order_acquire);  // whoever had a share has read what it wanted
        change(*model_);
    }

  private:
    mutable std::mutex guard_;
    Share model_;
};

}  // namespace anystream::bindings
