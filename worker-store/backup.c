/*
 * `store backup`: the key and the packs as they are at one moment, as a stream.
 * Packs only grow, and none is taken away meanwhile; so their lengths at that
 * moment are the whole of it.  Reads files; before that, has a barrier run.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "care.h"
#include "index.h"
#include "index_pack.h"
#include "journal.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/memfd.h"
#include "lib/size.h"
#include "pack.h"
#include "proto/backup.h"
#include "proto/limits.h"
#include "rewrite.h"
#include "store.h"

struct file {
	char name[BACKUP_NAME];
	uint32_t pack;          /* 0: in bytes */
	uint64_t len;
};

/*
 * Invariants:
 *  1. Packs are held from open to free.
 *  2. file is the one that is being sent, at bytes of it have been, its header
 *     before them; after the last one comes the end.
 */
struct backup {
	struct store *st;
	struct file *files;
	size_t nfiles, cap;
	uint64_t total, done;
	size_t file;
	uint64_t at;
	int head;               /* its header has been sent */
	uint8_t *buf;
	size_t fill;
};

static int
file_add(struct backup *b, const char *name, uint32_t pack, uint64_t len)
{
	struct file *f;
	void *p;

	if ((p = size_grow(b->files, &b->cap, b->nfiles + 1,
	    sizeof(*b->files))) == NULL)
		return (-1);
	b->files = p;
	f = &b->files[b->nfiles++];
	memset(f, 0, sizeof(*f));
	(void)snprintf(f->name, sizeof(f->name), "%s", name);
	f->pack = pack;
	f->len = len;
	b->total += len;
	return (0);
}

static int
on_pack(void *cookie, const struct ix_pack *pack)
{
	char name[BACKUP_NAME];

	(void)snprintf(name, sizeof(name), "packs/%08" PRIu32 ".pack",
	    pack->number % 100000000);
	return (file_add(cookie, name, pack->number, pack->len));
}

static void
backup_free(void *task)
{
	struct backup *b = task;

	rewrite_release(b->st);
	free(b->files);
	free(b->buf);
	free(b);
}

/* Everything that was acknowledged by now is in the packs, and flushed. */
static int
settle(struct store *st)
{
	journal_drain(st->journal);
	return (batch_run(st->batch));
}

static void *
backup_open(struct store *st)
{
	struct backup *b;
	int rc = -1;

	if (settle(st) == -1)
		goto err0;
	if ((b = calloc(1, sizeof(*b))) == NULL)
		goto err0;
	b->st = st;
	rewrite_hold(st);
	if (NEW_ARRAY(b->buf, LIMIT_CARE_BYTES) == -1 ||
	    file_add(b, "key", 0, PACK_KEY_LEN) == -1 ||
	    file_add(b, "rebuild", 0, 0) == -1)
		goto err1;
	if (ix_read(st->ix) == 0)
		rc = ix_packs(st->ix, on_pack, b);
	ix_read_end(st->ix);
	if (rc == -1)
		goto err1;
	return (b);

err1:
	backup_free(b);
err0:
	return (NULL);
}

static void
head_put(struct backup *b, const char *name, uint64_t len)
{
	uint8_t *p = b->buf + b->fill;

	memset(p, 0, BACKUP_HEAD);
	memcpy(p, name, strlen(name));
	le_put64(p + BACKUP_NAME, len);
	b->fill += BACKUP_HEAD;
}

/* A pack that is shorter than it was is an error: no backup is made of it. */
static int
bytes_put(struct backup *b, const struct file *f)
{
	size_t len = LIMIT_CARE_BYTES - b->fill;
	uint8_t *p = b->buf + b->fill;
	ssize_t n;

	if (len > f->len - b->at)
		len = (size_t)(f->len - b->at);
	if (f->pack == 0)
		memcpy(p, packs_key(b->st->packs) + b->at, len);
	else if ((n = pack_pread(b->st->packs, f->pack, p, len, b->at)) == -1)
		return (-1);
	else if ((size_t)n != len) {
		log_warnx("pack %" PRIu32 " has less than the index counts "
		    "on: verify the store first", f->pack);
		errno = EIO;
		return (-1);
	}
	b->at += len;
	b->done += len;
	b->fill += len;
	return (0);
}

/* Fill the buffer.  1 when the end is in it, 0, or -1 with errno. */
static int
fill(struct backup *b)
{
	const struct file *f;

	b->fill = 0;
	while (b->fill <= LIMIT_CARE_BYTES - BACKUP_HEAD) {
		if (b->file == b->nfiles) {
			head_put(b, "", b->nfiles);
			return (1);
		}
		f = &b->files[b->file];
		if (!b->head)
			head_put(b, f->name, f->len);
		b->head = 1;
		if (bytes_put(b, f) == -1)
			return (-1);
		if (b->at < f->len)
			break;
		b->file++;
		b->at = 0;
		b->head = 0;
	}
	return (0);
}

static enum care_rc
backup_step(void *task, struct care *c, int *fd)
{
	struct backup *b = task;
	int rc;

	if ((rc = fill(b)) == -1 ||
	    (*fd = memfd_make("backup", b->buf, b->fill)) == -1)
		return (CARE_FAILED);
	c->bytes = (uint32_t)b->fill;
	c->at = b->done;
	c->total = b->total;
	if (rc == 0)
		return (CARE_SAY);
	care_figure(c, "files", b->nfiles);
	care_figure(c, "bytes", b->total);
	return (CARE_DONE);
}

const struct care_ops backup_ops = { backup_open, backup_step, backup_free };
