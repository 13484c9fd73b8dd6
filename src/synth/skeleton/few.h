// A vector of at most N elements that takes no memory of its own: most skeletons are drawn in vain,
// and what they are made of is short. More than N is a fault of the caller.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <initializer_list>

namespace kw {

template <typename T, size_t N>
class Few {
 public:
  using value_type = T;
  Few() = default;
  Few(std::initializer_list<T> items) { assign(items.begin(), items.end()); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return items_.data(); }
  T* end() { return begin() + size_; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return begin() + size_; }
  T& operator[](size_t i) { return items_[i]; }
  const T& operator[](size_t i) const { return items_[i]; }
  T& back() { return items_[size_ - 1]; }
  const T& back() const { return items_[size_ - 1]; }

  void clear() { size_ = 0; }
  void push_back(const T& item) {
    assert(size_ < N);
    items_[size_++] = item;
  }
  void pop_back() { --size_; }
  void resize(size_t size, const T& item) {
    assert(size <= N);
    if (size > size_) std::fill(end(), begin() + size, item);
    size_ = size;
  }
  void assign(size_t size, const T& item) {
    clear();
    resize(size, item);
  }
  void assign(const T* first, const T* last) {
    clear();
    append(first, last);
  }
  void append(const T* first, const T* last) {
    assert(size_ + static_cast<size_t>(last - first) <= N);
    std::copy(first, last, end());
    size_ += static_cast<size_t>(last - first);
  }
  void insert(T* at, const T& item) {
    assert(size_ < N);
    std::move_backward(at, end(), end() + 1);
    *at = item;
    ++size_;
  }
  void erase(T* at) {
    std::move(at + 1, end(), at);
    --size_;
  }

 private:
  std::array<T, N> items_{};
  size_t size_ = 0;
};

}  // namespace kw
