/*
 * The seccomp engine: a worker's table becomes a filter for this process.  The
 * tables are in each worker's own sandbox.c; Landlock is in landlock.c.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <seccomp.h>

#include "sandbox.h"

/*
 * The filter is made here and not by libseccomp's rule engine: there, a rule
 * without an argument test silently discards those with one for the same
 * call, so that "ioctl, but not TIOCSTI" would allow TIOCSTI (seen with
 * 2.5.4).  Here, for each call: the first masked rule that matches decides,
 * then the plain rule, then the default.
 *
 * Layout of the program:
 *	foreign architecture: kill
 *	a binary search for the range of numbers that the call is in
 *	a range of calls with one plain action: return it
 *	a call with masked rules:
 *		for each: test the words of the argument, return
 *		return the plain rule's action or the default's
 *
 * A call that is allowed whatever its arguments costs nothing at run time:
 * the kernel finds that out when the filter is installed (5.11), by walking
 * the program for every call.  That is why it is a search: with a test for
 * each call in turn, installing a table of 350 calls took 0.4 ms, and every
 * job paid it.  Most of what is left is the kernel's translation, in several
 * passes, so that short programs pay too.
 */
#if defined(__x86_64__)
#define ARCH_NATIVE     AUDIT_ARCH_X86_64
#define X32_BIT         0x40000000U
#elif defined(__aarch64__)
#define ARCH_NATIVE     AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH_NATIVE     AUDIT_ARCH_RISCV64
#else
#error "no seccomp architecture known for this machine"
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the low word of an argument is expected first"
#endif

#define ARG_LO(n)       (offsetof(struct seccomp_data, args) + 8 * (n))
#define ARG_HI(n)       (ARG_LO(n) + 4)

#define FAR             255     /* a conditional jump's reach */
#define LOAD(off)       (BPF_LD | BPF_W | BPF_ABS), 0, 0, (uint32_t)(off)
#define AND(k)          (BPF_ALU | BPF_AND | BPF_K), 0, 0, (k)
#define JEQ(k, jt, jf)  (BPF_JMP | BPF_JEQ | BPF_K), (jt), (jf), (k)
#define JGE(k, jt, jf)  (BPF_JMP | BPF_JGE | BPF_K), (jt), (jf), (k)
#define SKIP(n)         (BPF_JMP | BPF_JA), 0, 0, (n)
#define WORD(k)         (BPF_LD | BPF_IMM), 0, 0, (k)
#define KEEP            (BPF_MISC | BPF_TAX), 0, 0, 0
#define SHIFT           (BPF_ALU | BPF_RSH | BPF_X), 0, 0, 0
#define RET(k)          (BPF_RET | BPF_K), 0, 0, (k)

/*
 * What any C library does for its own needs, with any allocator: memory that
 * is not executable, locks, clocks where the vdso has none, the way back from
 * a signal, and the end.  Allowed under SANDBOX_KILL, unless the table has a
 * word on the call itself.  None of these reaches beyond the process.
 */
#define PLAIN(name)     { .nr = SCMP_SYS(name), .act = SANDBOX_ALLOW }
#define NO_EXEC(name)   { .nr = SCMP_SYS(name), .act = SANDBOX_ALLOW, \
	.masked = 1, .arg = 2, .mask = 4 /* PROT_EXEC */, .value = 0 }

static const struct sandbox_rule base_rules[] = {
	PLAIN(brk),
	NO_EXEC(mmap),
	NO_EXEC(mprotect),
	PLAIN(munmap),
	PLAIN(mremap),
	PLAIN(madvise),
	PLAIN(futex),
	PLAIN(sched_yield),
	PLAIN(getrandom),
	PLAIN(clock_gettime),
	PLAIN(gettimeofday),
	PLAIN(time),
	PLAIN(getpid),
	PLAIN(gettid),
	PLAIN(rt_sigprocmask),
	PLAIN(rt_sigreturn),
	PLAIN(restart_syscall),
	PLAIN(exit),
	PLAIN(exit_group),
};

#define NBASE   (sizeof(base_rules) / sizeof(base_rules[0]))

/* A program being written; overflow is seen once, at the end. */
struct prog {
	struct sock_filter      insn[BPF_MAXINSNS];
	size_t                  n;
	int                     full;
};

static void
put(struct prog *p, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{

	if (p->n == BPF_MAXINSNS) {
		p->full = 1;
		return;
	}
	p->insn[p->n++] = (struct sock_filter){ code, jt, jf, k };
}

static uint32_t
rule_action(const struct sandbox_rule *r)
{

	if (r->act == SANDBOX_ALLOW)
		return (SECCOMP_RET_ALLOW);
	return (SECCOMP_RET_ERRNO | ((uint32_t)r->err & SECCOMP_RET_DATA));
}

static uint32_t
default_action(enum sandbox_default def)
{

	return (def == SANDBOX_ENOSYS ? SECCOMP_RET_ERRNO | ENOSYS :
	    SECCOMP_RET_KILL_PROCESS);
}

/* Return when the argument matches, else go on behind. */
static void
put_masked(struct prog *p, const struct sandbox_rule *r)
{
	uint32_t hi = (uint32_t)(r->mask >> 32);

	if (hi != 0) {
		put(p, LOAD(ARG_HI(r->arg)));
		put(p, AND(hi));
		put(p, JEQ((uint32_t)(r->value >> 32), 0, 4));
	}
	put(p, LOAD(ARG_LO(r->arg)));
	put(p, AND((uint32_t)r->mask));
	put(p, JEQ((uint32_t)r->value, 0, 1));
	put(p, RET(rule_action(r)));
}

/* The calls from .first up to the next range's: one outcome. */
struct range {
	uint32_t first;
	uint32_t action;        /* unless there are masked rules */
	int masked;
};

struct table {
	const struct sandbox_rule *rules;
	size_t n;
	uint32_t otherwise;     /* for a call that has no plain rule */
	struct range *ranges;   /* the last is open, and not allowed */
	size_t nranges;
};

/* How a table becomes a program, once its head is there. */
typedef void form_fn(struct prog *, const struct table *);

static int
by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x < *y ? -1 : *x > *y);
}

/* What becomes of the call ${nr}. */
static struct range
outcome(const struct table *t, int nr)
{
	struct range r = { .first = (uint32_t)nr, .action = t->otherwise };
	size_t i, plain = 0;

	for (i = 0; i < t->n; i++) {
		if (t->rules[i].nr != nr)
			continue;
		if (t->rules[i].masked)
			r.masked = 1;
		else if (plain++ == 0)
			r.action = rule_action(&t->rules[i]);
	}
	return (r);
}

/* Add a range, or lengthen the last one. */
static void
range_add(struct table *t, struct range r)
{
	const struct range *last;

	if (t->nranges > 0 && !r.masked) {
		last = &t->ranges[t->nranges - 1];
		if (!last->masked && last->action == r.action)
			return;
	}
	t->ranges[t->nranges++] = r;
}

/*
 * Cover all numbers from 0 on.  ${nrs} are those that rules name, in order;
 * some are there twice, and negative ones are calls of other architectures.
 */
static void
ranges_make(struct table *t, const int *nrs, size_t n)
{
	struct range gap = { .action = t->otherwise };
	size_t i;

	for (i = 0; i < n; i++) {
		if (nrs[i] < 0 || (i > 0 && nrs[i] == nrs[i - 1]))
			continue;
		if ((uint32_t)nrs[i] > gap.first)
			range_add(t, gap);
		range_add(t, outcome(t, nrs[i]));
		gap.first = (uint32_t)nrs[i] + 1;
	}
	range_add(t, gap);
}

static void
put_range(struct prog *p, const struct table *t, const struct range *r)
{
	size_t i;

	for (i = 0; r->masked && i < t->n; i++) {
		if (t->rules[i].nr == (int)r->first && t->rules[i].masked)
			put_masked(p, &t->rules[i]);
	}
	put(p, RET(r->action));
}

/*
 * Have the test at ${at} skip what was put behind it, when it holds.  The test
 * itself reaches FAR instructions; beyond that it takes another one, which what
 * is behind makes room for: all in there is relative.
 */
static void
skip_from(struct prog *p, size_t at)
{
	size_t len = p->n - at - 1;

	if (len <= FAR) {
		p->insn[at].jt = (uint8_t)len;
		return;
	}
	put(p, SKIP(0));
	if (p->full)
		return;
	memmove(&p->insn[at + 2], &p->insn[at + 1],
	    len * sizeof(p->insn[0]));
	p->insn[at].jf = 1;
	p->insn[at + 1] = (struct sock_filter){ SKIP((uint32_t)len) };
}

/* The search among ranges ${lo} to ${hi} - 1; as deep as their logarithm. */
static void
put_search(struct prog *p, const struct table *t, size_t lo, size_t hi)
{
	size_t mid = lo + (hi - lo) / 2, at = p->n;

	if (hi - lo == 1) {
		put_range(p, t, &t->ranges[lo]);
		return;
	}
	put(p, JGE(t->ranges[mid].first, 0, 0));
	put_search(p, t, lo, mid);
	if (p->full)
		return;
	skip_from(p, at);
	put_search(p, t, mid, hi);
}

/*
 * The short form: a bit for each number instead of a search.  A fourth of the
 * length, and half of the time to install it, but the kernel does not see
 * beforehand what it allows and asks it about every call.
 */
#define BITS_WORDS      32

/*
 * What is allowed; calls with masked rules were decided before.  How many
 * words, 0: too many.
 */
static size_t
bits_fill(const struct table *t, uint32_t *w)
{
	uint32_t nr, end;
	size_t i, n = 1;

	for (i = 0; i + 1 < t->nranges; i++) {
		if (t->ranges[i].action != SECCOMP_RET_ALLOW)
			continue;
		if ((end = t->ranges[i + 1].first) > 32 * BITS_WORDS)
			return (0);
		for (nr = t->ranges[i].first; nr < end; nr++)
			w[nr / 32] |= UINT32_C(1) << (nr % 32);
		n = (end - 1) / 32 + 1;
	}
	return (n);
}

/* A call with masked rules; the number stays where it is for the next. */
static void
put_asked(struct prog *p, const struct table *t, const struct range *r)
{
	size_t at = p->n;

	put(p, JEQ(r->first, 0, 0));
	put_range(p, t, r);
	if (p->n - at - 1 > FAR)
		p->full = 1;
	if (!p->full)
		p->insn[at].jf = (uint8_t)(p->n - at - 1);
}

static void
put_bits(struct prog *p, const struct table *t)
{
	uint32_t w[BITS_WORDS] = { 0 };
	size_t i, n;

	for (i = 0; i < t->nranges; i++) {
		if (t->ranges[i].masked)
			put_asked(p, t, &t->ranges[i]);
	}
	if ((n = bits_fill(t, w)) == 0)
		p->full = 1;
	put(p, JGE((uint32_t)(32 * n), 0, 1));
	put(p, RET(t->otherwise));
	put(p, AND(31));
	put(p, KEEP);
	put(p, LOAD(offsetof(struct seccomp_data, nr)));
	for (i = n; i-- > 1;) {
		put(p, JGE((uint32_t)(32 * i), 0, 2));
		put(p, WORD(w[i]));
		put(p, SKIP((uint32_t)(3 * (i - 1) + 1)));
	}
	put(p, WORD(w[0]));
	put(p, SHIFT);
	put(p, AND(1));
	put(p, JEQ(0, 0, 1));
	put(p, RET(t->otherwise));
	put(p, RET(SECCOMP_RET_ALLOW));
}

static void
put_tree(struct prog *p, const struct table *t)
{

	put_search(p, t, 0, t->nranges);
}

/* The rules, and under SANDBOX_KILL those base rules they have no word on. */
static size_t
rules_join(const struct sandbox_rule *rules, size_t n,
    enum sandbox_default def, struct sandbox_rule *all)
{
	size_t i, j, total = n;

	for (i = 0; i < n; i++)
		all[i] = rules[i];
	for (i = 0; def == SANDBOX_KILL && i < NBASE; i++) {
		for (j = 0; j < n; j++) {
			if (rules[j].nr == base_rules[i].nr)
				break;
		}
		if (j == n)
			all[total++] = base_rules[i];
	}
	return (total);
}

/* Return 0, or -1 with errno = ENOMEM. */
static int
put_calls(struct prog *p, const struct sandbox_rule *rules, size_t n,
    enum sandbox_default def, form_fn *form)
{
	struct table t = { .otherwise = default_action(def) };
	struct sandbox_rule *all;
	int *nrs;
	size_t i;
	int rc = -1;

	all = calloc(n + NBASE, sizeof(*all));
	nrs = calloc(n + NBASE, sizeof(*nrs));
	t.ranges = calloc(2 * (n + NBASE) + 1, sizeof(*t.ranges));
	if (all != NULL && nrs != NULL && t.ranges != NULL) {
		t.rules = all;
		t.n = rules_join(rules, n, def, all);
		for (i = 0; i < t.n; i++)
			nrs[i] = all[i].nr;
		qsort(nrs, t.n, sizeof(*nrs), by_number);
		ranges_make(&t, nrs, t.n);
		form(p, &t);
		rc = 0;
	}
	free(all);
	free(nrs);
	free(t.ranges);
	return (rc);
}

/*
 * The numbers of another architecture mean other calls; those of x32 are
 * ours plus a bit, and would slip past a table of ours.
 */
static void
put_head(struct prog *p)
{

	put(p, LOAD(offsetof(struct seccomp_data, arch)));
	put(p, JEQ(ARCH_NATIVE, 1, 0));
	put(p, RET(SECCOMP_RET_KILL_PROCESS));
	put(p, LOAD(offsetof(struct seccomp_data, nr)));
#ifdef X32_BIT
	put(p, JGE(X32_BIT, 0, 1));
	put(p, RET(SECCOMP_RET_KILL_PROCESS));
#endif
}

/* A rule that could never do what it says is a mistake in the table. */
static int
rule_check(const struct sandbox_rule *r)
{

	if (r->masked && (r->arg > 5 || (r->value & ~r->mask) != 0))
		return (-1);
	if (r->act != SANDBOX_ALLOW &&
	    (r->act != SANDBOX_ERRNO || r->err <= 0 || r->err > 4095))
		return (-1);
	return (0);
}

static int
rules_check(const struct sandbox_rule *rules, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (rule_check(&rules[i]) == -1) {
			errno = EINVAL;
			return (-1);
		}
	}
	return (0);
}

static int
compile(const struct sandbox_rule *rules, size_t n, enum sandbox_default def,
    form_fn *form, struct sock_fprog *out)
{
	struct prog *p;

	if (rules_check(rules, n) == -1)
		goto err0;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		goto err0;
	put_head(p);
	if (put_calls(p, rules, n, def, form) == -1)
		goto err1;
	if (p->full) {
		errno = E2BIG;
		goto err1;
	}
	if ((out->filter = malloc(p->n * sizeof(*out->filter))) == NULL)
		goto err1;
	memcpy(out->filter, p->insn, p->n * sizeof(*out->filter));
	out->len = (unsigned short)p->n;
	free(p);
	return (0);

err1:
	free(p);
err0:
	return (-1);
}

int
sandbox_compile(const struct sandbox_rule *rules, size_t n,
    enum sandbox_default def, struct sock_fprog *out)
{

	return (compile(rules, n, def, put_tree, out));
}

int
sandbox_compile_short(const struct sandbox_rule *rules, size_t n,
    enum sandbox_default def, struct sock_fprog *out)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!rules[i].masked && rules[i].act != SANDBOX_ALLOW) {
			errno = EINVAL;
			return (-1);
		}
	}
	return (compile(rules, n, def, put_bits, out));
}

/*
 * Safe with any rights: no_new_privs and a filter only ever take rights away.
 * TSYNC, so that no thread stays outside; it reports one that it could not
 * move as a positive number.
 */
int
sandbox_install(const struct sock_fprog *prog)
{
	long rc;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return (-1);
	rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_TSYNC, prog);
	if (rc > 0)
		errno = EBUSY;
	return (rc == 0 ? 0 : -1);
}

int
sandbox_seccomp(const struct sandbox_rule *rules, size_t n,
    enum sandbox_default def)
{
	struct sock_fprog prog;
	int rc;

	if (sandbox_compile(rules, n, def, &prog) == -1)
		return (-1);
	rc = sandbox_install(&prog);
	free(prog.filter);
	return (rc);
}
