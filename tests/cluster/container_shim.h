/* What the plug-in's two files share: the options (container_shim.c) and the root (container_root.c). */
#ifndef CONTAINER_SHIM_H
#define CONTAINER_SHIM_H

#define MAX_MOUNTS 64

enum opt {
	IMAGE, MOUNTS, ENV, NAME,                                /* with a value  */
	HOME, WRITABLE,                                          /* yes or no     */
	N_OPTS
};

extern char *given[N_OPTS];          /* NULL: not given; "yes"/"no" for switches */

struct bind { char *src, *dst; unsigned long flags; };
extern struct bind binds[MAX_MOUNTS];
extern int nbinds;

extern char *site[MAX_MOUNTS];       /* mounts that every container gets, unread */
extern int nsite;

extern char *names;                  /* a directory on each node: where named containers are kept */

extern int root_ns;                  /* the step's mount namespace, kept by slurmstepd */

int complain(const char *fmt, ...);  /* to the user; returns -1 */
int keep(const char *fmt, ...);      /* for the task that comes later; returns 0 */
int read_mount(char *entry, struct bind *out);
int open_root(const char *home);
int enter_root(void);

#endif
