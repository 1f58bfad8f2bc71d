/*
 * What an operator is told about the store, as a map.  Memory only.
 */
#include "proto/care.h"
#include "proto/convert.h"
#include "proto/edge.h"
#include "record.pb-c.h"

#define T struct care_figure
static const struct field figure_fields[] = {
	NAME(name, 1),
	UINT(value, 0, UINT64_MAX),
};
static MAP(figure_map, T, errand__record__figure__descriptor, figure_fields,
    NULL);
#undef T

#define T struct care
static const struct field care_fields[] = {
	BOOL(done),
	UINT(at, 0, BIG),
	UINT(total, 0, BIG),
	UINT(bad, 0, BIG),
	UINT(bytes, 0, LIMIT_CARE_BYTES),
	TEXT(text),
	ARRAY(figures, nfigures, CARE_FIGURES, &figure_map),
};
MAP(care_map, T, errand__record__care__descriptor, care_fields, NULL);
#undef T
