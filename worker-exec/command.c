/*
 * Arguments, environment and working directory as one piece of memory or memfd,
 * and back.  The keeper packs it, pid 1's child reads it.  Touches memory only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "lib/io.h"
#include "lib/memfd.h"
#include "lib/size.h"
#include "proto/job_types.h"
#include "proto/limits.h"

#define IMAGE_MAX       (LIMIT_SPEC + LIMIT_ENV_BYTES + 65536)

/*
 * The image: this head, then NUL-terminated strings: workdir, arguments,
 * environment.  Written and read by one program in one run, so the numbers are
 * the machine's own.
 */
struct head {
	uint32_t argc;
	uint32_t envc;
	uint64_t file;
	uint32_t pids;
	uint32_t zero;          /* what would be padding */
};

struct image {
	uint8_t *p;
	size_t len;
	size_t cap;
};

static int
put(struct image *im, const void *buf, size_t len)
{
	uint8_t *p;
	size_t need;

	if (size_add(im->len, len, &need) == -1)
		return (-1);
	if ((p = size_grow(im->p, &im->cap, need, 1)) == NULL)
		return (-1);
	im->p = p;
	memcpy(im->p + im->len, buf, len);
	im->len = need;
	return (0);
}

static int
put_string(struct image *im, const char *s)
{

	return (put(im, s, strlen(s) + 1));
}

static int
put_env(struct image *im, struct head *h, const char *name, const char *value)
{

	h->envc++;
	if (put(im, name, strlen(name)) == -1 || put(im, "=", 1) == -1)
		return (-1);
	return (put_string(im, value));
}

/* What every command finds in its environment. */
static int
put_standard(struct image *im, struct head *h, const struct job_spec *spec,
    const struct command_facts *f)
{
	const char *user = f->as_root ? "root" : "runner";
	const char *const env[][2] = {
		{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
		    "/sbin:/bin" },
		{ "HOME", "/home/runner" },
		{ "USER", user },
		{ "LOGNAME", user },
		{ "SHELL", "/bin/sh" },
		{ "LANG", "C.UTF-8" },
		{ "TERM", "dumb" },
		{ "TMPDIR", "/tmp" },
		{ "ERRAND_JOB", f->job },
		{ "ERRAND_WORKSPACE", "/workspace" },
		{ "ERRAND_COMMIT", spec->commit },
	};
	size_t i;

	for (i = 0; i < sizeof(env) / sizeof(env[0]); i++) {
		if (env[i][1] != NULL && env[i][1][0] != '\0' &&
		    put_env(im, h, env[i][0], env[i][1]) == -1)
			return (-1);
	}
	return (0);
}

static int
declared(const struct job_spec *spec, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < spec->nenv; i++) {
		if (strlen(spec->env[i]) == len &&
		    memcmp(spec->env[i], name, len) == 0)
			return (1);
	}
	return (0);
}

/* Take the string at ${at} out again. */
static void
drop(struct image *im, struct head *h, size_t at)
{
	size_t len = strlen((char *)im->p + at) + 1;

	memmove(im->p + at, im->p + at + len, im->len - at - len);
	im->len -= len;
	h->envc--;
}

/* A later value of a name replaces an earlier one. */
static void
drop_name(struct image *im, struct head *h, size_t at, const char *name,
    size_t len)
{
	const char *s;

	while (at < im->len) {
		s = (const char *)im->p + at;
		if (strncmp(s, name, len) == 0 && s[len] == '=') {
			drop(im, h, at);
			return;
		}
		at += strlen(s) + 1;
	}
}

/* The submitter's values; ${env} is where the environment begins. */
static int
put_values(struct image *im, struct head *h, size_t env,
    const struct job_spec *spec, const struct command_facts *f,
    const char **why)
{
	const char *p = (const char *)f->values, *eq;
	const char *end = p + f->values_len;
	size_t len;

	for (; p < end; p += len) {
		len = strnlen(p, (size_t)(end - p)) + 1;
		eq = memchr(p, '=', len - 1);
		if (len > (size_t)(end - p) || eq == NULL) {
			*why = "the values of the environment are malformed";
			return (-1);
		}
		if (len - 1 > LIMIT_ENV_VALUE) {
			*why = "a value of the environment is longer than the "
			    "kernel lets a command have (131071 bytes)";
			return (-1);
		}
		if (!declared(spec, p, (size_t)(eq - p))) {
			*why = "there is a value for a name that the job does "
			    "not declare";
			return (-1);
		}
		drop_name(im, h, env, p, (size_t)(eq - p));
		h->envc++;
		if (put(im, p, len) == -1)
			return (-1);
	}
	return (0);
}

static int
put_all(struct image *im, struct head *h, const struct job_spec *spec,
    const struct command_facts *f, const char **why)
{
	size_t i, env;

	if (put(im, h, sizeof(*h)) == -1)
		return (-1);
	if (put_string(im, spec->workdir == NULL ? "" : spec->workdir) == -1)
		return (-1);
	for (i = 0; i < spec->argc; i++) {
		if (put_string(im, spec->argv[i]) == -1)
			return (-1);
	}
	env = im->len;
	if (put_standard(im, h, spec, f) == -1)
		return (-1);
	if (f->values != NULL && put_values(im, h, env, spec, f, why) == -1)
		return (-1);
	memcpy(im->p, h, sizeof(*h));
	return (0);
}

int
command_pack(const struct job_spec *spec, const struct command_facts *f,
    struct command_image *out, const char **why)
{
	struct head h = { .argc = (uint32_t)spec->argc, .pids = f->pids,
	    .file = f->file };
	struct image im = { 0 };

	*why = "there is no memory for the command";
	if (put_all(&im, &h, spec, f, why) == -1) {
		free(im.p);
		return (-1);
	}
	out->p = im.p;
	out->len = im.len;
	return (0);
}

int
command_memfd(const struct command_image *im)
{

	return (memfd_make("command", im->p, im->len));
}

/* The next string, or NULL when there is none. */
static char *
take(char **p, const char *end)
{
	char *s = *p;
	size_t len = strnlen(s, (size_t)(end - s));

	if (len == (size_t)(end - s))
		return (NULL);
	*p = s + len + 1;
	return (s);
}

static char **
take_all(char **p, const char *end, uint32_t n)
{
	char **v;
	uint32_t i;

	if (n > (size_t)(end - *p) ||
	    (v = calloc((size_t)n + 1, sizeof(*v))) == NULL)
		return (NULL);
	for (i = 0; i < n; i++) {
		if ((v[i] = take(p, end)) == NULL) {
			free(v);
			return (NULL);
		}
	}
	return (v);
}

int
command_read(const uint8_t *buf, size_t len, struct command *c)
{
	const char *end = (const char *)buf + len;
	struct head h;
	char *p;

	errno = EPROTO;
	if (len < sizeof(h))
		return (-1);
	memcpy(&h, buf, sizeof(h));
	p = (char *)(uintptr_t)buf + sizeof(h);
	c->pids = h.pids;
	c->file = h.file;
	if ((c->workdir = take(&p, end)) == NULL ||
	    (c->argv = take_all(&p, end, h.argc)) == NULL ||
	    (c->env = take_all(&p, end, h.envc)) == NULL)
		return (-1);
	return (h.argc > 0 ? 0 : -1);
}

int
command_map(int fd, struct command *c)
{
	const uint8_t *map;
	size_t len;

	if (memfd_map(fd, IMAGE_MAX, &map, &len) == -1)
		return (-1);
	return (command_read(map, len, c));
}
