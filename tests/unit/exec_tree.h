#ifndef ERRAND_TESTS_EXEC_TREE_H
#define ERRAND_TESTS_EXEC_TREE_H

/*
 * Trees for the tests of errand-exec, as text: one line per entry, sorted by
 * path, "KIND MODE PATH = CONTENT" where KIND is d, f or l.  Include after
 * objset.h.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "content.h"
#include "tree.h"

struct ttree {
	struct objset *store;
	char *text;
	size_t len;
	size_t cap;
	char path[4096];
};

static inline void
ttree_add(struct ttree *t, const char *s, size_t len)
{

	while (t->len + len + 1 > t->cap) {
		t->cap = t->cap * 2 + 1024;
		assert_non_null(t->text = realloc(t->text, t->cap));
	}
	memcpy(t->text + t->len, s, len);
	t->len += len;
	t->text[t->len] = '\0';
}

static inline int
ttree_piece(void *cookie, const uint8_t *buf, uint64_t len)
{

	if (buf == NULL)
		ttree_add(cookie, "<zeros>", 7);
	else
		ttree_add(cookie, (const char *)buf, (size_t)len);
	return (0);
}

static inline int
ttree_entry(void *cookie, const struct tree_entry *e)
{
	struct ttree *t = cookie;
	size_t at = strlen(t->path);
	char line[4400];

	(void)snprintf(t->path + at, sizeof(t->path) - at, "%s%.*s",
	    at == 0 ? "" : "/", (int)e->name_len, (const char *)e->name);
	(void)snprintf(line, sizeof(line), "%c %03o %s", " fdl"[e->kind],
	    e->mode, t->path);
	ttree_add(t, line, strlen(line));
	if (e->kind != TREE_DIR)
		ttree_add(t, " = ", 3);
	if (e->kind == TREE_LINK)
		ttree_add(t, (const char *)e->target, e->target_len);
	else if (e->kind == TREE_FILE)
		assert_int_equal(content_read(&e->ref, objset_get, t->store,
		    ttree_piece, t), 0);
	ttree_add(t, "\n", 1);
	if (e->kind == TREE_DIR)
		assert_int_equal(tree_read(&e->ref, objset_get, t->store,
		    ttree_entry, t), 0);
	t->path[at] = '\0';
	return (0);
}

/* The tree as text, to be freed. */
static inline char *
ttree_text(struct objset *store, const struct obj_ref *root)
{
	struct ttree t = { .store = store };

	ttree_add(&t, "", 0);
	if (root->kind != OBJ_NONE)
		assert_int_equal(tree_read(root, objset_get, store,
		    ttree_entry, &t), 0);
	return (t.text);
}

/* The changes as text, "A PATH" lines, to be freed; the digest is checked. */
static inline char *
ttree_changes(struct objset *store, const struct obj_ref *list,
    const uint8_t *digest)
{
	struct ttree t = { .store = store };
	struct ttree out = { .store = store };
	struct change_iter it;
	struct change_buf empty = { 0 };
	struct change c;
	uint8_t is[32];
	char line[4400];

	ttree_add(&t, "", 0);
	ttree_add(&out, "", 0);
	if (list->kind == OBJ_NONE) {
		assert_int_equal(change_buf_begin(&empty), 0);
		ttree_add(&t, (char *)empty.p, empty.len);
		free(empty.p);
	} else
		assert_int_equal(content_read(list, objset_get, store,
		    ttree_piece, &t), 0);
	change_digest(t.text, t.len, is);
	assert_memory_equal(is, digest, 32);
	assert_int_equal(change_iter_init(&it, t.text, t.len), 0);
	while (change_iter_next(&it, &c) == 1) {
		(void)snprintf(line, sizeof(line), "%c %.*s\n",
		    change_letter(c.op), (int)c.path_len,
		    (const char *)c.path);
		ttree_add(&out, line, strlen(line));
	}
	assert_null(it.why);
	free(t.text);
	return (out.text);
}

/*
 * Make a tree from such text.  A directory's entries follow it and begin with
 * its path.  A content that begins with "@" is that many bytes of 'x'.
 */
static inline struct obj_ref
ttree_make_below(struct objset *store, const char **p, const char *prefix)
{
	struct tree_builder *tb = tree_builder_new();
	size_t plen = strlen(prefix);
	struct tree_entry e;
	struct obj_ref ref;
	char path[1024], *big;
	const char *eol, *eq;

	assert_non_null(tb);
	for (; **p != '\0'; ) {
		memset(&e, 0, sizeof(e));
		eol = strchr(*p, '\n');
		eq = strstr(*p, " = ");
		if (eq == NULL || eq > eol)
			eq = eol;
		(void)snprintf(path, sizeof(path), "%.*s", (int)(eq - *p - 6),
		    *p + 6);
		if (strncmp(path, prefix, plen) != 0 ||
		    (plen > 0 && path[plen] != '/'))
			break;
		e.mode = (uint16_t)strtoul(*p + 2, NULL, 8);
		e.mtime_ns = INT64_C(1234567890123456789);
		e.name = (uint8_t *)path + plen + (plen > 0);
		e.name_len = (uint16_t)strlen((const char *)e.name);
		if (**p == 'd') {
			*p = eol + 1;
			e.kind = TREE_DIR;
			e.ref = ttree_make_below(store, p, path);
		} else {
			eq += 3;
			e.size = (uint64_t)(eol - eq);
			if (**p == 'l') {
				e.kind = TREE_LINK;
				e.target = (const uint8_t *)eq;
				e.target_len = (uint16_t)e.size;
			} else {
				e.kind = TREE_FILE;
				big = NULL;
				if (*eq == '@') {
					e.size = strtoul(eq + 1, NULL, 10);
					big = malloc(e.size);
					assert_non_null(big);
					lcg_fill((uint8_t *)big, e.size);
				}
				assert_int_equal(content_from_mem(big == NULL ?
				    eq : big, e.size, objset_put, store,
				    &e.ref), 0);
				free(big);
			}
			*p = eol + 1;
		}
		assert_int_equal(tree_builder_add(tb, &e), 0);
	}
	assert_int_equal(tree_builder_finish(tb, objset_put, store, &ref), 0);
	tree_builder_free(tb);
	return (ref);
}

static inline struct obj_ref
ttree_make(struct objset *store, const char *text)
{

	return (ttree_make_below(store, &text, ""));
}

#endif /* !ERRAND_TESTS_EXEC_TREE_H */
