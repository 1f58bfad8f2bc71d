#include <stdint.h>
#include <stdlib.h>

#include "proto/receipt.h"

/*
 * Without a key everything but the signature is checked, which a fuzzer can
 * reach; with one nothing that it makes may pass.
 */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t pk[32] = { 1 };
	struct receipt r;
	const char *why;
	int rc;

	rc = receipt_open(data, len, NULL, &r, &why);
	if ((rc == 0) != (why == NULL))
		abort();
	receipt_done(&r);
	if (receipt_open(data, len, pk, &r, &why) == 0)
		abort();
	receipt_done(&r);
	(void)receipt_open_signed(data, len, NULL, &r, &why);
	return (0);
}
