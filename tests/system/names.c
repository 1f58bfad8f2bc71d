/*
 * names make: in the current directory, make files whose names have every
 * byte that a name can have.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
make(const char *name)
{
	int fd;

	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd == -1 || write(fd, name, strlen(name)) == -1)
		err(1, "make");
	close(fd);
}

int
main(int argc, char **argv)
{
	char name[8];
	int i;

	if (argc != 2 || strcmp(argv[1], "make") != 0)
		errx(2, "usage: names make");
	for (i = 1; i < 256; i++) {
		if (i == '/')
			continue;
		snprintf(name, sizeof(name), "b%c", i);
		make(name);
		snprintf(name, sizeof(name), "%cb", i);
		make(name);
		snprintf(name, sizeof(name), "%c", i);
		if (i != '.')
			make(name);
	}
	make("\xc3\x28");               /* broken sequences of UTF-8 */
	make("\xe2\x82");
	make("\xed\xa0\x80");
	make("a\nb\n");
	make("...");
	make("..a");
	return (0);
}
