/*
 * errand: the client.
 *
 * Theory of operation.  One process, one thread, one connection.  The command
 * line selects a row of the table below; the command finds the host
 * (state.c), connects (session.c, conn.c) and makes requests, each on a stream
 * of its own (proto/client_msg.h).  A tree is read by select.c (which names),
 * scan.c (their objects, with statcache.c so that unchanged files are not read
 * again) and sent by submit.c and upload.c; follow.c writes a job's output and
 * finds the host again when the connection is lost.  Nothing the host says is
 * believed before it was checked: objects by their ids, names by
 * lib/tree.c, text by escaping.
 */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "cmd.h"
#include "help.h"
#include "lib/log.h"
#include "out.h"
#include "proto/limits.h"

struct command {
	const char *name;
	int (*run)(int, char **);
};

static const struct command commands[] = {
	{ "run", cmd_run },
	{ "ls", cmd_ls },
	{ "ps", cmd_ps },
	{ "status", cmd_status },
	{ "logs", cmd_logs },
	{ "attach", cmd_attach },
	{ "wait", cmd_wait },
	{ "kill", cmd_kill },
	{ "diff", cmd_diff },
	{ "fetch", cmd_fetch },
	{ "receipt", cmd_receipt },
	{ "verify", cmd_verify },
	{ "info", cmd_info }
};

/*
 * Options before the command (--tenant, --on, --json) go with it: move the
 * command's name to the front.  Returns where it was, 0 when there is none.
 */
static int
find_command(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--tenant") == 0 ||
		    strcmp(argv[i], "--on") == 0)
			i++;
		else if (strncmp(argv[i], "--tenant=", 9) != 0 &&
		    strncmp(argv[i], "--on=", 5) != 0 &&
		    strcmp(argv[i], "--json") != 0 &&
		    strcmp(argv[i], "-q") != 0 && strcmp(argv[i], "-v") != 0)
			break;
	}
	return (i < argc && argv[i][0] != '-' ? i : 0);
}

static int
help(int argc, char **argv)
{
	if (argc > 3)
		return (out_usage("help takes one name of a command"));
	if (argc > 2 && !help_known(argv[2]))
		return (out_usage("%s: no such command", argv[2]));
	help_print(argc > 2 ? argv[2] : NULL);
	return (0);
}

static int
version(int argc)
{
	if (argc > 2)
		return (out_usage("--version takes no arguments"));
	printf("errand %s, protocol %d\n", ERRAND_VERSION, PROTO_VERSION);
	return (0);
}

/* getopt names its errors after the first argument. */
static int
run_command(const struct command *c, int argc, char **argv)
{
	static char name[32];

	snprintf(name, sizeof(name), "errand %s", c->name);
	argv[0] = name;
	return (c->run(argc, argv));
}

static int
dispatch(int argc, char **argv)
{
	char *name;
	size_t i;
	int at;

	if (argc < 2)
		return (out_usage("no command; to run one on the host: "
		    "errand -- COMMAND"));
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 ||
	    strcmp(argv[1], "-h") == 0)
		return (help(argc, argv));
	if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0)
		return (version(argc));
	if ((at = find_command(argc, argv)) == 0)
		return (cmd_run(argc, argv));
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, argv[at]) != 0)
			continue;
		name = argv[at];
		memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
		argv[1] = name;
		return (run_command(&commands[i], argc - 1, argv + 1));
	}
	return (out_usage("%s: no such command (to run it on the host: "
	    "errand -- %s)", argv[at], argv[at]));
}

int
main(int argc, char **argv)
{
	int rc;

	out_init("errand");
	log_init("errand", LOG_LEVEL_WARN);
	if (sodium_init() == -1)
		fatalx("sodium_init");
	rc = dispatch(argc, argv);
	return (out_flush() == 0 || rc != 0 ? rc : EXIT_OURS);
}
