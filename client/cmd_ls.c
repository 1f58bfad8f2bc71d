/*
 * errand ls: what would be sent.  Talks to no host.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply.h"
#include "cmd.h"
#include "common.h"
#include "json.h"
#include "lib/io.h"
#include "out.h"
#include "select.h"

struct ls {
	struct select *sel;
	int nul;
	int json;
	char path[PATH_MAX];
};

static const struct option longs[] = {
	{ "root", required_argument, NULL, 'C' },
	{ "include-all", no_argument, NULL, 'a' },
	COMMON_OPTS
};

static void
show(const struct ls *l, int isdir)
{
	json_t *o;

	if (l->json) {
		o = json_object();
		json_set_bytes(o, "path", l->path, strlen(l->path));
		json_object_set_new(o, "kind", json_string(isdir ? "dir" :
		    "file"));
		fflush(stdout);
		(void)json_print(o, STDOUT_FILENO);
	} else if (l->nul)
		printf("%s%s%c", l->path, isdir ? "/" : "", '\0');
	else
		printf("%s%s\n", out_escape(l->path, strlen(l->path)),
		    isdir ? "/" : "");
}

static int list_dir(struct ls *, int, size_t);

static int
list_name(struct ls *l, int dirfd, const struct name *nm, size_t at)
{
	struct stat st;
	size_t len = at;
	int fd, rc = 0;

	if (fstatat(dirfd, nm->s, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) &&
	    !S_ISLNK(st.st_mode)))
		return (0);
	if (at + nm->len + 2 > sizeof(l->path)) {
		out_warn("%s: the path is too long", l->path);
		return (-1);
	}
	if (at > 0)
		l->path[len++] = '/';
	memcpy(l->path + len, nm->s, nm->len + 1U);
	len += nm->len;
	show(l, S_ISDIR(st.st_mode));
	if (S_ISDIR(st.st_mode)) {
		fd = openat(dirfd, nm->s, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		if (fd == -1) {
			out_warn("%s: %s", l->path, strerror(errno));
			rc = -1;
		} else {
			rc = list_dir(l, fd, len);
			close(fd);
		}
	}
	l->path[at] = '\0';
	return (rc);
}

static int
list_dir(struct ls *l, int fd, size_t at)
{
	struct names ns = { 0 };
	size_t i;
	int rc;

	if ((rc = select_names(l->sel, fd, l->path, &ns)) == -1)
		out_warn("%s: %s", l->path, strerror(errno));
	for (i = 0; rc == 0 && i < ns.n; i++)
		rc = list_name(l, fd, &ns.v[i], at);
	names_done(&ns);
	return (rc);
}

static int
list_root(struct ls *l, const char *given, int all)
{
	char root[PATH_MAX], why[LIMIT_TEXT];
	enum select_mode mode;
	int fd, rc = -1;

	if (given == NULL)
		rc = select_find_root(".", all, root, &mode, why);
	else if (realpath(given, root) == NULL)
		snprintf(why, sizeof(why), "%s: %s", given, strerror(errno));
	else
		rc = select_root_mode(root, all, &mode, why);
	if (rc == -1) {
		out_warn("%s", why);
		return (EXIT_OURS);
	}
	if ((rc = apply_recover(root, 0)) != 0)
		return (rc);
	if ((fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1) {
		out_warn("%s: %s", root, strerror(errno));
		return (EXIT_OURS);
	}
	if ((l->sel = select_open(fd, root, mode, why)) == NULL) {
		out_warn("%s", why);
		rc = -1;
	} else
		rc = list_dir(l, fd, 0);
	select_free(l->sel);
	close(fd);
	return (rc == 0 && out_flush() == 0 ? 0 : EXIT_OURS);
}

int
cmd_ls(int argc, char **argv)
{
	struct session s = { 0 };
	struct ls *l;
	const char *root = NULL;
	int c, all = 0, nul = 0, rc;

	while ((c = getopt_long(argc, argv, "C:zqv", longs, NULL)) != -1) {
		if (c == 'C')
			root = optarg;
		else if (c == 'a')
			all = 1;
		else if (c == 'z')
			nul = 1;
		else if ((rc = common_option(&s, "ls", c, optarg)) != 0)
			return (common_exit(rc));
	}
	if (optind < argc)
		return (out_usage("ls takes no arguments"));
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return (EXIT_OURS);
	l->nul = nul;
	l->json = s.json;
	rc = list_root(l, root, all);
	free(l);
	return (rc);
}
