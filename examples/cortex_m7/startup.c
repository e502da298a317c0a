/* SPDX-License-Identifier: Apache-2.0
   From reset to main on a Cortex-M7: the stack, the floating-point unit, and the C library's own start. */
#include <stdint.h>

extern uint32_t stack_top; /* of the linker script */
void _start(void);         /* of newlib: clears memory, calls main, then exit */
void reset(void);
void stop(void);

/* The debugger, or QEMU, loads .data to its place; a board that starts from flash copies it here first. */
void reset(void)
{
    volatile uint32_t *const coprocessors = (volatile uint32_t *)0xE000ED88; /* CPACR */
    *coprocessors |= 0xFu << 20;
    __asm volatile("dsb\n\tisb");
    _start();
    for (;;) {
    }
}

/* Any fault. */
void stop(void)
{
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, (void *)reset, (void *)stop, (void *)stop, (void *)stop, (void *)stop, (void *)stop,
};
