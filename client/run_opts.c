/*
 * Options of `errand run`.  Reads the environment and --env-file.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache_opts.h"
#include "help.h"
#include "lib/io.h"
#include "lib/text.h"
#include "out.h"
#include "run_opts.h"
#include "tty.h"

enum {
	OPT_NO_SNAPSHOT = 256, OPT_INCLUDE_ALL, OPT_PASSENV, OPT_ENV_FILE,
	OPT_CPUS, OPT_MEMORY, OPT_PIDS, OPT_DISK, OPT_TIMEOUT, OPT_CPU_TIME,
	OPT_NET, OPT_IMAGE, OPT_AS_ROOT, OPT_NAME, OPT_ID, OPT_ON,
	OPT_TENANT, OPT_JSON, OPT_STRICT, OPT_APPLY, OPT_ARTIFACT, OPT_CACHE,
	OPT_HELP
};

static const struct option longs[] = {
	{ "detach", no_argument, NULL, 'd' },
	{ "root", required_argument, NULL, 'C' },
	{ "workdir", required_argument, NULL, 'w' },
	{ "no-snapshot", no_argument, NULL, OPT_NO_SNAPSHOT },
	{ "include-all", no_argument, NULL, OPT_INCLUDE_ALL },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "apply", no_argument, NULL, OPT_APPLY },
	{ "artifact", required_argument, NULL, OPT_ARTIFACT },
	{ "cache", required_argument, NULL, OPT_CACHE },
	{ "stdin", no_argument, NULL, 'i' },
	{ "tty", no_argument, NULL, 't' },
	{ "env", required_argument, NULL, 'e' },
	{ "passenv", required_argument, NULL, OPT_PASSENV },
	{ "env-file", required_argument, NULL, OPT_ENV_FILE },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "pids", required_argument, NULL, OPT_PIDS },
	{ "disk", required_argument, NULL, OPT_DISK },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "cpu-time", required_argument, NULL, OPT_CPU_TIME },
	{ "net", required_argument, NULL, OPT_NET },
	{ "image", required_argument, NULL, OPT_IMAGE },
	{ "as-root", no_argument, NULL, OPT_AS_ROOT },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "id", required_argument, NULL, OPT_ID },
	{ "on", required_argument, NULL, OPT_ON },
	{ "tenant", required_argument, NULL, OPT_TENANT },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 }
};

void
run_opts_done(struct run_opts *o)
{
	size_t i;

	for (i = 0; i < o->nenv; i++) {
		/* Values may be secrets. */
		explicit_bzero(o->env[i], strlen(o->env[i]));
		free(o->env[i]);
	}
	free(o->env);
	free(o->artifacts);
	o->artifacts = NULL;
	o->nartifacts = 0;
	o->env = NULL;
	o->nenv = 0;
}

/* Add NAME=VALUE; a later one of the same name replaces an earlier one. */
static int
env_add(struct run_opts *o, const char *name, size_t nlen, const char *value)
{
	char **v, *p;
	size_t i, len;

	if (nlen == 0)
		return (out_usage("an environment variable needs a name"));
	if (strlen(value) + nlen + 1 > LIMIT_ENV_VALUE) {
		out_warn("the environment variable %.*s is %zu bytes long; the "
		    "kernel takes at most %d for one", (int)nlen, name,
		    strlen(value) + nlen + 2, LIMIT_ENV_VALUE + 1);
		return (EXIT_OURS);
	}
	len = nlen + strlen(value) + 2;
	if ((p = malloc(len)) == NULL ||
	    (v = realloc(o->env, (o->nenv + 1) * sizeof(*v))) == NULL) {
		free(p);
		return (EXIT_OURS);
	}
	o->env = v;
	snprintf(p, len, "%.*s=%s", (int)nlen, name, value);
	for (i = 0; i < o->nenv; i++)
		if (strncmp(v[i], name, nlen) == 0 && v[i][nlen] == '=') {
			free(v[i]);
			v[i] = p;
			return (0);
		}
	v[o->nenv++] = p;
	return (0);
}

static int
env_pair(struct run_opts *o, const char *pair)
{
	const char *eq = strchr(pair, '=');

	if (eq == NULL)
		return (out_usage("-e %s: needs NAME=VALUE (--passenv NAME "
		    "sends the caller's value)", pair));
	return (env_add(o, pair, (size_t)(eq - pair), eq + 1));
}

static int
env_pass(struct run_opts *o, const char *name)
{
	const char *v = getenv(name);

	if (v == NULL) {
		out_warn("--passenv %s: it is not set here; nothing was sent",
		    name);
		return (EXIT_OURS);
	}
	return (env_add(o, name, strlen(name), v));
}

/* All of a file, which may be a pipe.  0 or -1. */
static int
read_all(const char *path, uint8_t **buf, size_t *len)
{
	ssize_t n = 0;
	int fd, e;

	*len = 0;
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)) == -1)
		return (-1);
	if ((*buf = malloc(LIMIT_ENV_BYTES + 1)) == NULL)
		goto err1;
	while (*len <= LIMIT_ENV_BYTES && ((n = read(fd, *buf + *len,
	    LIMIT_ENV_BYTES + 1 - *len)) > 0 || (n == -1 && errno == EINTR)))
		*len += n > 0 ? (size_t)n : 0;
	if (n == -1)
		goto err2;
	if (*len > LIMIT_ENV_BYTES) {
		errno = EFBIG;
		goto err2;
	}
	(*buf)[*len] = '\0';
	close(fd);
	return (0);

err2:
	e = errno;
	explicit_bzero(*buf, *len);
	free(*buf);
	errno = e;
err1:
	e = errno;
	close(fd);
	errno = e;
	return (-1);
}

/* Lines NAME=VALUE; blank lines and those that begin with # are left out. */
static int
env_file(struct run_opts *o, const char *path)
{
	uint8_t *buf;
	char *pos, *line;
	size_t len;
	unsigned n = 0;
	int rc = 0;

	if (read_all(path, &buf, &len) == -1) {
		out_warn("--env-file %s: %s", path, strerror(errno));
		return (EXIT_OURS);
	}
	pos = (char *)buf;
	while (rc == 0 && (line = strsep(&pos, "\n")) != NULL) {
		n++;
		if (*line == '\0' || *line == '#')
			continue;
		if (strchr(line, '=') == NULL) {
			out_warn("%s:%u: needs NAME=VALUE", path, n);
			rc = EXIT_USAGE;
			break;
		}
		rc = env_pair(o, line);
	}
	explicit_bzero(buf, len);
	free(buf);
	return (rc);
}

static int
number(const char *text, uint32_t *out)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 ||
	    v == 0 || v > UINT32_MAX) {
		errno = EINVAL;
		return (-1);
	}
	*out = (uint32_t)v;
	return (0);
}

static int
set_net(struct run_opts *o, const char *arg)
{
	if (strcmp(arg, "none") == 0)
		o->net = JOB_NET_NONE;
	else if (strcmp(arg, "host") == 0)
		o->net = JOB_NET_HOST;
	else
		return (out_usage("--net %s: use none or host", arg));
	return (0);
}

/* Whether there is one of that name the host knows. */
static int
set_image(struct run_opts *o, const char *arg)
{
	if (!image_name_valid(arg))
		return (out_usage("--image %s: no name of an image; they are "
		    "1 to %d of a-z, 0-9, . _ - and begin with a letter or "
		    "digit (errand info lists the host's)", arg,
		    IMAGE_NAME_MAX));
	o->image = arg;
	return (0);
}

static int
set_cpus(struct job_limits *l, const char *arg)
{
	return (text_cpus(arg, &l->cpus_milli) == -1 || l->cpus_milli == 0 ?
	    -1 : 0);
}

static int
set_size(uint64_t *out, const char *arg)
{
	return (text_size(arg, out) == -1 || *out == 0 ? -1 : 0);
}

static int
set_time(uint64_t *out, const char *arg)
{
	return (text_duration(arg, out) == -1 || *out == 0 ? -1 : 0);
}

static const char *
long_name(int opt)
{
	const struct option *l;

	for (l = longs; l->name != NULL; l++)
		if (l->val == opt)
			return (l->name);
	return ("?");
}

/* The options that set a limit: parse into its field.  None may be 0, which
 * stands for the tenant's own. */
static int
set_limit(struct run_opts *o, int opt, const char *arg)
{
	struct job_limits *l = &o->limits;
	int rc;

	switch (opt) {
	case OPT_CPUS:
		rc = set_cpus(l, arg);
		break;
	case OPT_MEMORY:
		rc = set_size(&l->memory, arg);
		break;
	case OPT_PIDS:
		rc = number(arg, &l->pids);
		break;
	case OPT_DISK:
		rc = set_size(&l->disk, arg);
		break;
	case OPT_TIMEOUT:
		rc = set_time(&l->runtime_us, arg);
		break;
	default:
		rc = set_time(&l->cpu_us, arg);
		break;
	}
	if (rc == -1 && (opt == OPT_CPUS || opt == OPT_PIDS))
		return (out_usage("--%s %s: not a valid amount (write %s; "
		    "not 0)", long_name(opt), arg, opt == OPT_CPUS ?
		    "processors, for instance 2 or 1.5" : "a whole number"));
	if (rc == -1)
		return (out_usage("--%s %s: not a valid amount (write %s; "
		    "not 0)", long_name(opt), arg, opt == OPT_MEMORY ||
		    opt == OPT_DISK ? "a size: 64K, 512M or 2G" :
		    "a duration: 90, 90s, 10m or 2h"));
	return (0);
}

static int
add_artifact(struct run_opts *o, const char *arg)
{
	const char **v;

	if (o->nartifacts == LIMIT_ARTIFACTS)
		return (out_usage("--artifact: at most %d", LIMIT_ARTIFACTS));
	v = realloc(o->artifacts, (o->nartifacts + 1) * sizeof(*v));
	if (v == NULL)
		return (EXIT_OURS);
	o->artifacts = v;
	v[o->nartifacts++] = arg;
	return (0);
}

/* Where it is depends on the tree: see cache_opts.h. */
static int
add_cache(struct run_opts *o, const char *arg)
{
	if (o->ncaches == LIMIT_CACHES)
		return (out_usage("--cache: at most %d", LIMIT_CACHES));
	if (cache_name_check(arg) == -1)
		return (out_usage("--cache %s: needs NAME=PATH, with 1 to %d "
		    "of A-Z, a-z, 0-9, '.', '_' and '-' in NAME, a letter or "
		    "digit first", arg, LIMIT_NAME));
	o->caches[o->ncaches++] = arg;
	return (0);
}

static int
set_option(struct run_opts *o, int opt, const char *arg)
{
	switch (opt) {
	case 'd':
		o->detach = 1;
		return (0);
	case 'n':
		o->dry_run = 1;
		return (0);
	case 'C':
		o->root = arg;
		return (0);
	case 'w':
		o->workdir = arg;
		return (0);
	case 'e':
		return (env_pair(o, arg));
	case 'i':
		o->input = 1;
		return (0);
	case 't':
		o->tty = 1;
		return (0);
	case 'q':
		o->s->quiet = 1;
		return (0);
	case 'v':
		o->s->verbose = 1;
		return (0);
	case OPT_NO_SNAPSHOT:
		o->no_snapshot = 1;
		return (0);
	case OPT_INCLUDE_ALL:
		o->include_all = 1;
		return (0);
	case OPT_STRICT:
		o->strict = 1;
		return (0);
	case OPT_ARTIFACT:
		return (add_artifact(o, arg));
	case OPT_CACHE:
		return (add_cache(o, arg));
	case OPT_APPLY:
		o->apply = 1;
		return (0);
	case OPT_PASSENV:
		return (env_pass(o, arg));
	case OPT_ENV_FILE:
		return (env_file(o, arg));
	case OPT_NET:
		return (set_net(o, arg));
	case OPT_IMAGE:
		return (set_image(o, arg));
	case OPT_AS_ROOT:
		o->as_root = 1;
		return (0);
	case OPT_NAME:
		o->label = arg;
		return (0);
	case OPT_ID:
		o->id = arg;
		return (0);
	case OPT_ON:
		o->s->on = arg;
		return (0);
	case OPT_TENANT:
		o->s->tenant = arg;
		return (0);
	case OPT_JSON:
		o->s->json = 1;
		return (0);
	case OPT_HELP:
		help_print("run");
		return (-1);
	case '?':
		return (out_hint());
	default:
		return (set_limit(o, opt, arg));
	}
}

/*
 * With a terminal goes what is typed on ours, and its kind, unless the user
 * named another.
 */
static int
take_terminal(struct run_opts *o)
{
	const char *term = getenv("TERM");
	size_t i;

	if (tty_is())
		o->input = 1;
	for (i = 0; i < o->nenv; i++)
		if (strncmp(o->env[i], "TERM=", 5) == 0)
			return (0);
	if (term == NULL || *term == '\0')
		return (0);
	return (env_add(o, "TERM", 4, term));
}

static int
check(const struct run_opts *o)
{
	if (o->argc == 0)
		return (out_usage("no command; put it after --, as in: "
		    "errand -- make"));
	if (o->label != NULL && (strlen(o->label) == 0 ||
	    strcmp(o->label, "last") == 0 || strlen(o->label) > LIMIT_NAME ||
	    strpbrk(o->label, "\n\r\t") != NULL))
		return (out_usage("--name: 1 to %d characters on one line, "
		    "and not \"last\"", LIMIT_NAME));
	if (o->no_snapshot && (o->root != NULL || o->include_all))
		return (out_usage("--no-snapshot sends nothing; it cannot be "
		    "combined with -C or --include-all"));
	if (o->apply && (o->no_snapshot || o->detach))
		return (out_usage("--apply needs a tree that was sent, and "
		    "somebody who waits; it cannot be combined with "
		    "--no-snapshot or --detach (errand fetch JOB --apply "
		    "does it later)"));
	return (0);
}

int
run_opts_parse(int argc, char **argv, struct run_opts *o)
{
	int c, rc;

	optind = 1;
	while ((c = getopt_long(argc, argv, "+dnC:w:e:itqv", longs,
	    NULL)) != -1)
		if ((rc = set_option(o, c, optarg)) != 0)
			return (rc);
	o->argv = argv + optind;
	o->argc = argc - optind;
	if (o->tty && (rc = take_terminal(o)) != 0)
		return (rc);
	return (check(o));
}
