#ifndef ERRAND_PREEXEC_H
#define ERRAND_PREEXEC_H

/**
 * preexec_worker(path, argv, chan):
 * In a fresh child: arrange descriptors and signals and execute ${path}.
 * Does not return; ends with status 111 when that fails.
 */
void preexec_worker(const char *, char **, int) __attribute__((noreturn));

#endif /* !ERRAND_PREEXEC_H */
