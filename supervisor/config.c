/*
 * errandd.conf and the tenants' files, from text to checked values.  Reads
 * these files and the list of groups; writes none.
 */
#include <sys/types.h>
#include <sys/stat.h>

#include <confuse.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "config_brace.h"
#include "config_defaults.h"
#include "config_once.h"
#include "config_range.h"
#include "images.h"
#include "lib/io.h"
#include "lib/log.h"

#define CONFIG_MAX      (1 << 20)

/*
 * Beside config_once.c the only file that knows libconfuse.  Every value is
 * checked while it is parsed, when the library still knows the line it stands
 * on.
 */

/* The file that is being read; sections do not know it. */
static const char *reading = "configuration";

/* The first fault that was found in it. */
static char fault[LIMIT_TEXT];

static void say(const char *, ...) __attribute__((format(printf, 1, 2)));
static void on_error(cfg_t *, const char *, va_list)
    __attribute__((format(printf, 2, 0)));

static void
say(const char *fmt, ...)
{
	char text[LIMIT_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (fault[0] == '\0')
		memcpy(fault, text, sizeof(fault));
	log_warnx("%s", text);
}

/* "file:line: what; how to mend it". */
static void
on_error(cfg_t *cfg, const char *fmt, va_list ap)
{
	char text[LIMIT_TEXT];
	const char *mend = "";

	vsnprintf(text, sizeof(text), fmt, ap);
	if (strncmp(text, "no such option", 14) == 0)
		mend = "; remove it or see errandd.conf(5) for the names";
	else if (strstr(text, "integer value") != NULL)
		mend = "; write a whole number there";
	else if (strstr(text, "boolean value") != NULL)
		mend = "; write true or false there";
	else if (strstr(text, "duplicate title") != NULL)
		mend = "; give each image a name of its own";
	say("%s:%d: %s%s", reading, cfg != NULL ? cfg->line : 0, text, mend);
}

static const char *
last_str(cfg_opt_t *opt)
{
	const char *s;

	s = cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
	return (s == NULL ? "" : s);
}

static int
check_range_of(cfg_t *cfg, cfg_opt_t *opt, uint64_t v)
{
	char label[64], why[LIMIT_TEXT];

	snprintf(label, sizeof(label), "%s =", cfg_opt_name(opt));
	if (config_range(cfg_opt_name(opt), label, v, why, sizeof(why)) == 0)
		return (0);
	cfg_error(cfg, "%s", why);
	return (-1);
}

static int
check_size(cfg_t *cfg, cfg_opt_t *opt)
{
	uint64_t v;

	if (text_size(last_str(opt), &v) == 0)
		return (check_range_of(cfg, opt, v));
	cfg_error(cfg, "%s = %s is no size; write for instance 512M or 2G",
	    cfg_opt_name(opt), last_str(opt));
	return (-1);
}

static int
check_duration(cfg_t *cfg, cfg_opt_t *opt)
{
	uint64_t v;

	if (text_duration(last_str(opt), &v) == 0)
		return (check_range_of(cfg, opt, v));
	cfg_error(cfg, "%s = %s is no duration; write for instance 90s, 10m "
	    "or 2h", cfg_opt_name(opt), last_str(opt));
	return (-1);
}

static int
check_cpus(cfg_t *cfg, cfg_opt_t *opt)
{
	uint32_t v;

	if (text_cpus(last_str(opt), &v) == 0)
		return (check_range_of(cfg, opt, v));
	cfg_error(cfg, "%s = %s is no number of processors; write for "
	    "instance 2 or 1.5", cfg_opt_name(opt), last_str(opt));
	return (-1);
}

static int
check_bound(cfg_t *cfg, cfg_opt_t *opt)
{
	long v = cfg_opt_getnint(opt, cfg_opt_size(opt) - 1);

	if (v >= 0)
		return (check_range_of(cfg, opt, (uint64_t)v));
	cfg_error(cfg, "%s = %ld is below 0", cfg_opt_name(opt), v);
	return (-1);
}

static int
range_parse(const char *s, struct uid_range *r)
{
	char end;

	if (sscanf(s, "%" SCNu32 "-%" SCNu32 "%c", &r->first, &r->last,
	    &end) != 2 || strchr("0123456789", s[0]) == NULL)
		return (-1);
	if (r->first == 0 || r->last < r->first || r->last >= UINT32_MAX)
		return (-1);
	return (0);
}

static int
check_range(cfg_t *cfg, cfg_opt_t *opt)
{
	struct uid_range r;

	if (range_parse(last_str(opt), &r) == 0 &&
	    r.last - r.first >= CONFIG_UIDS_LEAST - 1)
		return (0);
	cfg_error(cfg, "%s = %s is no range of uids; write FIRST-LAST with at "
	    "least %d ids, none of them 0", cfg_opt_name(opt), last_str(opt),
	    CONFIG_UIDS_LEAST);
	return (-1);
}

/* Ids 1, 2 and so on inside; there are not more of them than 16 bits. */
static int
check_image_uids(cfg_t *cfg, cfg_opt_t *opt)
{
	struct uid_range r;

	if (range_parse(last_str(opt), &r) == 0 &&
	    r.last - r.first < CONFIG_IMAGE_UIDS_MOST)
		return (0);
	cfg_error(cfg, "%s = %s is no range of uids; write FIRST-LAST with at "
	    "most %d ids, none of them 0", cfg_opt_name(opt), last_str(opt),
	    CONFIG_IMAGE_UIDS_MOST);
	return (-1);
}

static int
check_path(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *s = last_str(opt);

	if (s[0] == '/' && strlen(s) < PATH_MAX)
		return (0);
	cfg_error(cfg, "%s = %s is no absolute path; begin it with /",
	    cfg_opt_name(opt), s);
	return (-1);
}

static int
check_group(cfg_t *cfg, cfg_opt_t *opt)
{
	if (getgrnam(last_str(opt)) != NULL)
		return (0);
	cfg_error(cfg, "%s = %s: there is no such group; make it with "
	    "groupadd, or remove the line", cfg_opt_name(opt), last_str(opt));
	return (-1);
}

static int
check_host(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *s = last_str(opt);
	size_t n = strlen(s);

	if (n > 0 && n < LIMIT_NAME && text_utf8_valid(s, n) &&
	    strpbrk(s, " \t\n") == NULL)
		return (0);
	cfg_error(cfg, "%s must be 1 to %d bytes without blanks",
	    cfg_opt_name(opt), LIMIT_NAME - 1);
	return (-1);
}

/* One of two words; which two depends on the option. */
static int
check_word(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *s = last_str(opt);
	int net = strcmp(cfg_opt_name(opt), "net") == 0;

	if (strcmp(s, net ? "none" : "off") == 0 ||
	    strcmp(s, net ? "host" : "auto") == 0)
		return (0);
	cfg_error(cfg, "%s = %s: write %s", cfg_opt_name(opt), s,
	    net ? "none or host" : "off or auto");
	return (-1);
}

#define OPT_STR(n)      CFG_STR(n, NULL, CFGF_NODEFAULT)
#define OPT_INT(n)      CFG_INT(n, 0, CFGF_NODEFAULT)

#define OPTS_LIMITS                                             \
	OPT_STR("cpus"), OPT_STR("memory"), OPT_INT("pids"),    \
	OPT_STR("disk"), OPT_STR("runtime"), OPT_STR("cpu_time"), \
	OPT_STR("log"), OPT_INT("changes")
#define OPTS_KEEP                                               \
	OPT_STR("store"), OPT_STR("logs"), OPT_STR("keep"),     \
	OPT_STR("cache_size"), OPT_STR("cache_total"),          \
	OPT_INT("objects"), OPT_INT("jobs")

struct check {
	const char *opt;
	cfg_validate_callback_t fn;
};

#define CHECKS_LIMITS(sec)                                              \
	{ sec "|cpus", check_cpus }, { sec "|memory", check_size },     \
	{ sec "|pids", check_bound }, { sec "|disk", check_size },      \
	{ sec "|runtime", check_duration }, { sec "|log", check_size }, \
	{ sec "|cpu_time", check_duration },                            \
	{ sec "|changes", check_bound }
#define CHECKS_KEEP(sec)                                                \
	{ sec "store", check_size }, { sec "logs", check_size },        \
	{ sec "cache_size", check_size },                               \
	{ sec "cache_total", check_size },                              \
	{ sec "keep", check_duration }, { sec "objects", check_bound }, \
	{ sec "jobs", check_bound }

static const struct check main_checks[] = {
	{ "state_dir", check_path }, { "run_dir", check_path },
	{ "tenants_dir", check_path }, { "worker_dir", check_path },
	{ "cgroup_root", check_path }, { "admin_group", check_group },
	{ "worker_uids", check_range }, { "tenant_uids", check_range },
	{ "slots", check_bound }, { "idle_workers", check_bound },
	{ "idle_sandboxes", check_bound },
	{ "tenant_sandboxes", check_bound },
	{ "host_name", check_host }, { "local_tenants", check_word },
	{ "stop_timeout", check_duration }, { "client_lease", check_duration },
	{ "defaults|slots", check_bound }, { "image|path", check_path },
	CHECKS_LIMITS("defaults"), CHECKS_KEEP("defaults|"),
	{ "defaults", NULL }, { NULL, NULL }
};

static const struct check tenant_checks[] = {
	{ "id", check_bound }, { "host_uid", check_bound },
	{ "image_uids", check_image_uids },
	{ "uids", check_bound }, { "slots", check_bound },
	{ "net", check_word }, CHECKS_KEEP(""),
	CHECKS_LIMITS("limits"),
	{ "automatic", NULL }, { "limits", NULL }, { NULL, NULL }
};

/* Those of the file that is being read. */
static const struct check *checking;

/* Names of settings mean the same wherever they are. */
static int
check_any(cfg_t *cfg, cfg_opt_t *opt)
{
	const struct check *c;
	const char *name;

	if (config_once(cfg, opt) == -1)
		return (-1);
	for (c = checking; c->opt != NULL; c++) {
		name = strrchr(c->opt, '|');
		name = name == NULL ? c->opt : name + 1;
		if (c->fn != NULL && strcmp(name, cfg_opt_name(opt)) == 0)
			return (c->fn(cfg, opt));
	}
	return (0);
}

/* A parser for one of the two kinds of file. */
static cfg_t *
parser_new(cfg_opt_t *opts, const struct check *checks)
{
	cfg_t *cfg;

	if ((cfg = cfg_init(opts, CFGF_NONE)) == NULL) {
		log_warn("configuration");
		return (NULL);
	}
	cfg_set_error_function(cfg, on_error);
	checking = checks;
	for (; checks->opt != NULL; checks++)
		cfg_set_validate_func(cfg, checks->opt, check_any);
	return (cfg);
}

/* The library takes the end of the file for the end of a section. */
static int
braces_check(const char *path)
{
	uint8_t *text;
	size_t len;
	int line;

	if (io_file_read(AT_FDCWD, path, CONFIG_MAX, &text, &len) == -1) {
		say("%s: %s", path, strerror(errno));
		return (-1);
	}
	line = config_brace((const char *)text);
	free(text);
	if (line == 0)
		return (0);
	say("%s:%d: the section that begins here has no end; write } after "
	    "it", path, line);
	return (-1);
}

/* A directory opens too, and would read as an empty file. */
static int
parse_file(cfg_t *cfg, const char *path)
{
	struct stat sb;

	if (stat(path, &sb) == 0 && !S_ISREG(sb.st_mode)) {
		say("%s: not a file", path);
		return (-1);
	}
	reading = path;
	config_once_reset();
	switch (cfg_parse(cfg, path)) {
	case CFG_SUCCESS:
		return (braces_check(path));
	case CFG_FILE_ERROR:
		say("%s: %s", path, strerror(errno));
		return (-1);
	default:
		return (-1);
	}
}

static void
take_size(cfg_t *cfg, const char *name, uint64_t *v)
{
	const char *s;

	if ((s = cfg_getstr(cfg, name)) != NULL)
		(void)text_size(s, v);
}

static void
take_duration(cfg_t *cfg, const char *name, uint64_t *v)
{
	const char *s;

	if ((s = cfg_getstr(cfg, name)) != NULL)
		(void)text_duration(s, v);
}

static void
take_u32(cfg_t *cfg, const char *name, uint32_t *v)
{
	if (cfg_size(cfg, name) > 0)
		*v = (uint32_t)cfg_getint(cfg, name);
}

static int
take_str(cfg_t *cfg, const char *name, char **v)
{
	const char *s;

	if ((s = cfg_getstr(cfg, name)) == NULL)
		return (0);
	free(*v);
	return ((*v = strdup(s)) == NULL ? -1 : 0);
}

/* Numbers that may be large are kept as such. */
static void
take_u64(cfg_t *cfg, const char *name, uint64_t *v)
{
	if (cfg_size(cfg, name) > 0)
		*v = (uint64_t)cfg_getint(cfg, name);
}

static void
take_keep(cfg_t *sec, struct keep_conf *k)
{
	take_size(sec, "store", &k->store);
	take_size(sec, "logs", &k->logs);
	take_duration(sec, "keep", &k->keep_us);
	take_size(sec, "cache_size", &k->cache_size);
	take_size(sec, "cache_total", &k->cache_total);
	take_u64(sec, "objects", &k->objects);
	take_u64(sec, "jobs", &k->jobs);
}

static void
take_limits(cfg_t *sec, struct job_limits *l)
{
	const char *s;

	if ((s = cfg_getstr(sec, "cpus")) != NULL)
		(void)text_cpus(s, &l->cpus_milli);
	take_size(sec, "memory", &l->memory);
	take_u32(sec, "pids", &l->pids);
	take_size(sec, "disk", &l->disk);
	take_duration(sec, "runtime", &l->runtime_us);
	take_duration(sec, "cpu_time", &l->cpu_us);
	take_size(sec, "log", &l->log_bytes);
	if (cfg_size(sec, "changes") > 0)
		l->changes = (uint64_t)cfg_getint(sec, "changes");
}

/* Like the checks above, but of a section as a whole. */
static int
take_image(cfg_t *sec, struct config *c)
{
	const char *name = cfg_title(sec), *path = cfg_getstr(sec, "path");
	struct image_conf *im = &c->images[c->nimages];
	char why[LIMIT_TEXT], *real;
	int n;

	if (name == NULL || !image_name_valid(name)) {
		cfg_error(sec, "image \"%s\": no name of an image; use 1 to "
		    "%d of a-z, 0-9, . _ - and begin with a letter or digit",
		    name == NULL ? "" : name, IMAGE_NAME_MAX);
		return (-1);
	}
	if (c->nimages == IMAGES_MAX || path == NULL) {
		cfg_error(sec, "image \"%s\": %s", name, path == NULL ?
		    "it has no path; write path = \"/directory\" in it" :
		    "there are too many; remove one");
		return (-1);
	}
	if (image_check(path, geteuid(), &real, why, sizeof(why)) == -1) {
		cfg_error(sec, "image \"%s\": %s", name, why);
		return (-1);
	}
	n = asprintf(&im->arg, "%s=%s", name, real);
	free(real);
	if (n == -1) {
		im->arg = NULL;
		return (-1);
	}
	memcpy(im->name, name, strlen(name) + 1);
	c->nimages++;
	return (0);
}

static int
take_images(cfg_t *cfg, struct config *c)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < cfg_size(cfg, "image"); i++)
		if (take_image(cfg_getnsec(cfg, "image", i), c) == -1)
			rc = -1;
	return (rc);
}

static int
config_take(cfg_t *cfg, struct config *c)
{
	cfg_t *def = cfg_getsec(cfg, "defaults");
	const char *s;

	if (take_str(cfg, "state_dir", &c->state_dir) == -1 ||
	    take_str(cfg, "run_dir", &c->run_dir) == -1 ||
	    take_str(cfg, "tenants_dir", &c->tenants_dir) == -1 ||
	    take_str(cfg, "worker_dir", &c->worker_dir) == -1 ||
	    take_str(cfg, "admin_group", &c->admin_group) == -1 ||
	    take_str(cfg, "cgroup_root", &c->cgroup_root) == -1 ||
	    take_str(cfg, "host_name", &c->host_name) == -1)
		return (-1);
	if ((s = cfg_getstr(cfg, "worker_uids")) != NULL)
		(void)range_parse(s, &c->worker_uids);
	if ((s = cfg_getstr(cfg, "tenant_uids")) != NULL)
		(void)range_parse(s, &c->tenant_uids);
	if ((s = cfg_getstr(cfg, "local_tenants")) != NULL)
		c->local_auto = strcmp(s, "auto") == 0;
	take_u32(cfg, "slots", &c->slots);
	take_u32(cfg, "idle_workers", &c->idle_workers);
	take_u32(cfg, "idle_sandboxes", &c->idle_sandboxes);
	take_u32(cfg, "tenant_sandboxes", &c->tenant_sandboxes);
	take_duration(cfg, "stop_timeout", &c->stop_timeout_us);
	take_duration(cfg, "client_lease", &c->client_lease_us);
	if (def != NULL) {
		take_limits(def, &c->defaults);
		take_keep(def, &c->keep);
		take_u32(def, "slots", &c->tenant_slots);
	}
	return (0);
}

static int
config_parse(struct config *c)
{
	cfg_opt_t defaults[] = {
		OPTS_LIMITS, OPTS_KEEP, OPT_INT("slots"), CFG_END()
	};
	cfg_opt_t image[] = { OPT_STR("path"), CFG_END() };
	cfg_opt_t opts[] = {
		OPT_STR("state_dir"), OPT_STR("run_dir"),
		OPT_STR("tenants_dir"), OPT_STR("worker_dir"),
		OPT_STR("admin_group"), OPT_STR("cgroup_root"),
		OPT_STR("host_name"), OPT_STR("worker_uids"),
		OPT_STR("tenant_uids"), OPT_STR("local_tenants"),
		OPT_STR("stop_timeout"), OPT_STR("client_lease"),
		OPT_INT("slots"),
		OPT_INT("idle_workers"), OPT_INT("idle_sandboxes"),
		OPT_INT("tenant_sandboxes"),
		CFG_SEC("defaults", defaults, CFGF_NONE),
		CFG_SEC("image", image, CFGF_MULTI | CFGF_TITLE |
		    CFGF_NO_TITLE_DUPES), CFG_END()
	};
	cfg_t *cfg;

	if ((cfg = parser_new(opts, main_checks)) == NULL)
		goto err0;
	if (parse_file(cfg, c->path) == -1)
		goto err1;
	if (config_take(cfg, c) == -1) {
		log_warn("%s", c->path);
		goto err1;
	}
	if (take_images(cfg, c) == -1)
		goto err1;
	cfg_free(cfg);
	return (0);

err1:
	cfg_free(cfg);
err0:
	return (-1);
}

/* Which file it is; the installed one is for a system's own daemon. */
static int
config_choose(struct config *c, const char *path)
{
	const char *sys = SYSCONFDIR "/errandd.conf";

	c->local_auto = 1;
	if (path == NULL && (c->rootless || access(sys, F_OK) == -1))
		return (0);
	if (path == NULL || strcmp(path, sys) == 0)
		c->local_auto = 0;
	return ((c->path = strdup(path == NULL ? sys : path)) == NULL ? -1 :
	    0);
}

int
config_range_apart(const struct uid_range *a, const struct uid_range *b)
{

	return (a->first == 0 || b->first == 0 || a->last < b->first ||
	    b->last < a->first);
}

static int
ranges_clash(const struct config *c)
{
	if (config_range_apart(&c->worker_uids, &c->tenant_uids))
		return (0);
	log_warnx("%s: worker_uids and tenant_uids overlap; give them ranges "
	    "apart", c->path == NULL ? "configuration" : c->path);
	return (1);
}

struct config *
config_load(const char *path, int rootless)
{
	struct config *c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		goto err0;
	c->rootless = rootless;
	if (config_choose(c, path) == -1)
		goto err1;
	if (config_defaults(c) == -1)
		goto err1;
	if (c->path != NULL && config_parse(c) == -1)
		goto err2;
	if (c->tenants_dir == NULL &&
	    asprintf(&c->tenants_dir, "%s/tenants.d", c->state_dir) == -1) {
		c->tenants_dir = NULL;
		goto err1;
	}
	if (ranges_clash(c))
		goto err2;
	if (c->tenant_slots == 0)
		c->tenant_slots = c->slots;
	return (c);

err1:
	log_warn("configuration");
err2:
	config_free(c);
err0:
	return (NULL);
}

void
config_free(struct config *c)
{
	uint32_t i;

	if (c == NULL)
		return;
	free(c->path);
	free(c->state_dir);
	free(c->run_dir);
	free(c->tenants_dir);
	free(c->worker_dir);
	free(c->admin_group);
	free(c->cgroup_root);
	free(c->host_name);
	for (i = 0; i < c->nimages; i++)
		free(c->images[i].arg);
	free(c);
}

static int
tenant_take(cfg_t *cfg, const char *path, struct tenant_conf *tc)
{
	cfg_t *lim = cfg_getsec(cfg, "limits");
	const char *s;
	unsigned int i;

	take_u32(cfg, "id", &tc->id);
	take_u32(cfg, "host_uid", &tc->host_uid);
	if ((s = cfg_getstr(cfg, "image_uids")) != NULL)
		(void)range_parse(s, &tc->image_uids);
	take_u32(cfg, "slots", &tc->slots);
	take_keep(cfg, &tc->keep);
	tc->automatic = cfg_getbool(cfg, "automatic") != cfg_false;
	if ((s = cfg_getstr(cfg, "net")) != NULL)
		tc->net_host = strcmp(s, "host") == 0;
	if ((tc->nuids = cfg_size(cfg, "uids")) > CONFIG_UIDS_MAX) {
		say("%s: more than %d uids; split the tenant", path,
		    CONFIG_UIDS_MAX);
		return (-1);
	}
	for (i = 0; i < tc->nuids; i++)
		tc->uids[i] = (uint32_t)cfg_getnint(cfg, "uids", i);
	if (lim != NULL)
		take_limits(lim, &tc->limits);
	return (0);
}

int
config_tenant_read(const char *dir, const char *name, struct tenant_conf *tc,
    char *why, size_t size)
{
	cfg_opt_t limits[] = { OPTS_LIMITS, CFG_END() };
	cfg_opt_t opts[] = {
		OPT_INT("id"), OPT_INT("host_uid"), OPT_STR("image_uids"),
		CFG_INT_LIST("uids", NULL, CFGF_NODEFAULT), OPT_INT("slots"),
		OPT_STR("net"), OPTS_KEEP,
		CFG_BOOL("automatic", cfg_false, CFGF_NONE),
		CFG_SEC("limits", limits, CFGF_NONE), CFG_END()
	};
	char path[PATH_MAX];
	cfg_t *cfg;
	int n, rc = -1;

	memset(tc, 0, sizeof(*tc));
	fault[0] = '\0';
	n = snprintf(path, sizeof(path), "%s/%s.conf", dir, name);
	if (!text_tenant_valid(name) || n < 0 || (size_t)n >= sizeof(path))
		say("%s/%s.conf: no name for a tenant; use a-z, 0-9, _ "
		    "and -, at most %d bytes", dir, name, TENANT_NAME_MAX);
	else if ((cfg = parser_new(opts, tenant_checks)) == NULL)
		say("%s: out of memory", path);
	else {
		memcpy(tc->name, name, strlen(name) + 1);
		if (parse_file(cfg, path) == 0)
			rc = tenant_take(cfg, path, tc);
		cfg_free(cfg);
	}
	if (rc == -1)
		snprintf(why, size, "%s", fault);
	return (rc);
}
