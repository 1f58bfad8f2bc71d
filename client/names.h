#ifndef ERRAND_NAMES_H
#define ERRAND_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Names of one directory. */
struct name {
	const char *s;          /* NUL terminated */
	uint16_t len;
	uint8_t dir_hint;       /* DT_DIR by the listing; checked by stat */
};

struct names {
	struct name *v;
	size_t n, cap;
	char *buf;
	size_t buf_len, buf_cap;
};

/* Append one; empty it but keep its memory; sort by bytes.  0 or -1. */
int names_add(struct names *, const char *, size_t, int isdir);
void names_reset(struct names *);
void names_sort(struct names *);

/* All names in a directory that was opened, but "." and "..".  0 or -1. */
int names_read(struct names *, int dirfd);
void names_done(struct names *);

#endif /* !ERRAND_NAMES_H */
