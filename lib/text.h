#ifndef ERRAND_TEXT_H
#define ERRAND_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Job ids: 16 characters of a-z2-7 (80 random bits), never interpreted. */
#define JOB_ID_LEN      16

/* Make a new job id (JOB_ID_LEN + 1 bytes). */
void text_job_id(char *);
int text_job_id_valid(const char *);

/* Tenant names: [a-z_][a-z0-9_-]{0,30}. */
#define TENANT_NAME_MAX 31
int text_tenant_valid(const char *);

/* Hexadecimal of ${n} bytes, NUL included (2n + 1 bytes of room). */
void text_hex(const void *, size_t, char *);
/* The reverse; the string must be exactly 2n digits.  0 or -1/EINVAL. */
int text_unhex(const char *, void *, size_t);

/* "90", "90s", "10m", "2h", "1d" to microseconds; "64K", "512M", "2G" to bytes;
 * "1.5" processors to thousandths.  0, or -1/EINVAL or ERANGE. */
int text_duration(const char *, uint64_t *);
int text_size(const char *, uint64_t *);
int text_cpus(const char *, uint32_t *);

/**
 * text_escape(buf, len, out, outlen):
 * Make bytes fit to show on a terminal: control bytes, invalid UTF-8, U+0080 to
 * U+009F and bidirectional controls become \xNN or \n, \t; a backslash is
 * doubled.  Always terminated; returns the length it needed.
 */
size_t text_escape(const void *, size_t, char *, size_t);
int text_utf8_valid(const void *, size_t);

/**
 * text_json(json, len):
 * The same JSON, to be freed, in which what text_escape does not let through
 * to a terminal stands as \\uNNNN.  NULL without memory.
 */
char *text_json(const char *, size_t);

/**
 * text_quote(word, out, outlen):
 * Write a word so that a shell reads it as one, and as it is.  Returns its
 * length, or -1 when there is no room, or it is no text for one line: control
 * bytes, a backslash, invalid UTF-8.
 */
int text_quote(const char *, char *, size_t);

/* 1234567 -> "1.2 MiB"; 1234567 us -> "1.23 s".  Static rings of 4. */
const char *text_bytes(uint64_t);
const char *text_us(uint64_t);

#endif /* !ERRAND_TEXT_H */
