// SPDX-License-Identifier: Apache-2.0
#ifndef ROBOT_PACKAGE__COMMON__DIGITS_HPP_
#define ROBOT_PACKAGE__COMMON__DIGITS_HPP_

#include <cstdio>
#include <string>

namespace robot_package
{

// Of a number in a sentence.
inline std::string digits(double value)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

}  // namespace robot_package

#endif  // ROBOT_PACKAGE__COMMON__DIGITS_HPP_
