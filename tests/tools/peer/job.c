// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that run concurrently with the peer.
 *
 * Operation: a job is a shell command; the first line of its output is kept.
 * Ownership: the function that starts a job calls job_done() until it returns true.
 * Concurrency: one thread.
 * Errors: a failure to start a job ends the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

void job_start(struct job *job, const char *command)
{
	int fd[2];

	memset(job, 0, sizeof(*job));
	if (pipe2(fd, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	job->pid = fork();
	if (job->pid < 0)
		die("fork: %s", strerror(errno));
	if (!job->pid) {
		dup2(fd[1], 1);
		dup2(fd[1], 2);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	job->fd = fd[0];
	fcntl(job->fd, F_SETFL, O_NONBLOCK);
}

/* Return true if the job has ended. */
bool job_done(struct job *job)
{
	ssize_t n;

	if (!job->pid)
		return true;
	n = read(job->fd, job->said + job->len, sizeof(job->said) - 1 - job->len);
	if (n > 0)
		job->len += n;
	if (waitpid(job->pid, &job->status, WNOHANG) != job->pid)
		return false;
	n = read(job->fd, job->said + job->len, sizeof(job->said) - 1 - job->len);
	if (n > 0)
		job->len += n;
	close(job->fd);
	job->said[job->len] = '\0';
	job->said[strcspn(job->said, "\n")] = '\0';
	job->pid = 0;
	return true;
}
