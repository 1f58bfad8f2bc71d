/*
 * What a job changed, once all of it is dead.  Reads the job's upper directory
 * with the tenant's rights and puts objects on the job's store channel; writes
 * no file.  The comparison itself is in collect_walk.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "collect_internal.h"
#include "keeper_internal.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/client_msg.h"
#include "storeclient.h"

void
collect_lack(struct collect *c, const char *fmt, ...)
{
	char text[160], path[256];
	va_list ap;

	if (c->why[0] != '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (c->path_len == 0) {
		(void)snprintf(c->why, sizeof(c->why), "%s", text);
		return;
	}
	/* The end of a long path says more than its head. */
	text_escape(c->path_len > 60 ? c->path + c->path_len - 60 : c->path,
	    c->path_len > 60 ? 60 : c->path_len, path, sizeof(path));
	(void)snprintf(c->why, sizeof(c->why), "%s (%s%.80s)", text,
	    c->path_len > 60 ? "..." : "", path);
}

int
collect_fail(struct collect *c)
{

	if (c->err == 0)
		c->err = errno == 0 ? EIO : errno;
	c->stop = 1;
	return (-1);
}

int
collect_record(struct collect *c, int op, const struct tree_entry *e)
{
	struct change ch = { .op = (uint8_t)op };

	if ((c->limit != 0 && c->records.n >= c->limit) ||
	    c->records.text_len > LIMIT_CHANGES_BYTES / 2 ||
	    c->records.n > LIMIT_CHANGES_BYTES / 256) {
		c->path_len = 0;
		collect_lack(c, "there are more than %zu changes",
		    c->records.n);
		c->over = c->stop = 1;
		return (-1);
	}
	ch.path = (const uint8_t *)c->path;
	ch.path_len = (uint16_t)c->path_len;
	if (e != NULL) {
		ch.kind = e->kind;
		ch.mode = e->mode;
		ch.size = e->size;
		ch.mtime_ns = e->mtime_ns;
		ch.ref = e->ref;
		ch.target = e->target;
		ch.target_len = e->target_len;
		if (op != CHANGE_MODE && e->kind == TREE_FILE)
			c->bytes += e->size;
	}
	return (records_add(&c->records, &ch) == -1 ? collect_fail(c) : 0);
}

/* Encode and put the list.  An empty one is not kept, only its digest. */
static int
list_put(struct collect *c, struct job_changes *out)
{
	struct change_buf buf;
	int rc = 0;

	if (records_encode(&c->records, &buf) == -1)
		return (collect_fail(c));
	change_digest(buf.p, buf.len, out->digest);
	out->count = c->records.n;
	out->ignored = c->ignored;
	out->bytes = c->bytes;
	if (out->count > 0) {
		out->list_bytes = buf.len;
		rc = content_from_mem(buf.p, buf.len, storeclient_put, c->sc,
		    &out->list);
	}
	free(buf.p);
	if (rc == -1 || storeclient_flush(c->sc) == -1)
		return (collect_fail(c));
	return (0);
}

static void
fault(struct keeper *k, const struct collect *c)
{
	struct err err;

	memset(&err, 0, sizeof(err));
	if (c->err == EREMOTEIO)
		err = *storeclient_error(c->sc);
	else
		(void)err_set(&err, c->err == ENOSPC ? ERR_FULL : ERR_IO,
		    "the changes could not be collected: %s",
		    strerror(c->err));
	(void)keeper_fault(k, &err);
	memset(&k->result.changes, 0, sizeof(k->result.changes));
}

/* What is missing is no fault of ours; it is said all the same. */
static void
incomplete(struct keeper *k, const struct collect *c)
{
	struct job_result *r = &k->result;

	memset(&r->changes.root, 0, sizeof(r->changes.root));
	if (c->over && r->limit == JOB_LIMIT_NONE)
		r->limit = JOB_LIMIT_CHANGES;
	if (r->err.code == ERR_NONE && r->err.text[0] == '\0')
		(void)snprintf(r->err.text, sizeof(r->err.text),
		    "changes: incomplete: %s", c->why);
	log_info("job %s: changes incomplete: %s", k->run->job, c->why);
}

static void
upper(struct keeper *k, struct collect *c)
{
	struct job_changes *out = &k->result.changes;

	(void)collect_walk(c, &k->run->root, &out->root);
	if (c->err == 0)
		(void)list_put(c, out);
	k->result.usage.disk_bytes = c->disk;
	if (c->skipped > 0)
		log_info("job %s: %" PRIu64 " special files are not collected",
		    k->run->job, c->skipped);
	if (c->err != 0) {
		fault(k, c);
		return;
	}
	out->complete = c->why[0] == '\0';
	if (!out->complete)
		incomplete(k, c);
}

void
collect(struct keeper *k)
{
	struct collect c = { .sc = k->sc, .keep = k->keep,
	    .limit = k->run->limits.changes,
	    .dir = -1 };

	if (k->jobdir == -1) {
		/* It never had a workspace. */
		k->result.changes.root = k->run->root;
		return;
	}
	c.dir = collect_open(k->data, "upper", S_IFDIR, O_DIRECTORY);
	if (c.dir == -1) {
		(void)collect_fail(&c);
		fault(k, &c);
	} else
		upper(k, &c);
	io_close(&c.dir);
	records_done(&c.records);
	free(c.links.v);
	free(c.path);
}
