/*
 * forge SOCKET KIND: speak the protocol well, and send a tree that must not
 * be.  Prints what came of it: "refused: TEXT", "lost: TEXT" when the
 * connection was, or "accepted JOB".  `forge -l` lists the kinds.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/conn.h"
#include "client/follow.h"
#include "client/upload.h"
#include "lib/content.h"
#include "lib/le.h"
#include "lib/object.h"
#include "lib/tree.h"
#include "proto/job_types.h"

struct leaf {
	uint8_t p[OBJ_MAX];
	size_t len;
	uint32_t count;
};

struct forge {
	struct conn *c;
	struct upload *u;
	struct obj_ref root;
	struct leaf leaf;
};

static void
begin(struct leaf *l)
{
	memcpy(l->p, "ET\1\0\0\0\0\0", 8);
	l->len = 8;
	l->count = 0;
}

/* An entry with whatever there is to be wrong about it. */
static void
entry(struct leaf *l, uint8_t kind, uint16_t mode, uint64_t size,
    const char *name, size_t nlen)
{
	uint8_t *p = l->p + l->len;

	p[0] = kind;
	le_put16(p + 1, mode);
	le_put64(p + 3, size);
	le_put64(p + 11, 0);
	le_put16(p + 19, (uint16_t)nlen);
	memcpy(p + 21, name, nlen);
	l->len += 21 + nlen;
	l->count++;
}

static void
entry_ref(struct leaf *l, const struct obj_ref *ref)
{
	l->p[l->len++] = ref->kind;
	if (ref->kind == OBJ_NONE)
		return;
	memcpy(l->p + l->len, ref->id, OBJ_ID_LEN);
	l->len += OBJ_ID_LEN;
}

/* An empty file of that name. */
static void
file(struct leaf *l, const char *name, size_t nlen)
{
	const struct obj_ref none = { 0 };

	entry(l, TREE_FILE, 0644, 0, name, nlen);
	entry_ref(l, &none);
}

static void
put(struct forge *f, enum obj_kind kind, const void *buf, size_t len,
    struct obj_ref *ref)
{
	if (obj_ref_of(kind, buf, len, ref) == -1 ||
	    upload_object(f->u, ref, buf, len) == -1)
		errx(1, "cannot send");
}

static void
put_leaf(struct forge *f, struct obj_ref *ref)
{
	le_put32(f->leaf.p + 4, f->leaf.count);
	put(f, OBJ_TREE, f->leaf.p, f->leaf.len, ref);
}

static void
one_name(struct forge *f, const char *name, size_t len)
{
	begin(&f->leaf);
	file(&f->leaf, name, len);
	put_leaf(f, &f->root);
}

static void k_dotdot(struct forge *f) { one_name(f, "..", 2); }
static void k_dot(struct forge *f) { one_name(f, ".", 1); }
static void k_empty(struct forge *f) { one_name(f, "", 0); }
static void k_slash(struct forge *f) { one_name(f, "a/../../b", 9); }
static void k_absolute(struct forge *f) { one_name(f, "/etc/passwd", 11); }
static void k_nul(struct forge *f) { one_name(f, "a\0b", 3); }
static void k_git(struct forge *f) { one_name(f, ".GiT", 4); }

static void
k_long(struct forge *f)
{
	char name[300];

	memset(name, 'n', sizeof(name));
	one_name(f, name, sizeof(name));
}

static void
k_twice(struct forge *f)
{
	begin(&f->leaf);
	file(&f->leaf, "a", 1);
	file(&f->leaf, "a", 1);
	put_leaf(f, &f->root);
}

static void
k_order(struct forge *f)
{
	begin(&f->leaf);
	file(&f->leaf, "b", 1);
	file(&f->leaf, "a", 1);
	put_leaf(f, &f->root);
}

static void
k_setuid(struct forge *f)
{
	const struct obj_ref none = { 0 };

	begin(&f->leaf);
	entry(&f->leaf, TREE_FILE, 04755, 0, "s", 1);
	entry_ref(&f->leaf, &none);
	put_leaf(f, &f->root);
}

static void
k_kind(struct forge *f)
{
	const struct obj_ref none = { 0 };

	begin(&f->leaf);
	entry(&f->leaf, 9, 0644, 0, "device", 6);
	entry_ref(&f->leaf, &none);
	put_leaf(f, &f->root);
}

/* A file that says it is larger than its content. */
static void
k_size(struct forge *f)
{
	struct obj_ref chunk;

	put(f, OBJ_CHUNK, "12345", 5, &chunk);
	begin(&f->leaf);
	entry(&f->leaf, TREE_FILE, 0644, 6, "f", 1);
	entry_ref(&f->leaf, &chunk);
	put_leaf(f, &f->root);
}

/* A directory that is the content of a file. */
static void
k_confused(struct forge *f)
{
	struct obj_ref chunk;

	put(f, OBJ_CHUNK, "ET\1\0\0\0\0\0", 8, &chunk);
	begin(&f->leaf);
	entry(&f->leaf, TREE_DIR, 0755, 0, "d", 1);
	entry_ref(&f->leaf, &chunk);
	put_leaf(f, &f->root);
}

static void
k_cut(struct forge *f)
{
	begin(&f->leaf);
	file(&f->leaf, "a", 1);
	f->leaf.len -= 3;
	put_leaf(f, &f->root);
}

static void
k_more(struct forge *f)
{
	begin(&f->leaf);
	file(&f->leaf, "a", 1);
	memcpy(f->leaf.p + f->leaf.len, "tail", 4);
	f->leaf.len += 4;
	put_leaf(f, &f->root);
}

static void
k_count(struct forge *f)
{
	begin(&f->leaf);
	file(&f->leaf, "a", 1);
	f->leaf.count = UINT32_MAX;
	put_leaf(f, &f->root);
}

static void
k_noise(struct forge *f)
{
	randombytes_buf(f->leaf.p, 1000);
	put(f, OBJ_TREE, f->leaf.p, 1000, &f->root);
}

/* Good bytes under an id that is not theirs. */
static void
k_hash(struct forge *f)
{
	begin(&f->leaf);
	file(&f->leaf, "a", 1);
	le_put32(f->leaf.p + 4, 1);
	if (obj_ref_of(OBJ_TREE, f->leaf.p, f->leaf.len, &f->root) == -1)
		errx(1, "obj_ref_of");
	f->root.id[7] ^= 1;
	if (upload_object(f->u, &f->root, f->leaf.p, f->leaf.len) == -1)
		errx(1, "cannot send");
}

/* A link target with a NUL, which a C string would end at. */
static void
k_target(struct forge *f)
{
	begin(&f->leaf);
	entry(&f->leaf, TREE_LINK, 0777, 3, "l", 1);
	memcpy(f->leaf.p + f->leaf.len, "\3\0a\0b", 5);
	f->leaf.len += 5;
	put_leaf(f, &f->root);
}

/* A tree of which a part never comes. */
static void
k_missing(struct forge *f)
{
	struct obj_ref ref = { .kind = OBJ_TREE };

	randombytes_buf(ref.id, sizeof(ref.id));
	begin(&f->leaf);
	entry(&f->leaf, TREE_DIR, 0755, 0, "d", 1);
	entry_ref(&f->leaf, &ref);
	put_leaf(f, &f->root);
}

/* Deeper than any may be: 5,000 directories below one another. */
static void
k_deep(struct forge *f)
{
	int i;

	begin(&f->leaf);
	put_leaf(f, &f->root);
	for (i = 0; i < 5000; i++) {
		begin(&f->leaf);
		entry(&f->leaf, TREE_DIR, 0755, 0, "d", 1);
		entry_ref(&f->leaf, &f->root);
		put_leaf(f, &f->root);
	}
}

/* What is right is taken: the others are refused for what is wrong. */
static void k_right(struct forge *f) { one_name(f, "..a", 3); }

static const struct kind {
	const char *name;
	void (*fn)(struct forge *);
} kinds[] = {
	{ "dotdot", k_dotdot }, { "dot", k_dot }, { "empty", k_empty },
	{ "slash", k_slash }, { "absolute", k_absolute }, { "nul", k_nul },
	{ "git", k_git }, { "long", k_long }, { "twice", k_twice },
	{ "order", k_order }, { "setuid", k_setuid }, { "kind", k_kind },
	{ "size", k_size }, { "confused", k_confused }, { "cut", k_cut },
	{ "more", k_more }, { "count", k_count }, { "noise", k_noise },
	{ "hash", k_hash }, { "target", k_target }, { "missing", k_missing },
	{ "deep", k_deep }, { "right", k_right },
};
#define NKINDS  (sizeof(kinds) / sizeof(kinds[0]))

static int
spec_put(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	return (upload_object(cookie, ref, buf, len));
}

static void
submit(struct forge *f, struct follow *fl)
{
	static char cmd[] = "true", top[] = "";
	char *argv[] = { cmd, NULL };
	struct job_spec sp = { .argc = 1, .argv = argv, .workdir = top };
	struct client_open o = { .verb = CLIENT_SUBMIT };
	uint8_t *buf;
	size_t len;

	if (job_spec_pack(&sp, &buf, &len) == -1 || content_from_mem(buf, len,
	    spec_put, f->u, &o.submit.spec) == -1 || upload_end(f->u) == -1)
		return;
	o.submit.spec_len = len;
	o.submit.root = f->root;
	o.submit.detach = 1;
	fl->detach = 1;
	randombytes_buf(o.submit.idem, sizeof(o.submit.idem));
	fl->stream = conn_request(f->c, &o, follow_frame, fl);
	if (fl->stream != 0)
		(void)conn_end(f->c, fl->stream);
	while (fl->state == FOLLOW_WAIT && conn_pump(f->c, -1) == 0)
		continue;
	free(buf);
}

static int
say(const struct forge *f, const struct follow *fl)
{
	if (upload_done(f->u) == -1 && upload_err(f->u)->code != ERR_IO)
		printf("refused: %s\n", upload_err(f->u)->text);
	else if (fl->state == FOLLOW_ERROR)
		printf("refused: %s\n", fl->err.text);
	else if (fl->state == FOLLOW_NEED)
		printf("refused: objects are missing\n");
	else if (conn_lost(f->c))
		printf("lost: %s\n", conn_err(f->c) != NULL ?
		    conn_err(f->c)->text : conn_why(f->c));
	else
		printf("accepted %s\n", fl->record.id);
	return (0);
}

int
main(int argc, char **argv)
{
	static struct forge f;
	static struct session s;
	static struct follow fl;
	char addr[4096], why[LIMIT_TEXT];
	size_t i;

	if (argc == 2 && strcmp(argv[1], "-l") == 0) {
		for (i = 0; i < NKINDS; i++)
			puts(kinds[i].name);
		return (0);
	}
	if (argc != 3 || sodium_init() == -1)
		errx(2, "usage: forge SOCKET KIND");
	snprintf(addr, sizeof(addr), "unix:%s", argv[1]);
	if ((f.c = conn_open(addr, NULL, why)) == NULL)
		errx(1, "%s", why);
	if (conn_hello(f.c) == NULL || (f.u = upload_new(f.c)) == NULL)
		errx(1, "%s", conn_why(f.c));
	s.c = f.c;
	fl.s = &s;
	for (i = 0; i < NKINDS; i++)
		if (strcmp(kinds[i].name, argv[2]) == 0) {
			kinds[i].fn(&f);
			submit(&f, &fl);
			return (say(&f, &fl));
		}
	errx(2, "%s: no such kind", argv[2]);
}
