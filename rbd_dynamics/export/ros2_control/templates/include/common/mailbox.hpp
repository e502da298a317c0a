// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__COMMON__MAILBOX_HPP_
#define ROBOT_PACKAGE__COMMON__MAILBOX_HPP_

#include <array>
#include <atomic>
#include <type_traits>

namespace robot_package
{

// The latest of what one thread puts, for one other thread. Neither ever waits, and nothing is
// allocated: of three slots one is written, one is read, and the third holds what was put last.
template <class Content>
class Mailbox
{
  static_assert(std::is_trivially_copyable_v<Content>, "copying it must not allocate");

public:
  void put(const Content & content)
  {
    slots_[written_] = content;
    written_ = waiting_.exchange(written_ | fresh, std::memory_order_acq_rel) & ~fresh;
  }

  // True where something was put since the last call; else `content` stays as it is.
  bool take(Content & content)
  {
    if (!(waiting_.load(std::memory_order_relaxed) & fresh)) return false;
    read_ = waiting_.exchange(read_, std::memory_order_acq_rel) & ~fresh;
    content = slots_[read_];
    return true;
  }

private:
  static constexpr unsigned fresh = 4;

  std::array<Content, 3> slots_{};
  unsigned written_ = 0, read_ = 1;
  std::atomic<unsigned> waiting_{2};
};

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__MAILBOX_HPP_
