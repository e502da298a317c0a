// SPDX-License-Identifier: Apache-2.0
// Programs that are asked on standard input; what allocates, locks or faults a page in in a cycle is counted.
#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

static bool watched = false;
static long found = 0;

extern "C" void * __libc_malloc(std::size_t);
extern "C" void __libc_free(void *);
extern "C" void * __libc_calloc(std::size_t, std::size_t);
extern "C" void * __libc_realloc(void *, std::size_t);
extern "C" void * malloc(std::size_t size)
{
  found += watched;
  return __libc_malloc(size);
}
extern "C" void free(void * place)
{
  found += watched;
  __libc_free(place);
}
extern "C" void * calloc(std::size_t count, std::size_t size)
{
  found += watched;
  return __libc_calloc(count, size);
}
extern "C" void * realloc(void * place, std::size_t size)
{
  found += watched;
  return __libc_realloc(place, size);
}
extern "C" int pthread_mutex_lock(pthread_mutex_t * mutex)
{
  found += watched;
  while (pthread_mutex_trylock(mutex) != 0) {
  }
  return 0;
}

[[maybe_unused]] static double next()
{
  std::string word;
  std::cin >> word;
  return std::strtod(word.c_str(), nullptr);
}

template <std::size_t N>
[[maybe_unused]] static void read(std::array<double, N> & out)
{
  for (double & one : out) one = next();
}

template <std::size_t N>
[[maybe_unused]] static void print(const std::array<double, N> & values)
{
  for (const double value : values) std::printf(" %.17g", value);
}

// At work: a call whose allocations and locks count.
template <class Call>
static auto cycle(Call && call)
{
  watched = true;
  const auto result = call();
  watched = false;
  return result;
}

// Whether all memory is locked from here on, the stack as far as it may be used; a limit may forbid that.
[[maybe_unused]] static bool lock_memory()
{
  volatile char stack[256 * 1024];
  for (std::size_t k = 0; k < sizeof(stack); k += 1024) stack[k] = 0;
  return mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
}

[[maybe_unused]] static long page_faults()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// Prints what was found in cycles so far, and then with one allocation more: the counters do count.
static void print_found()
{
  std::printf(" %ld", found);
  cycle([] { return *std::make_unique<int>(1); });
  std::printf(" %ld", found);
}
