#ifndef ERRAND_CONFIG_CHECK_H
#define ERRAND_CONFIG_CHECK_H

struct config;

/**
 * config_check(cfg, start):
 * Is what the configuration names there, and can it be used?  Makes nothing.
 * With ${start}, a worker's program may be missing, if not all of them are.
 * Return 0, or -1 after logging what is wrong and how to mend it.
 */
int config_check(const struct config *, int);

#endif /* !ERRAND_CONFIG_CHECK_H */
