# SPDX-License-Identifier: Apache-2.0
"""The only place that knows what is private in rclpy, and calls rcl and the middleware."""
