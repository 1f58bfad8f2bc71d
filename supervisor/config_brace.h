#ifndef ERRAND_CONFIG_BRACE_H
#define ERRAND_CONFIG_BRACE_H

/* The line of the last { in ${text} that no } ends, or 0. */
int config_brace(const char *);

#endif /* !ERRAND_CONFIG_BRACE_H */
