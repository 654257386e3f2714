// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make the plugin (plugin.c) start to count instructions or stop, in turn. The program runs in the
 * guest and needs no library there, because it is built with -static -nostdlib.
 */

void _start(void)
{
	/* nopl 0x6b72616d(%rax,%rax,1): no compiler generates a NOP with this displacement. */
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 'm', 'a', 'r', 'k'");
	__asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall");
	__builtin_unreachable();
}
