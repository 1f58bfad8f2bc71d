#ifndef ERRAND_CONFIG_ONCE_H
#define ERRAND_CONFIG_ONCE_H

#include <confuse.h>

/* A new file is read. */
void config_once_reset(void);

/**
 * config_once(cfg, opt):
 * The option was just read.  Return 0, or -1 after cfg_error when it stood in
 * that section before: the library would take the last and say nothing.
 */
int config_once(cfg_t *, cfg_opt_t *);

#endif /* !ERRAND_CONFIG_ONCE_H */
