/*
 * Loads a job's change list from the host, and picks from it.
 */
#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "common.h"
#include "lib/content.h"
#include "out.h"
#include "state.h"

static int
say_failed(const struct session *s, const struct objget *g)
{
	const struct err *e = objget_err(g);

	if (conn_lost(s->c)) {
		session_lost(s);
		return (EXIT_NO);
	}
	if (e->code == ERR_NONE) {
		out_warn("the host gave a malformed answer");
		return (EXIT_NO);
	}
	out_err(e);
	return (e->code == ERR_INVALID ? EXIT_USAGE : EXIT_NO);
}

/*
 * Which job "last" is depends on who we are to the host.  That is guessed, so
 * that the request goes out with the greeting; if it was another, the request
 * is made again.
 */
int
changes_ask(struct session *s, struct objget *g, const char *name,
    struct job_record *rec)
{
	char guess[TENANT_NAME_MAX + 1] = "";
	const char *asked = s->tenant == NULL ? "" : s->tenant, *id;
	int rc, again;

	if (session_open(s) == -1)
		return (EXIT_NO);
	if (strcmp(name, "last") == 0 &&
	    state_tenant_get(s->addr, asked, guess) == -1 &&
	    session_hello(s) == -1)
		return (EXIT_NO);
	if ((id = common_name(s->host != NULL ? s->host->tenant : guess,
	    name)) == NULL)
		return (EXIT_USAGE);
	rc = objget_changes(g, id, rec);
	again = s->host == NULL && conn_lost(s->c);
	if (s->host == NULL && session_hello(s) == -1)
		return (EXIT_NO);
	if (strcmp(name, "last") == 0 && strcmp(guess, s->host->tenant) != 0) {
		(void)state_tenant_set(s->addr, asked, s->host->tenant);
		again |= guess[0] != '\0';
	}
	if (again)
		rc = objget_changes(g, common_job(s, name), rec);
	if (rc == -1)
		return (say_failed(s, g));
	/* Of one that runs the store knows less than the host. */
	return (JOB_IS_FINAL(rec->state) ? 0 : common_record(s, name, rec));
}

struct grow {
	uint8_t *p;
	size_t len, cap;
};

static int
append(void *cookie, const uint8_t *buf, uint64_t len)
{
	struct grow *g = cookie;

	if (len > g->cap - g->len)
		return (-1);
	if (buf != NULL)
		memcpy(g->p + g->len, buf, (size_t)len);
	else
		memset(g->p + g->len, 0, (size_t)len);
	g->len += (size_t)len;
	return (0);
}

static int
check(const uint8_t *p, size_t len, const struct job_record *rec)
{
	struct change_iter it;
	struct change c;
	uint8_t digest[32];
	uint64_t n = 0;
	int rc;

	change_digest(p, len, digest);
	if (memcmp(digest, rec->changes.digest, sizeof(digest)) != 0 ||
	    change_iter_init(&it, p, len) == -1)
		return (-1);
	while ((rc = change_iter_next(&it, &c)) == 1)
		n++;
	return (rc == 0 && n == rec->changes.count ? 0 : -1);
}

/* A list without entries is not stored. */
static int
empty(uint8_t **buf, size_t *len)
{
	struct change_buf cb = { 0 };

	if (change_buf_begin(&cb) == -1)
		return (EXIT_OURS);
	*buf = cb.p;
	*len = cb.len;
	return (0);
}

int
changes_load(struct objget *og, const struct job_record *rec, uint8_t **buf,
    size_t *len)
{
	struct grow g = { 0 };

	if (!JOB_IS_FINAL(rec->state)) {
		out_warn("job %s has not ended yet (%s); `errand wait %s` "
		    "waits for it", rec->id, job_state_name(rec->state),
		    rec->id);
		return (EXIT_NO);
	}
	if (rec->changes.list.kind == OBJ_NONE)
		return (empty(buf, len));
	if (rec->changes.list_bytes > LIMIT_CHANGES_BYTES ||
	    (g.p = malloc((size_t)rec->changes.list_bytes + 1)) == NULL) {
		out_warn("the list of changes is too long");
		return (EXIT_OURS);
	}
	g.cap = (size_t)rec->changes.list_bytes;
	if (content_read(&rec->changes.list, objget_fetch, og, append,
	    &g) != 0) {
		if (objget_err(og)->code != ERR_NONE)
			out_err(objget_err(og));
		else
			out_warn("the list of changes is malformed");
		goto err0;
	}
	if (check(g.p, g.len, rec) == -1) {
		out_warn("the list of changes of job %s does not match its "
		    "digest", rec->id);
		goto err0;
	}
	*buf = g.p;
	*len = g.len;
	return (0);

err0:
	free(g.p);
	return (EXIT_NO);
}

/* A path as the user writes it: "./d/", "/workspace/d" and "d" are one. */
static const char *
plain_path(const char *p, size_t *n)
{
	if (strncmp(p, "/workspace/", 11) == 0)
		p += 11;
	while (p[0] == '.' && p[1] == '/')
		p += 2;
	*n = strlen(p);
	while (*n > 0 && p[*n - 1] == '/')
		--*n;
	return (p);
}

static int
path_covers(const char *want, const struct change *c)
{
	const char *p;
	size_t n;

	p = plain_path(want, &n);
	return (c->path_len >= n && memcmp(c->path, p, n) == 0 &&
	    (c->path_len == n || c->path[n] == '/'));
}

int
changes_selected(char *const *want, int n, const struct change *c)
{
	int i;

	for (i = 0; i < n; i++)
		if (path_covers(want[i], c))
			return (1);
	return (n == 0);
}

/* Perhaps a path from where one stands, instead of from the root? */
static void
say_unchanged(const uint8_t *list, size_t len, const char *want)
{
	struct change_iter it;
	struct change c;
	const char *p;
	size_t n;

	p = plain_path(want, &n);
	if (n > 0 && change_iter_init(&it, list, len) == 0)
		while (change_iter_next(&it, &c) == 1)
			if (c.path_len > n && c.path[c.path_len - n - 1] ==
			    '/' && memcmp(c.path + c.path_len - n, p, n) == 0) {
				out_warn("%s: the job changed no such path, "
				    "but %s; paths begin at the root of the "
				    "tree", want, out_escape(c.path,
				    c.path_len));
				return;
			}
	out_warn("%s: the job changed no such path (errand diff lists them)",
	    want);
}

int
changes_wanted(const uint8_t *list, size_t len, char *const *want, int n)
{
	struct change_iter it;
	struct change c;
	int i, hit;

	for (i = 0; i < n; i++) {
		if (change_iter_init(&it, list, len) == -1)
			return (EXIT_OURS);
		for (hit = 0; !hit && change_iter_next(&it, &c) == 1;)
			hit = path_covers(want[i], &c);
		if (!hit) {
			say_unchanged(list, len, want[i]);
			return (EXIT_NO);
		}
	}
	return (0);
}

void
changes_say_ignored(const struct session *s, const struct job_record *rec)
{
	if (rec->changes.ignored == 0 || s->quiet || s->json)
		return;
	out_warn("%llu new path%s left out by ignore rules; run with "
	    "--artifact PATH to keep one, or --artifact . to keep all",
	    (unsigned long long)rec->changes.ignored,
	    rec->changes.ignored == 1 ? " was" : "s were");
}
