// SPDX-License-Identifier: GPL-2.0-only
/*
 * stage0: the first program of a lab machine.
 *
 * The program loads the modules of the initramfs (listed in /modules, in this
 * order), finds the root disk by its serial number and mounts it. It binds
 * /product of the initramfs (the files that differ between runs) to /mnt of the
 * root disk, makes this disk the root file system, and executes /mnt/init. The
 * program is linked statically, so that the initramfs needs no libraries, stays
 * small and is unpacked fast.
 *
 * With "lab.probe" on the kernel command line the program only prints a line and
 * restarts the machine, which ends QEMU. By this line the lab knows that an
 * accelerator can boot the kernel.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOT "/root"

static void fail(const char *what)
{
	fprintf(stderr, "lab: stage0: %s: %s\n", what, strerror(errno));
	sleep(1);
	reboot(RB_AUTOBOOT);
}

static void load_modules(void)
{
	char name[256];
	FILE *list = fopen("/modules", "re");

	if (!list)
		fail("/modules");
	while (fgets(name, sizeof(name), list)) {
		int fd;

		name[strcspn(name, "\n")] = '\0';
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fail(name);
		/* A module for a CPU feature that is absent fails with ENODEV. */
		if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST &&
		    errno != ENODEV)
			fail(name);
		close(fd);
	}
	fclose(list);
}

/* Return the device node of the disk with the serial number "root", or NULL. */
static const char *root_disk(void)
{
	static char node[300];
	struct dirent *entry;
	DIR *dir = opendir("/sys/block");

	if (!dir)
		return NULL;
	while ((entry = readdir(dir))) {
		char path[300], serial[32] = "";
		ssize_t n = -1;
		int fd;

		snprintf(path, sizeof(path), "/sys/block/%s/serial", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			n = read(fd, serial, sizeof(serial) - 1);
			close(fd);
		}
		if (n >= 4 && !strncmp(serial, "root", 4)) {
			snprintf(node, sizeof(node), "/dev/%s", entry->d_name);
			closedir(dir);
			return node;
		}
	}
	closedir(dir);
	return NULL;
}

/* Mount the other file systems of a machine, and make the links in /dev. */
static void furnish(void)
{
	static const struct {
		const char *type, *path, *options;
	} mounts[] = {
		{ "tmpfs", "/run", "mode=755" },
		{ "tmpfs", "/tmp", "mode=1777" },
		{ "devpts", "/dev/pts", "gid=5,mode=620,ptmxmode=666" },
		{ "tmpfs", "/dev/shm", "mode=1777" },
		{ "configfs", "/sys/kernel/config", "" },
		{ "debugfs", "/sys/kernel/debug", "" },
		{ "tracefs", "/sys/kernel/tracing", "" },
	};
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};
	size_t i;

	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	mkdir("/dev/lab", 0755);
	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
		if (mount(mounts[i].type, mounts[i].path, mounts[i].type, 0,
			  mounts[i].options))
			fail(mounts[i].path);
	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (symlink(links[i][0], links[i][1]) && errno != EEXIST)
			fail(links[i][1]);
	mkdir("/run/lock", 01777);
	mkdir("/run/lvm", 0700);
}

static int probing(void)
{
	char line[4096] = "";
	FILE *f = fopen("/proc/cmdline", "re");
	int found;

	if (!f)
		return 0;
	found = fgets(line, sizeof(line), f) && strstr(line, "lab.probe");
	fclose(f);
	return found;
}

int main(void)
{
	const char *disk = NULL;
	int fd, i;

	mkdir("/dev", 0755);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir(ROOT, 0755);
	if (mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, NULL))
		fail("devtmpfs");
	fd = open("/dev/console", O_RDWR);
	if (fd >= 0) {
		dup2(fd, 0);
		dup2(fd, 1);
		dup2(fd, 2);
		if (fd > 2)
			close(fd);
	}
	if (mount("proc", "/proc", "proc", 0, NULL) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL))
		fail("proc, sysfs");
	if (probing()) {
		printf("lab: stage0: alive\n");
		sync();
		reboot(RB_AUTOBOOT);
	}
	load_modules();
	for (i = 0; i < 1000 && !disk; i++) {
		disk = root_disk();
		if (!disk)
			usleep(10000);
	}
	if (!disk || mount(disk, ROOT, "ext4", MS_NOATIME, "nobarrier"))
		fail("root disk");
	if (mount("/product", ROOT "/mnt", NULL, MS_BIND, NULL) ||
	    mount("/dev", ROOT "/dev", NULL, MS_MOVE, NULL) ||
	    mount("/proc", ROOT "/proc", NULL, MS_MOVE, NULL) ||
	    mount("/sys", ROOT "/sys", NULL, MS_MOVE, NULL) ||
	    chdir(ROOT) || mount(".", "/", NULL, MS_MOVE, NULL) ||
	    chroot(".") || chdir("/"))
		fail("change of root");
	furnish();
	execl("/mnt/init", "init", (char *)NULL);
	fail("/mnt/init");
	return 1;
}
