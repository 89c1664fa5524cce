// A query in progress as bytes, and back.
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "anystream/bayes_tree/query.hpp"

namespace anystream::bayes_tree {

namespace {

constexpr std::uint32_t kVersion = 3;

class Writer {
  public:
    template <typename T>
    void value(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto* from = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), from, from + sizeof(T));
    }
    template <typename T>
    void array(const std::vector<T>& values) {
        value(static_cast<std::uint64_t>(values.size()));
        for (const T& each : values) value(each);
    }
    [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <typename T>
    [[nodiscard]] T value() {
        static_assert(std::is_trivially_copyable_v<T>);
        require(bytes_.size() >= sizeof(T), "it ends too early");
        T value;
        std::memcpy(&value, bytes_.data(), sizeof(T));
        bytes_ = bytes_.subspan(sizeof(T));
        return value;
    }
    template <typename T>
    void array(std::vector<T>& values) {
        const auto size = value<std::uint64_t>();
        require(size <= bytes_.size() / sizeof(T), "it ends too early");
        values.resize(size);
        for (T& each : values) each = value<T>();
    }
    void end() const { require(bytes_.empty(), "it is too long"); }

    static void require(bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("not the state of a query of this model: ") + what);
    }

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> Query::suspend() const {
    Writer out;
    out.value(kVersion);
    out.value(settings_.descent);
    out.value(settings_.decision);
    out.value(settings_.refined_classes);
    out.value(settings_.root_weight);
    out.array(vote_);
    out.value(static_cast<std::uint64_t>(classes_));
    out.value(steps_);
    out.value(static_cast<std::uint64_t>(open_classes_));
    out.array(x_);
    out.array(turns_);
    for (std::size_t c = 0; c < classes_; ++c) {
        const ClassState& state = state_[c];
        out.array(state.entries);
        out.array(state.kernel_log2);
        out.array(state.kernel_value);
        out.value(state.sum);
        out.value(state.peak);
        out.value(state.origin);
        out.value(state.history);
        out.value(state.since);
    }
    return out.take();
}

void Query::resume(const Forest& forest, std::span<const std::byte> bytes) {
    Reader in(bytes);
    Reader::require(in.value<std::uint32_t>() == kVersion, "it was written by another version");
    Query next;
    next.settings_.descent = in.value<Descent>();
    next.settings_.decision = in.value<Decision>();
    next.settings_.refined_classes = in.value<std::int32_t>();
    next.settings_.root_weight = in.value<double>();
    in.array(next.vote_);
    next.classes_ = in.value<std::uint64_t>();
    Reader::require(next.classes_ == forest.classes(), "the number of classes differs");
    Reader::require(next.settings_.refined_classes >= kPublishedK, "its settings are damaged");
    Reader::require(next.vote_.empty() || next.vote_.size() == next.classes_, "its votes are damaged");
    next.steps_ = in.value<std::int64_t>();
    next.open_classes_ = in.value<std::uint64_t>();
    in.array(next.x_);
    Reader::require(next.x_.size() == forest.dimensions(), "the number of features differs");
    for (const float value : next.x_) next.missing_ |= value != value;
    in.array(next.turns_);
    next.state_.resize(next.classes_);
    std::size_t refinable = 0;
    for (ClassState& state : next.state_) {
        in.array(state.entries);
        in.array(state.kernel_log2);
        in.array(state.kernel_value);
        Reader::require(state.kernel_log2.size() == state.kernel_value.size(), "its kernels are damaged");
        state.sum = in.value<double>();
        state.peak = in.value<double>();
        state.origin = in.value<double>();
        state.history = in.value<Scaled>();
        state.since = in.value<std::int64_t>();
        refinable += !state.entries.empty();
        for (const Entry& entry : state.entries)
            Reader::require(entry.node >= 0 && static_cast<std::size_t>(entry.node) < forest.nodes(),
                            "it refers to nodes that the model does not have");
    }
    in.end();
    Reader::require(next.open_classes_ == refinable || next.open_classes_ == 0, "its frontiers are damaged");
    for (const std::int32_t c : next.turns_)
        Reader::require(c >= 0 && static_cast<std::size_t>(c) < next.classes_, "its turns are damaged");
    next.key_.resize(next.classes_);
    for (std::size_t c = 0; c < next.classes_; ++c) next.order(c);
    next.make_room(forest);
    *this = std::move(next);
}

}  // namespace anystream::bayes_tree
