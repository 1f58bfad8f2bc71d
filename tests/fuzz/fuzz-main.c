/*
 * An ordinary main for the fuzz harnesses: give them every file of the
 * directories and files named as arguments, then a bounded number of inputs
 * made from those by a generator whose seed is printed.
 *
 *	FUZZ_SEED	seed, decimal
 *	FUZZ_RUNS	how many inputs to make (2000)
 *	FUZZ_SAVE	file to which each one is written before it is tried
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INPUTS_MAX      4096
#define INPUT_MAX       (1024 * 1024)
#define SECONDS_MAX     20

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct input {
	uint8_t *buf;
	size_t len;
};

static struct input inputs[INPUTS_MAX];
static size_t ninputs;
static uint64_t state;

/* xorshift64*: the same numbers everywhere. */
static uint64_t
rnd(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return ((state * UINT64_C(2685821657736338717) >> 11) % below);
}

static void
die(const char *what)
{
	fprintf(stderr, "fuzz-main: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
load_file(const char *path)
{
	struct input *in = &inputs[ninputs];
	FILE *f;

	if (ninputs == INPUTS_MAX)
		return;
	if ((f = fopen(path, "rb")) == NULL)
		die(path);
	if ((in->buf = malloc(INPUT_MAX)) == NULL)
		die("malloc");
	in->len = fread(in->buf, 1, INPUT_MAX, f);
	fclose(f);
	/* Exactly as long as the input, so that a sanitizer sees overruns. */
	if ((in->buf = realloc(in->buf, in->len + !in->len)) == NULL)
		die("realloc");
	ninputs++;
}

static int
visible(const struct dirent *d)
{
	return (d->d_name[0] != '.');
}

static void
load(const char *path)
{
	struct dirent **names;
	struct stat st;
	char sub[4096];
	int i, n;

	if (stat(path, &st) == -1) {
		if (errno == ENOENT)
			return;         /* no corpus yet */
		die(path);
	}
	if (!S_ISDIR(st.st_mode)) {
		load_file(path);
		return;
	}
	if ((n = scandir(path, &names, visible, alphasort)) == -1)
		die(path);
	for (i = 0; i < n; i++) {
		snprintf(sub, sizeof(sub), "%s/%s", path, names[i]->d_name);
		load_file(sub);
		free(names[i]);
	}
	free(names);
}

/* Move the end of the input by inserting or removing a stretch. */
static size_t
stretch(uint8_t *buf, size_t len, size_t cap)
{
	size_t at = rnd(len + 1), n = 1 + rnd(16), i;

	if (rnd(2) == 0) {
		if (n > len - at)
			n = len - at;
		memmove(buf + at, buf + at + n, len - at - n);
		return (len - n);
	}
	if (n > cap - len)
		n = cap - len;
	memmove(buf + at + n, buf + at, len - at);
	for (i = 0; i < n; i++)
		buf[at + i] = (uint8_t)rnd(256);
	return (len + n);
}

/* Follow the beginning with the end of another input. */
static size_t
splice(uint8_t *buf, size_t len, size_t cap)
{
	const struct input *in = &inputs[rnd(ninputs)];
	size_t at = rnd(len + 1), from = rnd(in->len + 1), n;

	n = in->len - from;
	if (n > cap - at)
		n = cap - at;
	memcpy(buf + at, in->buf + from, n);
	return (at + n);
}

static size_t
mutate(uint8_t *buf, size_t len, size_t cap)
{
	static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xfe, 0xff };

	switch (rnd(5)) {
	case 0:
		if (len > 0)
			buf[rnd(len)] ^= (uint8_t)(1u << rnd(8));
		return (len);
	case 1:
		if (len > 0)
			buf[rnd(len)] = odd[rnd(sizeof(odd))];
		return (len);
	case 2:
		return (rnd(len + 1));
	case 3:
		return (ninputs > 0 ? splice(buf, len, cap) : len);
	default:
		return (stretch(buf, len, cap));
	}
}

static void
save(const char *path, const uint8_t *buf, size_t len)
{
	FILE *f;

	if ((f = fopen(path, "wb")) == NULL ||
	    fwrite(buf, 1, len, f) != len || fclose(f) != 0)
		die(path);
}

static void
try_one(void)
{
	const char *path = getenv("FUZZ_SAVE");
	const struct input *in = ninputs > 0 ? &inputs[rnd(ninputs)] : NULL;
	size_t len = in != NULL ? in->len : 0, cap = len + 256, n;
	uint8_t *buf, *exact;

	if ((buf = malloc(cap)) == NULL)
		die("malloc");
	if (len > 0)
		memcpy(buf, in->buf, len);
	for (n = 1 + rnd(8); n > 0; n--)
		len = mutate(buf, len, cap);
	if ((exact = realloc(buf, len + !len)) == NULL)
		die("realloc");
	if (path != NULL)
		save(path, exact, len);
	(void)LLVMFuzzerTestOneInput(exact, len);
	free(exact);
}

static uint64_t
number(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return (s == NULL ? otherwise : strtoull(s, NULL, 10));
}

int
main(int argc, char **argv)
{
	uint64_t runs = number("FUZZ_RUNS", 2000), done, seed;
	time_t end = time(NULL) + SECONDS_MAX;
	size_t i;
	int a;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (a = 1; a < argc; a++)
		load(argv[a]);
	printf("1..2\n");
	for (i = 0; i < ninputs; i++)
		(void)LLVMFuzzerTestOneInput(inputs[i].buf, inputs[i].len);
	printf("ok 1 - %zu inputs of the corpus\n", ninputs);

	seed = number("FUZZ_SEED", 1);
	printf("# FUZZ_SEED=%llu\n", (unsigned long long)seed);
	state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	for (done = 0; done < runs && time(NULL) < end; done++)
		try_one();
	printf("ok 2 - %llu made inputs\n", (unsigned long long)done);
	for (i = 0; i < ninputs; i++)
		free(inputs[i].buf);
	return (0);
}
