// An array that grows without copying its values once it is large.
//
// Small arrays come from operator new. Large ones are pages of their own: the kernel moves their addresses, not their
// values, when they grow (a gigabyte in 0.2 ms), so that learning one more record never waits for a copy of all others.
// Where the kernel cannot do that, they are copied as well.
//
// What is filled when it is allocated lies in huge pages if the kernel has them: a query that reads nodes all over a
// large tree finds their addresses without reading page tables. What an array grows by does not: to clear a huge page
// would hold up the call that learns one record. Large arrays begin at a multiple of a huge page, so that huge pages
// need not be taken apart to be moved.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace anystream {

/// The part of std::vector's interface that the columns of models need, for plain values.
template <typename T>
class GrowingArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    GrowingArray() = default;
    explicit GrowingArray(std::span<const T> values) { assign(values.begin(), values.end()); }
    GrowingArray(const GrowingArray& other) : GrowingArray(std::span<const T>(other)) {}
    GrowingArray(GrowingArray&& other) noexcept { swap(other); }
    ~GrowingArray() { release(); }
    GrowingArray& operator=(const GrowingArray& other) {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    GrowingArray& operator=(GrowingArray&& other) noexcept {
        swap(other);
        return *this;
    }
    GrowingArray& operator=(const std::vector<T>& values) {
        assign(values.begin(), values.end());
        return *this;
    }
    GrowingArray& operator=(std::initializer_list<T> values) {
        assign(values.begin(), values.end());
        return *this;
    }

    [[nodiscard]] T* data() noexcept { return data_; }
    [[nodiscard]] const T* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T* begin() noexcept { return data_; }
    [[nodiscard]] T* end() noexcept { return data_ + size_; }
    [[nodiscard]] const T* begin() const noexcept { return data_; }
    [[nodiscard]] const T* end() const noexcept { return data_ + size_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
    [[nodiscard]] T& back() noexcept { return data_[size_ - 1]; }

    void reserve(std::size_t capacity) {
        if (capacity > capacity_) reallocate(capacity, false);
    }
    void resize(std::size_t size, T value = T{}) {
        if (size > size_) {
            make_space(size);
            std::fill(data_ + size_, data_ + size, value);
        }
        size_ = size;
    }
    void push_back(T value) {
        make_space(size_ + 1);
        data_[size_++] = value;
    }
    void pop_back() noexcept { --size_; }
    void clear() noexcept { size_ = 0; }
    void assign(std::size_t size, T value) {
        size_ = 0;
        resize(size, value);
    }
    template <std::input_iterator Iterator>
    void assign(Iterator first, Iterator last) {
        size_ = 0;
        append(first, last);
    }
    /// Values from elsewhere.
    template <std::input_iterator Iterator>
    void append(Iterator first, Iterator last) {
        const auto more = static_cast<std::size_t>(std::distance(first, last));
        make_space(size_ + more);
        std::copy(first, last, data_ + size_);
        size_ += more;
    }
    void swap(GrowingArray& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

  private:
    static constexpr std::size_t kLargeBytes = std::size_t{1} << 18, kPageBytes = 4096;
    static constexpr std::size_t kHugePageBytes = std::size_t{1} << 21;

    [[nodiscard]] static bool large(std::size_t capacity) noexcept { return capacity * sizeof(T) >= kLargeBytes; }
    [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept {
        return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    }
    [[nodiscard]] static std::byte* checked(void* pages) {
        if (pages == MAP_FAILED) throw std::bad_alloc();
        return static_cast<std::byte*>(pages);
    }
    /// Pages that begin at a multiple of a huge page, unless they are fewer than that.
    [[nodiscard]] static std::byte* new_pages(std::size_t bytes) {
        const std::size_t spare = bytes < kHugePageBytes ? 0 : kHugePageBytes;
        std::byte* const pages =
            checked(mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (spare == 0) return pages;
        const std::size_t before = -reinterpret_cast<std::uintptr_t>(pages) % kHugePageBytes;
        if (before > 0) munmap(pages, before);
        if (before < spare) munmap(pages + before + bytes, spare - before);
        return pages + before;
    }
    /// Whether pages that are touched from now on may be huge; ignored where the kernel has none.
    static void allow_huge_pages([[maybe_unused]] void* pages, [[maybe_unused]] std::size_t bytes,
                                 [[maybe_unused]] bool allowed) noexcept {
#ifdef MADV_HUGEPAGE
        if (bytes >= kHugePageBytes) madvise(pages, bytes, allowed ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
    }

    void make_space(std::size_t size) {
        if (size > capacity_) reallocate(std::max(size, capacity_ + capacity_ / 2), size_ == 0);
    }

    /// Capacity for more values; if it throws, nothing has changed. `filled`: all of it is written next.
    void reallocate(std::size_t capacity, bool filled) {
        if (capacity > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
        void* next = nullptr;
        if (!large(capacity)) {
            next = ::operator new(capacity * sizeof(T));
        } else {
            const std::size_t bytes = rounded(capacity * sizeof(T));
            capacity = bytes / sizeof(T);
            next = new_pages(bytes);
            if (filled) allow_huge_pages(next, bytes, true);
#ifdef MREMAP_MAYMOVE
            if (large(capacity_) && size_ > 0) {
                const std::size_t before = rounded(capacity_ * sizeof(T));
                allow_huge_pages(data_, before, false);
                if (mremap(data_, before, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, next) == MAP_FAILED) {
                    munmap(next, bytes);
                    throw std::bad_alloc();
                }
                data_ = static_cast<T*>(next);
                capacity_ = capacity;
                return;
            }
#endif
        }
        if (size_ > 0) std::memcpy(next, data_, size_ * sizeof(T));
        const std::size_t size = size_;
        release();
        data_ = static_cast<T*>(next);
        size_ = size;
        capacity_ = capacity;
    }

    void release() noexcept {
        if (large(capacity_))
            munmap(data_, rounded(capacity_ * sizeof(T)));
        else
            ::operator delete(data_);
        data_ = nullptr;
        size_ = capacity_ = 0;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace anystream
