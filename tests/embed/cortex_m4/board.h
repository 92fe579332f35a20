/* What board.c gives a program: text and an exit status to the debugger (QEMU). */
#ifndef BOARD_H
#define BOARD_H
void board_print(const char *text);
void board_exit(int status);
#endif
