/*
 * Help texts.  The manual errand(1) says more.
 */
#include <stdio.h>
#include <string.h>

#include "help.h"

struct help {
	const char *name;
	const char *text;
};

static const char overview[] =
"usage: errand [run] [options] -- COMMAND [ARGUMENT...]\n"
"       errand COMMAND [options] [JOB]\n"
"\n"
"Run a command on a shared host with the tree you have now, and get the\n"
"result back.\n"
"\n"
"  run       snapshot, submit, follow; exits as the command did\n"
"  ls        what would be sent\n"
"  ps        my jobs: active ones, or all with -a\n"
"  status    one job in full\n"
"  logs      its output; -f follows\n"
"  attach    output from the start, then follow; exits as run does\n"
"  wait      until jobs have ended\n"
"  kill      end jobs\n"
"  diff      what a job changed\n"
"  fetch     the changed files into a new directory, or into the tree\n"
"  receipt   the signed receipt\n"
"  verify    check a receipt, offline\n"
"  info      the host and what I may use of it\n"
"\n"
"JOB is an id, a label, a unique prefix of at least 4 characters, or last.\n"
"Every command has --help; all take --on ADDRESS, --tenant NAME (root only)\n"
"and --json.  ERRAND_HOST=unix:PATH names the host.\n";

static const struct help helps[] = {
{ "run",
"usage: errand [run] [options] -- COMMAND [ARGUMENT...]\n"
"\n"
"  -d, --detach          return when the job is durable; print its id\n"
"  -C, --root DIR        root of the tree (default: the Git work tree's top,\n"
"                        else the nearest directory with .errandignore)\n"
"  -w, --workdir DIR     where to run, inside the tree (default: here)\n"
"      --no-snapshot     an empty workspace\n"
"      --include-all     everything, ignored or not (never .git)\n"
"  -n, --dry-run         what would be sent, what the host lacks; no job\n"
"      --strict          refuse when files change while they are read\n"
"      --artifact PATH   keep what the job makes there, although ignored\n"
"      --cache NAME=PATH a directory that is kept between the tree's jobs\n"
"      --apply           on success, apply the changes here\n"
"  -i, --stdin           send the standard input\n"
"  -t, --tty             a terminal (Ctrl-\\ detaches)\n"
"  -e, --env NAME=VALUE  set a variable; --passenv NAME sends the caller's,\n"
"                        --env-file FILE those of a file\n"
"      --cpus N --memory SIZE --pids N --disk SIZE\n"
"      --timeout DUR --cpu-time DUR\n"
"                        limits, within the tenant's (sizes 64K, 512M, 2G;\n"
"                        durations 90, 90s, 10m, 2h)\n"
"      --net none|host   network (default: none but loopback)\n"
"      --image NAME      an image of the host instead of its own files\n"
"                        (errand info lists them)\n"
"      --as-root         uid 0 inside the sandbox\n"
"      --name LABEL      a name for the job\n"
"      --id ID           idempotency id: the same id is the same job\n"
"  -q, -v, --json        less, more, machine-readable events on stderr\n" },
{ "ls",
"usage: errand ls [-C DIR] [--include-all] [-z] [--json]\n"
"       errand ls --digest | --explain PATH\n"
"\n"
"List what would be sent, one path a line, directories with a final slash.\n"
"  --digest              the content digest of the tree: the same for equal\n"
"                        trees on every machine, whatever the times are\n"
"  --explain PATH        is it sent, and which rule of which file decides?\n"
"  -z                    end each with NUL, unescaped\n" },
{ "ps",
"usage: errand ps [-a] [-n N] [--json]\n"
"\n"
"  -a, --all             ended jobs too\n"
"  -n N                  at most N (default 50)\n" },
{ "status", "usage: errand status JOB [--json]\n" },
{ "logs",
"usage: errand logs JOB [-f] [--from OFFSET] [--stream stdout|stderr]\n"
"                   [--tail N]\n"
"\n"
"  -f                    follow until the job has ended\n"
"      --from OFFSET     leave out the first OFFSET bytes\n"
"      --tail N          only the last N bytes\n" },
{ "attach",
"usage: errand attach JOB [-i] [--no-stdin] [--from OFFSET]\n"
"\n"
"  -i, --stdin           send the standard input too\n"
"      --no-stdin        only look, also at a job with a terminal\n" },
{ "wait",
"usage: errand wait JOB...\n"
"\n"
"Exits with the code of the last job that failed, else 0.\n" },
{ "kill",
"usage: errand kill [-s SIGNAL] [-f] JOB...\n"
"\n"
"Sends TERM, then after a grace period KILL; returns when the end is durable.\n"
"  -s SIGNAL             send this one instead, and do not wait\n"
"  -f                    KILL at once\n" },
{ "diff",
"usage: errand diff JOB [PATH...] [--stat | --patch] [-z] [--json]\n"
"\n"
"Lists the changed paths: A created, M modified, D deleted, C mode changed,\n"
"T type changed.\n"
"      --stat            with sizes and a sum\n"
"  -p, --patch           as a patch\n" },
{ "fetch",
"usage: errand fetch JOB [PATH...] -o DIR\n"
"       errand fetch JOB [PATH...] --apply [--conflicts] [--into DIR]\n"
"\n"
"Write the changed files into DIR, which must not exist, or merge the changes\n"
"into the tree they came from: all or nothing.\n"
"      --conflicts       apply what can be, mark the rest; exits 121\n"
"      --into DIR        apply to another tree\n" },
{ "receipt", "usage: errand receipt JOB [-o FILE] [--json]\n" },
{ "verify",
"usage: errand verify FILE [--host-key KEY] [--json]\n"
"\n"
"Check a receipt's signature and digests without a host.  KEY is 64\n"
"hexadecimal digits; without it, the keys of hosts this client has talked to\n"
"are tried.\n" },
{ "info", "usage: errand info [--json]\n" }
};

int
help_known(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(helps) / sizeof(helps[0]); i++)
		if (strcmp(helps[i].name, name) == 0)
			return (1);
	return (0);
}

void
help_print(const char *name)
{
	size_t i;

	for (i = 0; name != NULL && i < sizeof(helps) / sizeof(helps[0]); i++)
		if (strcmp(helps[i].name, name) == 0) {
			fputs(helps[i].text, stdout);
			return;
		}
	fputs(overview, stdout);
}
