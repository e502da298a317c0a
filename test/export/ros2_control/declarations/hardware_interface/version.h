// SPDX-License-Identifier: Apache-2.0
// Which release is declared here: that of Jazzy, or the one that the compiler is told, as major * 1000 + minor.
#pragma once

#ifndef DECLARED_RELEASE
#define DECLARED_RELEASE 4046
#endif
#define HARDWARE_INTERFACE_VERSION_MAJOR (DECLARED_RELEASE / 1000)
#define HARDWARE_INTERFACE_VERSION_MINOR (DECLARED_RELEASE % 1000)
#define HARDWARE_INTERFACE_VERSION_GTE(major, minor, patch) (DECLARED_RELEASE >= (major)*1000 + (minor) + 0 * (patch))
