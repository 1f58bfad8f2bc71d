#ifndef ERRAND_CONFIG_DEFAULTS_H
#define ERRAND_CONFIG_DEFAULTS_H

struct config;

/* Inside, ids 1 to 65535: what files and databases of users have. */
#define CONFIG_IMAGE_UIDS_MOST 65535

/* A range must have room for the store, exec and a few connections. */
#define CONFIG_UIDS_LEAST 8

/**
 * config_defaults(c):
 * Fill in what a file need not say, for the mode that c->rootless tells.
 * Return 0, or -1 with errno.
 */
int config_defaults(struct config *);

#endif /* !ERRAND_CONFIG_DEFAULTS_H */
