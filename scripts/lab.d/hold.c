// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks the data of files into the page cache: hold FILE...
 *
 * The program prints "held N MiB" when all data are locked, and then sleeps until it is killed,
 * which ends the locks. Holes of a sparse file are not locked: their pages would take memory, and
 * reading a hole needs no access to the disk. To read a file is not enough to keep it in memory,
 * because the host can shrink its page cache at any time.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t held;

static void hold(const char *path)
{
	const off_t page = sysconf(_SC_PAGESIZE);
	off_t start, end;
	struct stat st;
	char *map;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", path);
	if (st.st_size == 0)
		return;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		err(1, "%s: mmap", path);
	for (end = 0; (start = lseek(fd, end, SEEK_DATA)) >= 0; held += end - start) {
		end = lseek(fd, start, SEEK_HOLE);
		start -= start % page;
		/* Read in large pieces before mlock(), which would read in small ones. */
		readahead(fd, start, end - start);
		if (mlock(map + start, end - start) < 0)
			err(1, "%s: mlock", path);
	}
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		hold(argv[i]);
	printf("held %zu MiB\n", held >> 20);
	fflush(stdout);
	for (;;)
		pause();
}
