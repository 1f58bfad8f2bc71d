/*
 * errandctl: the operator's client.
 *
 * Theory of operation.  Talks to the control socket of errandd, which only
 * root and the admin group can open; the connection is served by an
 * errand-snapshot like any other, with the right to make ADMIN requests.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "ctl.h"
#include "lib/log.h"
#include "out.h"
#include "proto/limits.h"
#include "state.h"

static const char usage_text[] =
"usage: errandctl [-s SOCKET] [--json] COMMAND\n"
"\n"
"  status                          processes, queue, store, what holds here\n"
"  doctor                          what this host lacks, and how to mend it\n"
"  tenant list\n"
"  tenant show NAME\n"
"  tenant add NAME [--uid U]... [--slots N] [--cpus N] [--memory SIZE]\n"
"             [--pids N] [--disk SIZE] [--timeout DUR] [--cpu-time DUR]\n"
"             [--log SIZE] [--changes N] [--net none|host]\n"
"             [--store SIZE] [--objects N] [--jobs N] [--logs SIZE]\n"
"             [--keep DUR] [--cache-size SIZE] [--cache-total SIZE]\n"
"  tenant set NAME ...             the same options; 0 is the default again\n"
"  cache list [TENANT]             saved caches of jobs\n"
"  cache rm TENANT PROJECT/NAME... remove them; --all: all of the tenant's\n"
"  store stat                      what it holds, on what, and how full\n"
"  store gc                        collect what nothing holds any more\n"
"  store verify [--repair]         read everything; mend what can be\n"
"  store rebuild-index             make the index anew from the packs\n"
"  store backup DIR                a copy, while it serves, into a new DIR\n"
"\n"
"SOCKET is the path of the control socket; default: ERRAND_CONTROL, then\n"
RUNDIR "/control.sock, then the private daemon's.\n";

static const struct option longs[] = {
	{ "socket", required_argument, NULL, 's' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

struct command {
	const char *name;
	int (*run)(struct session *, int, char **);
};

static const struct command commands[] = {
	{ "doctor", ctl_doctor },
	{ "status", ctl_status },
	{ "tenant", ctl_tenant },
	{ "cache", ctl_cache },
	{ "store", ctl_store }
};

/* The system's daemon where there is one, else this user's private one. */
static const char *
default_socket(char *path)
{
	char *slash, why[LIMIT_TEXT];

	if (access(RUNDIR "/control.sock", F_OK) == 0 || getuid() == 0)
		return (RUNDIR "/control.sock");
	if (state_private_addr(path, why) == -1) {
		out_warn("%s", why);
		return (NULL);
	}
	if ((slash = strrchr(path, '/')) != NULL)
		snprintf(slash, 16, "/control.sock");
	return (path);
}

/* 0, or an exit code plus one. */
static int
options(int argc, char **argv, struct session *s, const char **sock)
{
	int c;

	while ((c = getopt_long(argc, argv, "+s:hV", longs, NULL)) != -1) {
		if (c == 's')
			*sock = optarg;
		else if (c == 'j')
			s->json = 1;
		else if (c == 'h') {
			fputs(usage_text, stdout);
			return (1);
		} else if (c == 'V') {
			printf("errandctl %s, protocol %d\n", ERRAND_VERSION,
			    PROTO_VERSION);
			return (1);
		} else
			return (1 + out_hint());
	}
	return (0);
}

int
main(int argc, char **argv)
{
	struct session s = { 0 };
	const char *sock = getenv("ERRAND_CONTROL");
	char path[PATH_MAX + 16];
	size_t i;
	int rc;

	out_init("errandctl");
	log_init("errandctl", LOG_LEVEL_WARN);
	if (sodium_init() == -1)
		fatalx("sodium_init");
	if ((rc = options(argc, argv, &s, &sock)) != 0)
		return (rc - 1);
	argc -= optind;
	argv += optind;
	if (argc == 0) {
		fputs(usage_text, stderr);
		return (EXIT_USAGE);
	}
	if (sock == NULL || *sock == '\0')
		sock = default_socket(path);
	if (sock == NULL)
		return (EXIT_NO);
	if (snprintf(s.addr, sizeof(s.addr), "unix:%s", strncmp(sock,
	    "unix:", 5) == 0 ? sock + 5 : sock) >= (int)sizeof(s.addr))
		return (out_usage("-s: the path is too long"));
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, argv[0]) == 0) {
			rc = commands[i].run(&s, argc, argv);
			session_close(&s);
			return (out_flush() == 0 ? rc : EXIT_OURS);
		}
	return (out_usage("%s: no such command", argv[0]));
}
