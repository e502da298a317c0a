// SPDX-License-Identifier: Apache-2.0
// A plugin that its own program makes, in place of one that is loaded by name.
#pragma once

#define PLUGINLIB_EXPORT_CLASS(Derived, Base) \
  Base * make_plugin();                       \
  Base * make_plugin() { return new Derived; }
