/*
 * What a forger would try with a receipt file.
 *
 *	receipt_tool every FILE KEY       change every byte, three ways each;
 *	                                  print how many were tried and how
 *	                                  many of them were accepted
 *	receipt_tool flip FILE AT OUT     change the byte at AT
 *	receipt_tool resign FILE OUT      make it say exit 0 and sign it with
 *	                                  a new key, which is printed
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "lib/io.h"
#include "lib/le.h"
#include "lib/text.h"
#include "proto/receipt.h"

#define FILE_MAX        (LIMIT_RECEIPT + 4 + LIMIT_SPEC)

static struct receipt rec;

static uint8_t *
load(const char *file, size_t *len)
{
	uint8_t *buf;

	if (io_file_read(AT_FDCWD, file, FILE_MAX, &buf, len) == -1)
		err(1, "%s", file);
	return (buf);
}

static void
save(const char *file, const void *buf, size_t len)
{
	FILE *f;

	if ((f = fopen(file, "w")) == NULL || fwrite(buf, 1, len, f) != len ||
	    fclose(f) != 0)
		err(1, "%s", file);
}

static int
accepted(const uint8_t *buf, size_t len, const uint8_t *key)
{
	const char *why;
	int ok;

	ok = receipt_open(buf, len, key, &rec, &why) == 0;
	receipt_done(&rec);
	return (ok);
}

static void
key_arg(const char *hex, uint8_t key[32])
{
	if (text_unhex(hex, key, 32) == -1)
		errx(2, "a key is 64 hexadecimal digits");
}

static int
do_every(char **a)
{
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	size_t len, i, j, tried = 0, taken = 0;
	uint8_t key[32], *buf = load(a[0], &len);

	key_arg(a[1], key);
	if (!accepted(buf, len, key))
		errx(1, "it does not verify as it is");
	for (i = 0; i < len; i++)
		for (j = 0; j < sizeof(masks); j++) {
			buf[i] ^= masks[j];
			taken += (size_t)accepted(buf, len, key);
			buf[i] ^= masks[j];
			tried++;
		}
	/* Shorter and longer ones too. */
	for (i = 0; i < len; i++, tried++)
		taken += (size_t)accepted(buf, i, key);
	if ((buf = realloc(buf, len + 1)) == NULL)
		err(1, "realloc");
	buf[len] = 0;
	taken += (size_t)accepted(buf, len + 1, key);
	printf("%zu bytes, %zu tried, %zu accepted\n", len, tried + 1, taken);
	free(buf);
	return (0);
}

static int
do_flip(char **a)
{
	size_t len, at = strtoul(a[1], NULL, 10);
	uint8_t *buf = load(a[0], &len);

	buf[at % len] ^= 0x20;
	save(a[2], buf, len);
	free(buf);
	return (0);
}

static int
do_resign(char **a)
{
	uint8_t pk[32], sk[64], *buf, *out, *spec;
	const char *why;
	char hex[65];
	size_t len, slen;
	ssize_t n;

	buf = load(a[0], &len);
	if (receipt_open(buf, len, NULL, &rec, &why) == -1)
		errx(1, "%s", why);
	crypto_sign_keypair(pk, sk);
	receipt_key_id(pk, rec.host_key_id);
	rec.exit_code = 0;
	if ((out = malloc(FILE_MAX)) == NULL ||
	    (n = receipt_sign(&rec, sk, out, LIMIT_RECEIPT)) == -1 ||
	    job_spec_pack(&rec.spec, &spec, &slen) == -1)
		err(1, "sign");
	le_put32(out + n, (uint32_t)slen);
	memcpy(out + n + 4, spec, slen);
	save(a[1], out, (size_t)n + 4 + slen);
	text_hex(pk, sizeof(pk), hex);
	printf("%s\n", hex);
	receipt_done(&rec);
	free(buf);
	free(out);
	free(spec);
	return (0);
}

static const struct {
	const char *name;
	int args;
	int (*fn)(char **);
} commands[] = {
	{ "every", 2, do_every }, { "flip", 3, do_flip },
	{ "resign", 2, do_resign },
};

int
main(int argc, char **argv)
{
	size_t i;

	if (sodium_init() == -1)
		errx(1, "sodium_init");
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (argc > 1 && strcmp(commands[i].name, argv[1]) == 0 &&
		    argc == commands[i].args + 2)
			return (commands[i].fn(argv + 2));
	errx(2, "usage: receipt_tool every FILE KEY | flip FILE AT OUT | "
	    "resign FILE OUT");
}
