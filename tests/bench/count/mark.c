// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells the plugin to begin counting, or to end it. Runs in the guest, and needs
 * nothing there: built with -static -nostdlib.
 */

void _start(void)
{
	/* nopl 0x6b72616d(%rax,%rax,1), which no compiler has reason to write */
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 'm', 'a', 'r', 'k'");
	__asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall");
	__builtin_unreachable();
}
