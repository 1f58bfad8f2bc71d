/*
 * What the commands share.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "help.h"
#include "out.h"
#include "select.h"
#include "state.h"

int
common_option(struct session *s, const char *command, int opt,
    const char *arg)
{
	switch (opt) {
	case COMMON_ON:
		s->on = arg;
		return (0);
	case COMMON_TENANT:
		s->tenant = arg;
		return (0);
	case COMMON_JSON:
		s->json = 1;
		return (0);
	case 'q':
		s->quiet = 1;
		return (0);
	case 'v':
		s->verbose = 1;
		return (0);
	case COMMON_HELP:
		help_print(command);
		return (-1);
	default:
		return (out_hint());
	}
}

int
common_exit(int rc)
{
	return (rc == -1 ? 0 : rc);
}

static const char *
newest_here(const char *tenant, const char *name)
{
	static char job[JOB_ID_LEN + 1];
	char root[PATH_MAX], why[LIMIT_TEXT];
	enum select_mode mode;

	if (strcmp(name, "last") != 0 || tenant == NULL)
		return (name);
	if (select_find_root(".", 1, root, &mode, why) == -1 ||
	    state_last_get(root, tenant, job) == -1)
		return (name);
	return (job);
}

const char *
common_job(struct session *s, const char *name)
{
	return (newest_here(s->host != NULL ? s->host->tenant : NULL, name));
}

const char *
common_name(const char *tenant, const char *name)
{
	name = newest_here(tenant, name);
	if (*name != '\0' && strlen(name) <= LIMIT_NAME &&
	    strpbrk(name, "\n\r\t") == NULL)
		return (name);
	(void)out_usage("\"%s\": not the name of a job", name);
	return (NULL);
}

int
common_record(struct session *s, const char *name, struct job_record *rec)
{
	struct client_reply *rep;
	struct client_open *o;
	int rc = EXIT_OURS;

	o = calloc(1, sizeof(*o));
	rep = calloc(1, sizeof(*rep));
	if (o == NULL || rep == NULL)
		goto done;
	if ((name = common_name(s->host->tenant, name)) == NULL) {
		rc = EXIT_USAGE;
		goto done;
	}
	o->verb = CLIENT_STATUS;
	memcpy(o->job, name, strlen(name) + 1);
	if ((rc = session_call(s, o, rep)) == 0) {
		*rec = rep->record;
		client_reply_done(rep);
	}
done:
	free(o);
	free(rep);
	return (rc);
}

const char *
common_limit(enum job_limit limit)
{
	static const char *const options[] = {
		[JOB_LIMIT_MEMORY] = "memory (--memory)",
		[JOB_LIMIT_PIDS] = "pids (--pids)",
		[JOB_LIMIT_DISK] = "disk (--disk)",
		[JOB_LIMIT_INODES] = "inodes (--disk)",
		[JOB_LIMIT_RUNTIME] = "runtime (--timeout)",
		[JOB_LIMIT_CPU_TIME] = "cpu_time (--cpu-time)"
	};

	if ((size_t)limit < sizeof(options) / sizeof(options[0]) &&
	    options[limit] != NULL)
		return (options[limit]);
	return (job_limit_name(limit));
}
