/*
 * Progress on a terminal.  Writes to stderr only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/text.h"
#include "progress.h"

#define EVERY_US        100000

static int on;
static int shown;
static uint64_t last_us;

void
progress_init(int quiet)
{
	const char *term = getenv("TERM");

	on = !quiet && isatty(STDERR_FILENO) && term != NULL;
}

static int
due(void)
{
	uint64_t now;

	if (!on)
		return (0);
	now = io_mono_us();
	if (now - last_us < EVERY_US)
		return (0);
	last_us = now;
	shown = 1;
	return (1);
}

void
progress_scan(uint64_t files, uint64_t bytes)
{
	if (due())
		fprintf(stderr, "\rreading: %llu files, %s\033[K",
		    (unsigned long long)files, text_bytes(bytes));
}

void
progress_send(uint64_t sent, uint64_t total)
{
	if (due())
		fprintf(stderr, "\rsending: %s of %s\033[K", text_bytes(sent),
		    text_bytes(total));
}

void
progress_wait(const char *what)
{
	if (!on)
		return;
	fprintf(stderr, "\r%s\033[K", what);
	shown = 1;
}

void
progress_clear(void)
{
	if (shown)
		fprintf(stderr, "\r\033[K");
	shown = 0;
}
