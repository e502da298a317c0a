"""Controllers and what they need: pure functions and small state, no ROS."""
