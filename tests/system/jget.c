/*
 * jget NAME[.NAME]...: of each JSON object on standard input, print that
 * field: a string as it is, anything else as JSON, what is absent as
 * "absent".  One line an object.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static const json_t *
find(const json_t *o, const char *path)
{
	char *copy = strdup(path), *pos = copy, *name;

	while (o != NULL && (name = strsep(&pos, ".")) != NULL)
		o = json_object_get(o, name);
	free(copy);
	return (o);
}

static void
show(const json_t *v)
{
	char *text;

	if (v == NULL) {
		puts("absent");
		return;
	}
	if (json_is_string(v)) {
		puts(json_string_value(v));
		return;
	}
	text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
	puts(text == NULL ? "?" : text);
	free(text);
}

int
main(int argc, char **argv)
{
	json_error_t e;
	json_t *o;

	if (argc != 2)
		return (2);
	while ((o = json_loadf(stdin, JSON_DISABLE_EOF_CHECK, &e)) != NULL) {
		show(find(o, argv[1]));
		json_decref(o);
	}
	if (json_error_code(&e) == json_error_premature_end_of_input ||
	    e.position == 0)
		return (0);
	fprintf(stderr, "jget: %s\n", e.text);
	return (1);
}
