/*
 * Words to errandd, on descriptor 3, while the store is being opened.
 */
#include <sys/socket.h>

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/chan.h"
#include "proto/store_msg.h"
#include "word.h"

#define EXIT_SYSTEM     111

static const char damaged[] = "a file of the store was damaged under us: "
    "look at the disk, then make the index anew with \"errandctl store "
    "rebuild-index\"";

/* Made beforehand: a signal's handler can do no more than send it. */
static uint8_t last_packet[1024];
static ssize_t last_len;
static char last_line[sizeof(damaged) + 16];

static void
say(const struct store_msg *m)
{
	uint8_t buf[2048];
	ssize_t n;

	if ((n = store_msg_pack(m, buf, sizeof(buf))) != -1)
		(void)send(CHAN_FD, buf, (size_t)n,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
}

void
word_wait(const char *fmt, ...)
{
	struct store_msg m = { .op = STORE_WAIT };
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(m.u.wait.text, sizeof(m.u.wait.text), fmt, ap);
	va_end(ap);
	say(&m);
}

static void
trouble_fill(struct store_msg *m, const char *text)
{
	memset(m, 0, sizeof(*m));
	m->op = STORE_HELLO;
	m->u.hello.version = CHANNEL_VERSION;
	(void)snprintf(m->u.hello.software, sizeof(m->u.hello.software), "%s",
	    ERRAND_VERSION);
	(void)snprintf(m->u.hello.trouble, sizeof(m->u.hello.trouble), "%s",
	    text);
}

void
word_trouble(const char *text)
{
	struct store_msg m;

	trouble_fill(&m, text[0] != '\0' ? text : "it cannot be opened");
	say(&m);
}

static void
on_signal(int sig)
{
	(void)sig;
	if (last_len > 0)
		(void)send(CHAN_FD, last_packet, (size_t)last_len,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)!write(STDERR_FILENO, last_line, strlen(last_line));
	_exit(EXIT_SYSTEM);
}

void
word_on_signals(void)
{
	static const int signals[] = { SIGBUS, SIGSEGV, SIGABRT };
	struct sigaction sa = { .sa_handler = on_signal,
	    .sa_flags = (int)SA_RESETHAND };
	struct store_msg m;
	size_t i;

	trouble_fill(&m, damaged);
	last_len = store_msg_pack(&m, last_packet, sizeof(last_packet));
	(void)snprintf(last_line, sizeof(last_line), "store: %s\n", damaged);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], &sa, NULL);
}

void
word_over(void)
{
	last_len = 0;
}
