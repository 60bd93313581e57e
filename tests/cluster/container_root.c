/*
 * The root file system that a step's tasks see: the image with an upper layer of its own, and what is mounted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "container_shim.h"

#define STAGE "/mnt"                 /* hidden inside our own mount namespace */

/* These run in a child of slurmstepd; what they say goes to its stderr pipe. */
static void fail(const char *what, const char *path)
{
	dprintf(2, "%s %s: %s\n", what, path, strerror(errno));
	_exit(1);
}

static void make_dirs(const char *path, mode_t mode)
{
	char p[PATH_MAX];

	snprintf(p, sizeof(p), "%s", path);
	for (char *s = p + 1; *s; s++)
		if (*s == '/') {
			*s = '\0';
			mkdir(p, 0755);
			*s = '/';
		}
	if (mkdir(p, mode) < 0 && errno != EEXIST)
		fail("mkdir", p);
}

static void bind_into(const char *root, const struct bind *b)
{
	char at[PATH_MAX];
	struct stat st;

	if (stat(b->src, &st) < 0)
		fail("mount source", b->src);
	if (snprintf(at, sizeof(at), "%s%s", root, b->dst) >= (int)sizeof(at)) {
		errno = ENAMETOOLONG;
		fail("mount target", b->dst);
	}
	if (S_ISDIR(st.st_mode)) {
		make_dirs(at, 0755);
	} else {
		char up[PATH_MAX];
		int fd;

		snprintf(up, sizeof(up), "%s", at);
		*strrchr(up, '/') = '\0';
		make_dirs(up, 0755);
		fd = open(at, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		if (fd >= 0)
			close(fd);
	}
	if (mount(b->src, at, NULL, MS_BIND | (b->flags & MS_REC), NULL) < 0)
		fail("bind", b->src);
	unsigned long attr = b->flags & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC);
	if (attr && mount(NULL, at, NULL, MS_REMOUNT | MS_BIND | attr, NULL) < 0)
		fail("remount", at);
}

static void bind_if_there(const char *root, const char *path, unsigned long flags)
{
	struct bind b = { (char *)path, (char *)path, flags };

	if (access(path, F_OK) == 0)
		bind_into(root, &b);
}

/* In a fresh mount namespace: build the root and move into it. */
static void build_root(const char *home)
{
	const char *root = STAGE "/root";
	int writable = given[WRITABLE] && !strcmp(given[WRITABLE], "yes");
	int with_home = given[HOME] && !strcmp(given[HOME], "yes");

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fail("private", "/");

	/* From here on nothing below STAGE can be the source of a mount. */
	if (mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
		fail("tmpfs", STAGE);
	make_dirs(STAGE "/image", 0755);
	make_dirs(STAGE "/upper", 0755);
	make_dirs(STAGE "/work", 0755);
	make_dirs(root, 0755);
	if (mount(given[IMAGE], STAGE "/image", NULL, MS_BIND | MS_REC, NULL) < 0)
		fail("image", given[IMAGE]);
	/* the upper layer takes the mount points that the image lacks */
	if (mount("overlay", root, "overlay", 0,
	          "lowerdir=" STAGE "/image,upperdir=" STAGE "/upper,workdir=" STAGE "/work") < 0)
		fail("overlay", root);

	make_dirs(STAGE "/root/tmp", 01777);
	if (mount("tmpfs", STAGE "/root/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
		fail("tmpfs", "/tmp");
	make_dirs(STAGE "/root/run", 0755);
	if (mount("tmpfs", STAGE "/root/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
		fail("tmpfs", "/run");
	bind_if_there(root, "/proc", MS_REC);
	bind_if_there(root, "/sys", MS_REC);
	bind_if_there(root, "/dev", MS_REC);
	bind_if_there(root, "/etc/hosts", MS_RDONLY);
	bind_if_there(root, "/etc/hostname", MS_RDONLY);
	bind_if_there(root, "/etc/resolv.conf", MS_RDONLY);
	for (int i = 0; i < nsite; i++) {
		char *copy = strdup(site[i]);
		struct bind b;

		if (read_mount(copy, &b) < 0)
			_exit(1);
		bind_into(root, &b);
	}
	if (with_home && home) {
		struct bind b = { (char *)home, (char *)home, MS_REC };
		bind_into(root, &b);
	}
	for (int i = 0; i < nbinds; i++)
		bind_into(root, &binds[i]);
	if (!writable && mount(NULL, root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
		fail("read-only", root);

	if (chdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		fail("pivot_root", root);
}

/* A container with a name is its mount namespace, mounted on a file: the next step finds it as this one left it. */
static int open_named(char *kept, size_t size)
{
	struct statfs fs;

	*kept = '\0';
	if (!given[NAME] || !names)
		return -1;
	snprintf(kept, size, "%s/%s", names, given[NAME]);
	int fd = open(kept, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && (fstatfs(fd, &fs) < 0 || fs.f_type != NSFS_MAGIC)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int keep_named(const char *kept, const char *ns)
{
	int fd = open(kept, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	close(fd);
	return mount(ns, kept, NULL, MS_BIND, NULL);
}

/* Only in the child: be on one CPU, so that the namespace gets its number there. */
static void be_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Build the root; with a name, keep it under that. Returns -1 where it cannot be kept. */
static int start_root(const char *home, const char *kept, int cpu)
{
	int up[2], down[2], status, rc = 0;
	char buf[4096], path[64];
	ssize_t n, got = 0;
	pid_t pid;

	if (pipe2(up, O_CLOEXEC) < 0 || pipe2(down, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return keep("fork: %s", strerror(errno));
	if (pid == 0) {
		signal(SIGCHLD, SIG_DFL);
		dup2(up[1], 2);
		close(up[0]);
		close(down[1]);
		if (*kept)
			be_on(cpu);
		if (unshare(CLONE_NEWNS) < 0)
			fail("unshare", "mount namespace");
		build_root(home);
		dprintf(2, "ok\n");
		(void)!read(down[0], buf, 1);          /* until the parent has opened our namespace */
		_exit(0);
	}
	close(up[1]);
	close(down[0]);
	while (got < (ssize_t)sizeof(buf) - 1 && (n = read(up[0], buf + got, sizeof(buf) - 1 - got)) > 0) {
		got += n;
		if (got >= 3 && !memcmp(buf + got - 3, "ok\n", 3))
			break;
	}
	buf[got] = '\0';
	if (got >= 3 && !strcmp(buf + got - 3, "ok\n")) {
		snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
		root_ns = open(path, O_RDONLY | O_CLOEXEC);
		if (*kept)
			rc = keep_named(kept, path);
	}
	int why = errno;
	close(down[1]);
	close(up[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	errno = why;
	if (root_ns < 0) {
		buf[strcspn(buf, "\n")] = '\0';
		keep("%s", *buf ? buf : "the root could not be built");
	}
	return rc;
}

/*
 * slurmstepd, as root, before any task: a child builds the root in a mount
 * namespace of its own; an open file keeps that namespace when the child is gone,
 * so all tasks of the step on this node share one root, and it goes with them.
 *
 * A namespace can only be mounted in one with a lower number, and on recent kernels
 * each CPU hands out numbers of its own: on the CPU of the node's own namespace,
 * whichever that was, a new one is higher.
 */
int open_root(const char *home)
{
	char kept[PATH_MAX];
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF);

	root_ns = open_named(kept, sizeof(kept));
	if (root_ns >= 0)
		return 0;
	for (int cpu = 0; start_root(home, kept, cpu) < 0; cpu++) {
		if (errno != EINVAL || cpu + 1 >= cpus)
			return keep("--container-name: %s: %s", kept, strerror(errno));
		close(root_ns);
		root_ns = -1;
	}
	return 0;
}

int enter_root(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct cap[2], none[2] = { 0 };

	if (syscall(SYS_capget, &head, cap) < 0)
		return complain("capget: %s", strerror(errno));
	cap[0].effective = cap[0].permitted;
	cap[1].effective = cap[1].permitted;
	if (syscall(SYS_capset, &head, cap) < 0)
		return complain("capset: %s", strerror(errno));
	if (setns(root_ns, CLONE_NEWNS) < 0)
		return complain("setns: %s", strerror(errno));
	if (getuid() != 0 && syscall(SYS_capset, &head, none) < 0)
		return complain("capset: %s", strerror(errno));
	return 0;
}
