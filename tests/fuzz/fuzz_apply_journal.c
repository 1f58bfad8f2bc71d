/*
 * The journal of an apply, with a hash that is right: what is accepted is
 * written again as it was, and its paths stay below the root.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/journal.h"
#include "client/reserved.h"
#include "client/statcache.h"

#define MAC     32

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t key[JOURNAL_KEY] = { 7 };
	uint8_t *buf, *again;
	struct journal j;
	size_t i, n;

	if (len > 300000 || (buf = malloc(len + MAC)) == NULL)
		return (0);
	memcpy(buf, data, len);
	crypto_generichash(buf + len, MAC, buf, len, key, sizeof(key));
	if (journal_parse(buf, len + MAC, key, &j) == 0) {
		for (i = 0; i < j.n; i++)
			if (j.ops[i].path[0] == '/' ||
			    strlen(j.ops[i].path) != j.ops[i].path_len ||
			    reserved_path(j.ops[i].path, j.ops[i].path_len))
				abort();
		if (journal_pack(&j, key, &again, &n) == -1)
			abort();
		if (n != len + MAC || memcmp(buf, again, n) != 0)
			abort();
		free(again);
		journal_done(&j);
	}
	free(buf);
	return (0);
}
