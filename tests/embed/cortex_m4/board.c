/* Start-up of a Cortex-M4 without an operating system: vector table, FPU, initialised data, main,
 * and semihosting, by which QEMU or a debugger prints text and learns the exit status. Source: Arm,
 * "Semihosting for AArch32 and AArch64", 2020. */
#include "board.h"
#include <stdint.h>

extern uint32_t board_data_load[], board_data_start[], board_data_end[], board_bss_start[],
    board_bss_end[], board_stack_top[];
int main(void);
void board_reset(void);

enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20 };
static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_print(const char *text) { semihost(SYS_WRITE0, text); }

void board_exit(int status)
{
    const uint32_t block[2] = {0x20026 /* ADP_Stopped_ApplicationExit */, (uint32_t)status};
    semihost(SYS_EXIT_EXTENDED, block);
    for (;;) {}
}

static void board_fault(void)
{
    board_print("fault\n");
    board_exit(99);
}

void board_reset(void)
{
    /* coprocessor access: FPU on */
    volatile uint32_t *const cpacr = (volatile uint32_t *)0xe000ed88;
    const uint32_t *from = board_data_load;
    *cpacr |= 0xfu << 20;
    __asm__ volatile("dsb\nisb");
    for (uint32_t *to = board_data_start; to < board_data_end;) *to++ = *from++;
    for (uint32_t *to = board_bss_start; to < board_bss_end;) *to++ = 0;
    board_exit(main());
}

/* Initial stack pointer, reset, then NMI and the faults. */
typedef union board_vector {
    uint32_t *stack;
    void (*handler)(void);
} board_vector;
__attribute__((section(".vectors"), used)) static const board_vector board_vectors[16] = {
    {.stack = board_stack_top}, {.handler = board_reset}, {.handler = board_fault},
    {.handler = board_fault},   {.handler = board_fault}, {.handler = board_fault},
    {.handler = board_fault},
};
