/*
 * A job's spec: what is to be executed.  Memory only; read by the submitter,
 * its worker and the keeper, never by errandd or the store.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "lib/cachedir.h"
#include "lib/cachepath.h"
#include "lib/rules.h"
#include "proto/arena.h"
#include "proto/edge.h"
#include "proto/job_types.h"
#include "record.pb-c.h"

/*
 * A spec is bound into receipts by the digest of its bytes, so there is one way
 * to write it: edge_unpack encodes what it parsed again and compares.
 */

/* Arrays and copies of a spec of the largest size, made of empty strings. */
#define SPEC_MEMORY     (16 * 1024 * 1024)

typedef Errand__Record__JobSpec Spec;

static int
env_name_valid(const ProtobufCBinaryData *s)
{
	return (s->len > 0 && memchr(s->data, '\0', s->len) == NULL &&
	    memchr(s->data, '=', s->len) == NULL);
}

/* Relative, and never above where it starts. */
static int
workdir_valid(const ProtobufCBinaryData *s)
{
	const uint8_t *p = s->data, *end, *slash;

	if (s->len == 0)
		return (1);
	if (s->len >= LIMIT_PATH || *p == '/' ||
	    memchr(p, '\0', s->len) != NULL)
		return (0);
	for (end = p + s->len; p < end; p = slash + 1) {
		if ((slash = memchr(p, '/', (size_t)(end - p))) == NULL)
			slash = end;
		if (slash - p == 2 && p[0] == '.' && p[1] == '.')
			return (0);
	}
	return (1);
}

/* As workdir, but it names something. */
static int
artifact_valid(const ProtobufCBinaryData *s)
{
	return (s->len > 0 && s->len < LIMIT_PATH &&
	    rules_path_valid((const char *)s->data, s->len));
}

static int
cache_valid(const Errand__Record__CacheSpec *c)
{
	return (c->base.n_unknown_fields == 0 && cachedir_name_valid(c->name) &&
	    cachepath_valid((const char *)c->path.data, c->path.len));
}

/* Each is by itself, and the project that they are of can be told. */
static int
caches_valid(const Spec *m)
{
	size_t i, j;

	if (m->n_caches > LIMIT_CACHES ||
	    (m->n_caches > 0 && strlen(m->project) > LIMIT_NAME))
		return (0);
	for (i = 0; i < m->n_caches; i++) {
		if (!cache_valid(m->caches[i]))
			return (0);
		for (j = 0; j < i; j++)
			if (strcmp(m->caches[i]->name,
			    m->caches[j]->name) == 0 || cachepath_overlap(
			    (const char *)m->caches[i]->path.data,
			    m->caches[i]->path.len,
			    (const char *)m->caches[j]->path.data,
			    m->caches[j]->path.len))
				return (0);
	}
	return (1);
}

static int
spec_valid(const Spec *m)
{
	size_t i;

	if (m->n_argv < 1 || m->n_argv > LIMIT_ARGS || m->n_env > LIMIT_ARGS ||
	    m->n_artifacts > LIMIT_ARTIFACTS ||
	    m->rules.len > RULES_BYTES_MAX ||
	    (m->content.len != 0 && m->content.len != 32))
		return (0);
	for (i = 0; i < m->n_artifacts; i++)
		if (!artifact_valid(&m->artifacts[i]))
			return (0);
	for (i = 0; i < m->n_argv; i++)
		if (m->argv[i].len > 0 && memchr(m->argv[i].data, '\0',
		    m->argv[i].len) != NULL)
			return (0);
	for (i = 0; i < m->n_env; i++)
		if (!env_name_valid(&m->env[i]))
			return (0);
	return (workdir_valid(&m->workdir) && caches_valid(m) &&
	    strlen(m->label) <= LIMIT_NAME && edge_name_valid(m->label) &&
	    strlen(m->commit) <= LIMIT_NAME && edge_name_valid(m->commit) &&
	    strlen(m->project) < LIMIT_TEXT && edge_name_valid(m->project) &&
	    (m->image[0] == '\0' || image_name_valid(m->image)));
}

/* Borrow strings for packing. */
static ProtobufCBinaryData *
borrow_all(struct arena *a, char **v, size_t n)
{
	ProtobufCBinaryData *out;
	size_t i;

	if ((out = arena_take(a, n * sizeof(*out))) == NULL)
		return (NULL);
	for (i = 0; i < n; i++) {
		out[i].data = (uint8_t *)v[i];
		out[i].len = strlen(v[i]);
	}
	return (out);
}

static int
caches_borrow(const struct job_spec *s, struct arena *a, Spec *m)
{
	Errand__Record__CacheSpec *c;
	size_t i;

	if (s->ncaches > LIMIT_CACHES) {
		errno = EINVAL;
		return (-1);
	}
	if ((m->n_caches = s->ncaches) == 0)
		return (0);
	if ((m->caches = arena_take(a, s->ncaches * sizeof(*m->caches))) ==
	    NULL || (c = arena_take(a, s->ncaches * sizeof(*c))) == NULL)
		return (-1);
	for (i = 0; i < s->ncaches; i++) {
		errand__record__cache_spec__init(&c[i]);
		c[i].name = (char *)(uintptr_t)s->caches[i].name;
		c[i].path.data = (uint8_t *)(uintptr_t)s->caches[i].path;
		c[i].path.len = strlen(s->caches[i].path);
		m->caches[i] = &c[i];
	}
	return (0);
}

static int
spec_fill(const struct job_spec *s, struct arena *a, Spec *m)
{
	errand__record__job_spec__init(m);
	if (s->argc > LIMIT_ARGS || s->nenv > LIMIT_ARGS ||
	    s->nartifacts > LIMIT_ARTIFACTS) {
		errno = EINVAL;
		return (-1);
	}
	m->n_argv = s->argc;
	m->n_env = s->nenv;
	m->n_artifacts = s->nartifacts;
	if ((m->argv = borrow_all(a, s->argv, s->argc)) == NULL ||
	    (m->env = borrow_all(a, s->env, s->nenv)) == NULL ||
	    (m->artifacts = borrow_all(a, s->artifacts, s->nartifacts)) ==
	    NULL || caches_borrow(s, a, m) == -1)
		return (-1);
	m->rules.data = s->rules;
	m->rules.len = s->rules_len;
	if (!sodium_is_zero(s->content, sizeof(s->content))) {
		m->content.data = (uint8_t *)(uintptr_t)s->content;
		m->content.len = sizeof(s->content);
	}
	if (s->workdir != NULL) {
		m->workdir.data = (uint8_t *)s->workdir;
		m->workdir.len = strlen(s->workdir);
	}
	if (s->label != NULL)
		m->label = s->label;
	if (s->commit != NULL)
		m->commit = s->commit;
	if (s->project != NULL)
		m->project = s->project;
	if (s->image != NULL)
		m->image = s->image;
	if (!spec_valid(m)) {
		errno = EINVAL;
		return (-1);
	}
	return (0);
}

static int
spec_encode(const Spec *m, uint8_t **buf, size_t *len)
{
	size_t n = errand__record__job_spec__get_packed_size(m);

	if (n > LIMIT_SPEC) {
		errno = EMSGSIZE;
		return (-1);
	}
	if ((*buf = malloc(n)) == NULL)
		return (-1);
	*len = errand__record__job_spec__pack(m, *buf);
	return (0);
}

int
job_spec_pack(const struct job_spec *s, uint8_t **buf, size_t *len)
{
	struct arena a;
	int rc = -1;
	Spec m;

	arena_init(&a, SPEC_MEMORY);
	if (spec_fill(s, &a, &m) == 0)
		rc = spec_encode(&m, buf, len);
	arena_done(&a);
	return (rc);
}

/* A string of its own, or NULL. */
static char *
own(const void *p, size_t len)
{
	char *s;

	if ((s = malloc(len + 1)) == NULL)
		return (NULL);
	if (len > 0)
		memcpy(s, p, len);
	s[len] = '\0';
	return (s);
}

/* Copies all; what has been copied is counted, so that it can be undone. */
static int
own_all(const ProtobufCBinaryData *v, size_t n, char ***out, size_t *done)
{
	/* One more, for a NULL that execve wants. */
	if ((*out = calloc(n + 1, sizeof(**out))) == NULL)
		return (-1);
	for (*done = 0; *done < n; (*done)++)
		if (((*out)[*done] = own(v[*done].data, v[*done].len)) == NULL)
			return (-1);
	return (0);
}

static int
own_optional(const char *s, char **out)
{
	if (*s == '\0')
		return (0);
	return ((*out = strdup(s)) == NULL ? -1 : 0);
}

/* Their lengths were checked. */
static void
caches_take(const Spec *m, struct job_spec *s)
{
	size_t i;

	s->ncaches = m->n_caches;
	for (i = 0; i < m->n_caches; i++) {
		memcpy(s->caches[i].name, m->caches[i]->name,
		    strlen(m->caches[i]->name) + 1);
		memcpy(s->caches[i].path, m->caches[i]->path.data,
		    m->caches[i]->path.len);
		s->caches[i].path[m->caches[i]->path.len] = '\0';
	}
}

static int
spec_take(const Spec *m, struct job_spec *s)
{
	if (own_all(m->argv, m->n_argv, &s->argv, &s->argc) == -1 ||
	    own_all(m->env, m->n_env, &s->env, &s->nenv) == -1 ||
	    (s->workdir = own(m->workdir.data, m->workdir.len)) == NULL ||
	    own_optional(m->label, &s->label) == -1 ||
	    own_optional(m->commit, &s->commit) == -1 ||
	    own_optional(m->project, &s->project) == -1 ||
	    own_optional(m->image, &s->image) == -1 ||
	    own_all(m->artifacts, m->n_artifacts, &s->artifacts,
	    &s->nartifacts) == -1)
		goto err0;
	if (m->rules.len > 0) {
		s->rules = (uint8_t *)own(m->rules.data, m->rules.len);
		if (s->rules == NULL)
			goto err0;
		s->rules_len = m->rules.len;
	}
	if (m->content.len == sizeof(s->content))
		memcpy(s->content, m->content.data, sizeof(s->content));
	caches_take(m, s);
	return (0);

err0:
	job_spec_done(s);
	errno = ENOMEM;
	return (-1);
}

int
job_spec_parse(const uint8_t *buf, size_t len, struct job_spec *s)
{
	struct arena a;
	int rc = -1;
	Spec *m;

	memset(s, 0, sizeof(*s));
	arena_init(&a, SPEC_MEMORY);
	if (len > LIMIT_SPEC || (m = (Spec *)(void *)edge_unpack(
	    &errand__record__job_spec__descriptor, &a, buf, len)) == NULL ||
	    !spec_valid(m))
		errno = EPROTO;
	else
		rc = spec_take(m, s);
	arena_done(&a);
	return (rc);
}

static void
free_all(char **v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

void
job_spec_done(struct job_spec *s)
{
	free_all(s->argv, s->argc);
	free_all(s->env, s->nenv);
	free(s->workdir);
	free(s->label);
	free(s->commit);
	free(s->project);
	free(s->image);
	free_all(s->artifacts, s->nartifacts);
	free(s->rules);
	memset(s, 0, sizeof(*s));
}
