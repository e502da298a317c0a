// SPDX-License-Identifier: Apache-2.0
// What messages say of a tool. For callbacks: it allocates.
#ifndef ROBOT_PACKAGE__TOOL__TOOL_MESSAGES_HPP_
#define ROBOT_PACKAGE__TOOL__TOOL_MESSAGES_HPP_

#include <algorithm>
#include <string>

#include "geometry_msgs/msg/pose_stamped.hpp"
#include "geometry_msgs/msg/twist_stamped.hpp"
#include "robot_package/tool/tool_constants.hpp"
#include "robot_package/tool/tool_pose.hpp"

namespace robot_package
{

// A motion that somebody wants; own: the twist is in axes of the tool, or of its task.
struct ToolWish
{
  bool is_pose, own;
  Placed pose;
  Six twist;
};

// Whether a frame of a message is the root's: the world, or a link that is there and not turned.
inline bool is_root(const std::string & frame)
{
  if (frame.empty() || frame == "world") return true;
  const auto end = robot_package_frame_names + ROBOT_PACKAGE_FRAMES;
  const auto index = std::find(robot_package_frame_names, end, frame) - robot_package_frame_names;
  if (index == ROBOT_PACKAGE_FRAMES || robot_package_frame_body[index] >= 0) return false;
  const Placed there = Placed::of(unturned, {});
  return std::equal(there.begin(), there.end(), robot_package_frame_placement[index]);
}

inline bool is_tool(const std::string & frame) { return frame == tool_frame || frame == "tool"; }

// The pose of a message, in the root frame. Returns what is wrong.
inline std::string wish_of(const geometry_msgs::msg::PoseStamped & message, ToolWish & wish)
{
  const auto & p = message.pose.position;
  const auto & o = message.pose.orientation;
  wish = {true, false, {}, {}};
  if (!is_root(message.header.frame_id))
    return "it is in frame " + message.header.frame_id + ", not in the root's";
  if (!place({p.x, p.y, p.z}, {o.x, o.y, o.z, o.w}, wish.pose))
    return "it is not finite, or its quaternion is not of unit length";
  return "";
}

// The twist of a message, in the root's axes or in its own ones, which are those of `whose`.
// Returns what is wrong.
inline std::string wish_of(
  const geometry_msgs::msg::TwistStamped & message, bool own, const std::string & whose,
  ToolWish & wish)
{
  const auto &w = message.twist.angular, &v = message.twist.linear;
  wish = {false, own, {}, {w.x, w.y, w.z, v.x, v.y, v.z}};
  if (!own && !is_root(message.header.frame_id))
    return "it is in frame " + message.header.frame_id + ", neither the root's nor the " + whose;
  return is_finite(wish.twist) ? "" : "it is not finite";
}

// Whether a twist is within speeds of its angular and its linear part.
inline bool is_within(const Six & twist, double turning, double moving)
{
  const auto size = [&twist](std::size_t k)
  { return std::hypot(twist[k], twist[k + 1], twist[k + 2]); };
  return size(0) <= turning && size(3) <= moving;
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__TOOL__TOOL_MESSAGES_HPP_
