/*
 * container_shim - a SPANK plug-in that stands in for pyxis on the test cluster.
 *
 * It takes pyxis's options of srun, checks them, and gives every task of the step a root file system made from the
 * image, the way a container would look to it: read-only, with the image's own working directory and environment. It is
 * no container runtime: no user namespace, no registry, no isolation worth the name. Written anew on spank.h, to the
 * options' public description and to what a real pyxis 0.24 was seen to do.
 *
 *   cc -shared -fPIC -O2 -Wall -Wextra -o container_shim.so container_shim.c container_root.c
 *
 * plugstack.conf:  required /path/container_shim.so [site=SRC:DST[:FLAGS]]... [names=DIR]
 *   site:  a mount that every container gets;  names: where a node keeps containers that have a name
 *
 * An image is a directory. A registry reference is refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "container_shim.h"

SPANK_PLUGIN(container_shim, 1)

/* ------------------------------------------------------------- the options */

#define NO 0x100                     /* flag in spank_option.val: the "no" form */

char *given[N_OPTS];

static const char *const spelled[N_OPTS] = {
	"--container-image", "--container-mounts", "--container-env", "--container-name",
	"--[no-]container-mount-home", "--container-writable/readonly",
};

char *site[MAX_MOUNTS];
int nsite;
char *names;

struct bind binds[MAX_MOUNTS];
int nbinds;

int root_ns = -1;
static char trouble[PATH_MAX + 200]; /* why there is none */

int complain(const char *fmt, ...)
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
int keep(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(trouble, sizeof(trouble), fmt, ap);
	va_end(ap);
	return 0;
}

/* One entry of --container-mounts: SRC[:DST[:FLAG+FLAG...]] */
int read_mount(char *entry, struct bind *out)
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
	if (o == NAME && strchr(value, '/'))
		return complain("%s: no name: %s", spelled[o], value);
	if (!given[o])
		given[o] = strdup(value);
	return 0;
}

static struct spank_option options[] = {
	{ "container-image", "PATH", "[shim] squashfs file or directory to use as the root", 1, IMAGE, on_option },
	{ "container-mounts", "SRC:DST[:FLAGS],...", "[shim] bind mounts inside the container", 1, MOUNTS, on_option },
	{ "container-env", "NAME,...", "[shim] host variables that win over the image's", 1, ENV, on_option },
	{ "container-name", "NAME", "[shim] start in the container of that name, or make it", 1, NAME, on_option },
	{ "container-mount-home", NULL, "[shim] mount the home directory", 0, HOME, on_option },
	{ "no-container-mount-home", NULL, "[shim] do not mount the home directory", 0, HOME | NO, on_option },
	{ "container-writable", NULL, "[shim] make the root writable", 0, WRITABLE, on_option },
	{ "container-readonly", NULL, "[shim] make the root read-only", 0, WRITABLE | NO, on_option },
	SPANK_OPTIONS_TABLE_END
};

static int read_conf(int ac, char **av)
{
	for (int i = 0; i < ac; i++) {
		if (!strncmp(av[i], "names=", 6))
			names = strdup(av[i] + 6);
		else if (!strncmp(av[i], "site=", 5) && nsite < MAX_MOUNTS)
			site[nsite++] = strdup(av[i] + 5);
		else
			return complain("plugstack.conf: unknown: %s", av[i]);
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
	if (chdir("/root") < 0 && chdir("/") < 0)
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
