/*
 * container_shim - a SPANK plug-in that stands in for pyxis on the test cluster.
 *
 * It takes pyxis's options of srun, checks them, and gives every task of the step a root file system made from the
 * image, the way a container would look to it: read-only, with the image's own working directory and environment. It is
 * no container runtime: no user namespace, no registry, no isolation worth the name. Written anew on spank.h, to the
 * options' public description and to what a real pyxis 0.24 was seen to do.
 *
 *   cc -shared -fPIC -O2 -Wall -Wextra -o container_shim.so container_shim.c
 *
 * plugstack.conf:  required /path/container_shim.so [site=SRC:DST[:FLAGS]]...    (a mount that every container gets)
 *
 * An image is a directory. A registry reference is refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(container_shim, 1)

#define STAGE       "/mnt"           /* hidden inside our own mount namespace */
#define MAX_MOUNTS  64

/* ------------------------------------------------------------- the options */

enum opt {
	IMAGE, MOUNTS, WORKDIR, ENV,                             /* with a value  */
	HOME, WRITABLE,                                          /* yes or no     */
	N_OPTS
};
#define NO 0x100                     /* flag in spank_option.val: the "no" form */

static char *given[N_OPTS];          /* NULL: not given; "yes"/"no" for switches */

static const char *const spelled[N_OPTS] = {
	"--container-image", "--container-mounts", "--container-workdir", "--container-env",
	"--[no-]container-mount-home", "--container-writable/readonly",
};

static char *site[MAX_MOUNTS];
static int nsite;

struct bind { char *src, *dst; unsigned long flags; };
static struct bind binds[MAX_MOUNTS];
static int nbinds;

static int root_ns = -1;             /* the step's mount namespace, kept by slurmstepd */
static char trouble[PATH_MAX + 200]; /* why there is none */

static int complain(const char *fmt, ...)
{
	char buf[PATH_MAX + 200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	slurm_error("container_shim: %s", buf);
	return -1;
}

/*
 * What goes wrong before there is a task is kept for the task: a plugin that fails
 * in init_post_opt makes srun say "Plugin initialization failed" and exit with 0.
 */
static int keep(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(trouble, sizeof(trouble), fmt, ap);
	va_end(ap);
	return 0;
}

/* One entry of --container-mounts: SRC[:DST[:FLAG+FLAG...]] */
static int read_mount(char *entry, struct bind *out)
{
	static const struct { const char *name; unsigned long set, clear; } known[] = {
		{ "ro", MS_RDONLY, 0 }, { "rw", 0, MS_RDONLY }, { "bind", 0, MS_REC }, { "rbind", MS_REC, 0 },
		{ "nosuid", MS_NOSUID, 0 }, { "nodev", MS_NODEV, 0 }, { "noexec", MS_NOEXEC, 0 },
		{ "private", 0, 0 }, { "rprivate", 0, 0 }, { "slave", 0, 0 }, { "rslave", 0, 0 },
	};
	char *dst = strchr(entry, ':'), *flags = NULL, *f, *save = NULL;

	out->flags = MS_REC;
	if (dst) {
		*dst++ = '\0';
		flags = strchr(dst, ':');
		if (flags)
			*flags++ = '\0';
	}
	if (!*entry || (dst && !*dst))
		return complain("--container-mounts: empty path");
	if (*entry != '/' && *entry != '.')
		return complain("--container-mounts: not a path: %s", entry);
	if (dst && *dst != '/')
		return complain("--container-mounts: not an absolute path: %s", dst);
	out->src = entry;
	out->dst = dst ? dst : entry;
	for (f = flags ? strtok_r(flags, "+", &save) : NULL; f; f = strtok_r(NULL, "+", &save)) {
		size_t i, n = sizeof(known) / sizeof(*known);

		for (i = 0; i < n && strcmp(known[i].name, f); i++)
			;
		if (i == n)
			return complain("--container-mounts: unknown flag: %s", f);
		out->flags = (out->flags | known[i].set) & ~known[i].clear;
	}
	return 0;
}

static int read_mounts(const char *list)
{
	char *copy = strdup(list), *entry;     /* binds[] points into it: never freed */

	nbinds = 0;
	while ((entry = strsep(&copy, ",")) != NULL) {
		if (nbinds == MAX_MOUNTS)
			return complain("--container-mounts: more than %d", MAX_MOUNTS);
		if (read_mount(entry, &binds[nbinds]) < 0)
			return -1;
		nbinds++;
	}
	return 0;
}

static int on_option(int val, const char *arg, int remote)
{
	enum opt o = val & ~NO;
	const char *value = o < HOME ? arg : val & NO ? "no" : "yes";

	(void)remote;
	if (!value || !*value)
		return complain("%s: a value is needed", spelled[o]);
	/* Slurm may hand over the same option twice, e.g. from the job and from the step. */
	if (given[o] && strcmp(given[o], value))
		return complain("%s: given twice, as %s and as %s", spelled[o], given[o], value);
	if (o == MOUNTS && read_mounts(value) < 0)
		return -1;
	if (o == WORKDIR && *value != '/')
		return complain("--container-workdir: not an absolute path: %s", value);
	if (!given[o])
		given[o] = strdup(value);
	return 0;
}

static struct spank_option options[] = {
	{ "container-image", "PATH", "[shim] squashfs file or directory to use as the root", 1, IMAGE, on_option },
	{ "container-mounts", "SRC:DST[:FLAGS],...", "[shim] bind mounts inside the container", 1, MOUNTS, on_option },
	{ "container-workdir", "PATH", "[shim] working directory inside the container", 1, WORKDIR, on_option },
	{ "container-env", "NAME,...", "[shim] host variables that win over the image's", 1, ENV, on_option },
	{ "container-mount-home", NULL, "[shim] mount the home directory", 0, HOME, on_option },
	{ "no-container-mount-home", NULL, "[shim] do not mount the home directory", 0, HOME | NO, on_option },
	{ "container-writable", NULL, "[shim] make the root writable", 0, WRITABLE, on_option },
	{ "container-readonly", NULL, "[shim] make the root read-only", 0, WRITABLE | NO, on_option },
	SPANK_OPTIONS_TABLE_END
};

static int read_conf(int ac, char **av)
{
	for (int i = 0; i < ac; i++) {
		if (strncmp(av[i], "site=", 5) || nsite == MAX_MOUNTS)
			return complain("plugstack.conf: unknown: %s", av[i]);
		site[nsite++] = strdup(av[i] + 5);
	}
	return 0;
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	spank_context_t where = spank_context();

	if (read_conf(ac, av) < 0)
		return -1;
	/* Not in sbatch and salloc: pyxis before 0.12, and every site that says so, takes the options in srun alone. */
	if (where != S_CTX_LOCAL && where != S_CTX_REMOTE)
		return 0;
	for (struct spank_option *o = options; o->name; o++)
		if (spank_option_register(sp, o) != ESPANK_SUCCESS)
			return complain("cannot register --%s", o->name);
	return 0;
}

/* ----------------------------------------------------------- the root's view */

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

/*
 * slurmstepd, as root, before any task: a child builds the root in a mount
 * namespace of its own; an open file keeps that namespace when the child is gone,
 * so all tasks of the step on this node share one root, and it goes with them.
 */
static int open_root(const char *home)
{
	int up[2], down[2], status;
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
	}
	close(down[1]);
	close(up[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (root_ns < 0) {
		buf[strcspn(buf, "\n")] = '\0';
		keep("%s", *buf ? buf : "the root could not be built");
	}
	return 0;
}

static int wanted(spank_t sp)
{
	/* No image: nothing to do, but say so where the user can see it. */
	if (given[IMAGE])
		return 1;
	if (!spank_remote(sp))
		for (int o = 0; o < N_OPTS; o++)
			if (given[o])
				complain("%s has no effect without --container-image", spelled[o]);
	return 0;
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	struct passwd *pw;
	struct stat st;
	uid_t uid;

	(void)ac, (void)av;
	if (!wanted(sp) || spank_context() != S_CTX_REMOTE)
		return 0;
	if (given[IMAGE][0] != '/' && given[IMAGE][0] != '.')
		return keep("no registry here, image must be a path: %s", given[IMAGE]);
	if (stat(given[IMAGE], &st) < 0)
		return keep("image %s: %s", given[IMAGE], strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return keep("image %s: not a directory", given[IMAGE]);
	for (int i = 0; i < nbinds; i++)
		if (access(binds[i].src, F_OK) < 0)
			return keep("--container-mounts: %s: %s", binds[i].src, strerror(errno));
	if (spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS)
		return keep("no job uid");
	pw = getpwuid(uid);
	return open_root(pw ? pw->pw_dir : NULL);
}

/*
 * Slurm changes into the job's directory, on the host's file system, between the
 * two task hooks.  So the root is entered in the second one, which runs as the
 * user: the capabilities are carried over to it and dropped right after.
 */
int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
	(void)sp, (void)ac, (void)av;
	if (root_ns >= 0 && prctl(PR_SET_KEEPCAPS, 1) < 0)
		return complain("keepcaps: %s", strerror(errno));
	return 0;
}

static int enter_root(void)
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

static int in_list(const char *list, const char *name, size_t len)
{
	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, name, len) && (p[len] == '\0' || p[len] == ','))
			return 1;
	}
	return 0;
}

/* The image's variables win over the host's, but for those named in --container-env. */
static void image_env(spank_t sp)
{
	char line[8192];
	FILE *f = fopen("/etc/environment", "re");

	while (f && fgets(line, sizeof(line), f)) {
		char *eq = strchr(line, '=');

		line[strcspn(line, "\n")] = '\0';
		if (!eq || eq == line || line[0] == '#')
			continue;
		if (given[ENV] && in_list(given[ENV], line, eq - line))
			continue;
		*eq = '\0';
		spank_setenv(sp, line, eq + 1, 1);
	}
	if (f)
		fclose(f);
}

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	int local = 0;

	(void)ac, (void)av;
	if (!given[IMAGE])
		return 0;
	if (*trouble) {
		if (spank_get_item(sp, S_TASK_ID, &local) != ESPANK_SUCCESS || local == 0)
			complain("%s", trouble);
		return -1;
	}
	if (root_ns < 0)
		return 0;
	if (enter_root() < 0)
		return -1;
	image_env(sp);
	if (given[WORKDIR] && chdir(given[WORKDIR]) < 0)
		return complain("--container-workdir: %s: %s", given[WORKDIR], strerror(errno));
	if (!given[WORKDIR] && chdir("/root") < 0 && chdir("/") < 0)
		return complain("chdir: %s", strerror(errno));
	return 0;
}

int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	(void)sp, (void)ac, (void)av;
	if (root_ns >= 0)
		close(root_ns);
	root_ns = -1;
	return 0;
}
