/*
 * --cache NAME=PATH: from what was written to what the host is told, and what
 * is said of its answer.  Touches no file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "cache_opts.h"
#include "lib/cachedir.h"
#include "lib/cachepath.h"
#include "lib/text.h"
#include "out.h"
#include "proto/job_types.h"
#include "run_opts.h"

#define PERSON          "errand.project"
#define TITLE_MAX       40
#define DIGEST_LEN      8

/* The name of NAME=PATH, and where the path begins; NULL if it is neither. */
static const char *
split(const char *arg, char *name, size_t size)
{
	const char *eq = strchr(arg, '=');

	if (eq == NULL || (size_t)(eq - arg) >= size)
		return (NULL);
	memcpy(name, arg, (size_t)(eq - arg));
	name[eq - arg] = '\0';
	return (cachedir_name_valid(name) ? eq + 1 : NULL);
}

int
cache_name_check(const char *arg)
{
	char name[LIMIT_NAME + 1];

	return (split(arg, name, sizeof(name)) == NULL ? -1 : 0);
}

void
cache_project(const char *root, char *out)
{
	uint8_t person[crypto_generichash_blake2b_PERSONALBYTES] = PERSON;
	uint8_t sum[crypto_generichash_blake2b_BYTES_MIN];
	char hex[2 * DIGEST_LEN + 1], *p;
	const char *last = strrchr(root, '/');

	out[0] = '\0';
	if (root[0] == '\0')
		return;
	(void)crypto_generichash_blake2b_salt_personal(sum, sizeof(sum),
	    (const uint8_t *)root, strlen(root), NULL, 0, NULL, person);
	text_hex(sum, DIGEST_LEN, hex);
	(void)snprintf(out, LIMIT_NAME + 1, "%.*s-%s", TITLE_MAX,
	    last == NULL ? root : last + 1, hex);
	/* It is for people, and need not say more than they can type. */
	for (p = out; *p != '\0'; p++)
		if (strchr("._-", *p) == NULL && (*p < '0' || *p > '9') &&
		    (*p < 'A' || *p > 'Z') && (*p < 'a' || *p > 'z'))
			*p = '_';
}

static int
one(const char *arg, const char *root, struct cache_spec *c)
{
	const char *path = split(arg, c->name, sizeof(c->name));

	if (path == NULL || cachepath_from(path, root, getenv("HOME"), c->path,
	    sizeof(c->path)) == -1)
		return (out_usage("--cache %s: a cache is a directory below "
		    "the tree (a relative path), ~, /tmp or /var/tmp; without "
		    "\"..\" or .git, and at most %d bytes long", arg,
		    LIMIT_CACHE_PATH - 1));
	return (0);
}

int
cache_spec(const struct run_opts *o, const char *root, struct job_spec *sp)
{
	const struct cache_spec *a, *b;
	size_t i, j;
	int rc;

	for (i = 0; i < o->ncaches; i++) {
		if ((rc = one(o->caches[i], root, &sp->caches[i])) != 0)
			return (rc);
		a = &sp->caches[i];
		for (j = 0; j < i; j++) {
			b = &sp->caches[j];
			if (strcmp(a->name, b->name) == 0)
				return (out_usage("--cache %s: there are two "
				    "of that name", a->name));
			if (cachepath_overlap(a->path, strlen(a->path),
			    b->path, strlen(b->path)))
				return (out_usage("--cache: %s and %s overlap "
				    "(%s and %s)", b->name, a->name, b->path,
				    a->path));
		}
	}
	sp->ncaches = o->ncaches;
	return (0);
}

static const struct cache_use *
find(const struct job_record *rec, const char *name)
{
	uint32_t i;

	for (i = 0; i < rec->ncaches; i++)
		if (strcmp(rec->caches[i].name, name) == 0)
			return (&rec->caches[i]);
	return (NULL);
}

void
cache_say(const struct run_opts *o, const struct job_record *rec)
{
	const struct cache_use *u;
	char name[LIMIT_NAME + 1];
	size_t i;

	for (i = 0; i < o->ncaches; i++) {
		if (split(o->caches[i], name, sizeof(name)) == NULL)
			continue;
		if ((u = find(rec, name)) == NULL)
			out_warn("cache %s was not saved: the job has no "
			    "result", name);
		else if (!u->saved && !u->unchanged)
			out_warn("cache %s was not saved: %s", name, u->note);
		else if (u->note[0] != '\0')
			out_warn("cache %s: %s", name, u->note);
	}
}
