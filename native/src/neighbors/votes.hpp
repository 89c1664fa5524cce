// A small vote: the class named most often wins; among equal ones, the one that was named first.
#pragma once

#include <cstdint>
#include <vector>

namespace anystream::neighbors {

class Votes {
  public:
    explicit Votes(std::size_t classes) : count_(classes, 0) {}
    void clear() noexcept {
        for (const std::int32_t named : named_) count_[static_cast<std::size_t>(named)] = 0;
        named_.clear();
    }
    void add(std::int32_t label) {
        if (count_[static_cast<std::size_t>(label)]++ == 0) named_.push_back(label);
    }
    [[nodiscard]] bool empty() const noexcept { return named_.empty(); }
    [[nodiscard]] std::int32_t winner() const noexcept {
        std::int32_t best = named_.front();
        for (const std::int32_t each : named_)
            if (count_[static_cast<std::size_t>(each)] > count_[static_cast<std::size_t>(best)]) best = each;
        return best;
    }

  private:
    std::vector<int> count_;
    std::vector<std::int32_t> named_;  // in order of appearance
};

}  // namespace anystream::neighbors
