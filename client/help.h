#ifndef ERRAND_HELP_H
#define ERRAND_HELP_H

/* Print the help of a command (NULL: the overview) on stdout. */
void help_print(const char *);

/* Is there a command of that name? */
int help_known(const char *);

#endif /* !ERRAND_HELP_H */
