# errand: build, test and install.  GNU make.
#
#	make [CLANG=1] [SAN=1] [CRASH=1]	programs in $(B)/bin
#	make check				every test this machine can run
#	make check-vm				a Debian under qemu, see tests/README
#	make install install-man install-contrib DESTDIR=... PREFIX=...

version		= 0.1.0

PREFIX		= /usr/local
BINDIR		= $(PREFIX)/bin
SBINDIR		= $(PREFIX)/sbin
LIBEXECDIR	= $(PREFIX)/libexec/errand
MANDIR		= $(PREFIX)/share/man
DATADIR		= $(PREFIX)/share
UNITDIR		= $(PREFIX)/lib/systemd/system
SYSCONFDIR	= /etc/errand
STATEDIR	= /var/lib/errand
RUNDIR		= /run/errand
FUZZ_TIME	= 60

CC		= $(if $(CLANG)$(FUZZ),clang,gcc)
PKG_CONFIG	= pkg-config
PROTOC_C	= protoc-c
INSTALL		= install

.DEFAULT_GOAL := all

# Each variant has a tree of objects of its own, so that none is ever mixed.
B := build$(if $(CLANG),-clang)$(if $(SAN),-san)$(if $(CRASH),-crash)$(if \
	$(COV),-cov)$(if $(FUZZ),-fuzz)

WARN	= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	  -Wpointer-arith -Wwrite-strings -Wvla -Werror=format=2 \
	  -Werror=implicit-function-declaration -Werror=return-type -Werror
HARDEN	= -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
	  -fstack-clash-protection -fPIE
LDHARD	= -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	  -fno-omit-frame-pointer

CFLAGS	= -O2 -g
ifneq ($(SAN)$(FUZZ),)
HARDEN	= -fPIE $(SANITIZE) $(if $(FUZZ),-fsanitize=fuzzer-no-link)
LDHARD	= -pie $(SANITIZE)
endif
ifdef COV
CFLAGS	= -O0 -g --coverage
HARDEN	= -fPIE
endif

PKGS	= libevent_core libsodium libseccomp lmdb libprotobuf-c libzstd \
	  libconfuse jansson
CPPFLAGS = -D_GNU_SOURCE -DERRAND_VERSION=\"$(version)\" \
	  -DLIBEXECDIR=\"$(LIBEXECDIR)\" -DSYSCONFDIR=\"$(SYSCONFDIR)\" \
	  -DSTATEDIR=\"$(STATEDIR)\" -DRUNDIR=\"$(RUNDIR)\" \
	  $(if $(CRASH),-DERRAND_CRASH_POINTS) \
	  -iquote . -iquote lib -iquote $(B)/proto \
	  $(shell $(PKG_CONFIG) --cflags $(PKGS))
COMPILE	= $(CC) -std=c17 $(CPPFLAGS) $(WARN) $(CFLAGS) $(HARDEN) -MMD -MP
LINK	= $(CC) $(CFLAGS) $(HARDEN) $(LDFLAGS) $(LDHARD)

# V=1 shows the commands.
Q	= $(if $(V),,@)
say	= $(if $(V),,@echo "  $@")

# What each program needs beyond libc; clients alone speak JSON, and only the
# store opens LMDB.
LIBS_errandd	     = libevent_core libsodium libseccomp libprotobuf-c libconfuse
LIBS_errand-snapshot = libevent_core libsodium libseccomp libprotobuf-c libzstd
LIBS_errand-exec     = libevent_core libsodium libseccomp libprotobuf-c libzstd
LIBS_errand-store    = libevent_core libsodium libseccomp libprotobuf-c lmdb libzstd
LIBS_errand	     = libsodium libprotobuf-c libzstd libconfuse jansson
LIBS_errandctl	     = libsodium libprotobuf-c libzstd libconfuse jansson
libs	= -Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(1))

# What is started for each command carries its libraries, where their archives
# are installed: finding and relocating five shared ones was most of the time
# until main.  Those in WHOLE carry libc too, and so look no users or hosts up.
# errand-exec is forked for each, three times: so it has 10 mappings, not 49.
# (The linker would warn that libevent could look hosts up.)
# STATIC= links all of them as shared.
STATIC	= errand errand-snapshot errand-exec
WHOLE	= errand errand-exec
static	= $(if $(SAN)$(FUZZ)$(COV),,$(filter $(1),$(STATIC)))
linked	= $(if $(call static,$(filter-out $(WHOLE),$(1))),\
	  -Wl$(comma)-Bstatic $(call libs,$(LIBS_$(1))) \
	  -Wl$(comma)-Bdynamic,$(call libs,$(LIBS_$(1))))
comma	= ,

# Objects.  A directory's archive holds everything but the program's own main
# part, so that tests can link any file of it.
objs	= $(patsubst %.c,$(B)/%.o,$(1))
srcs	= $(sort $(wildcard $(1)/*.c))
CMD_SRC	= client/main.c $(sort $(wildcard client/cmd_*.c))
CTL_SRC	= client/main_ctl.c $(sort $(wildcard client/ctl_*.c))
PB_SRC	= $(patsubst %.proto,$(B)/%.pb-c.c,$(sort $(wildcard proto/*.proto)))
PB_H	= $(PB_SRC:.c=.h)

DIRS	= supervisor worker-snapshot worker-exec worker-store client
BASE	= $(B)/proto.a $(B)/lib.a

part	= $(call objs,$(filter-out %/main.c,$(call srcs,$(1))))
$(B)/lib.a: $(call part,lib)
$(B)/proto.a: $(call part,proto) $(PB_SRC:.c=.o)
$(B)/supervisor.a: $(call part,supervisor)
$(B)/worker-snapshot.a: $(call part,worker-snapshot)
$(B)/worker-exec.a: $(call part,worker-exec)
$(B)/worker-store.a: $(call part,worker-store)
$(B)/client.a: \
	$(call objs,$(filter-out $(CMD_SRC) $(CTL_SRC),$(call srcs,client)))
$(B)/client-cmd.a: $(call objs,$(filter-out %/main.c,$(CMD_SRC)))
$(B)/client-ctl.a: $(call objs,$(filter-out %/main_ctl.c,$(CTL_SRC)))

prog	= $(if $(wildcard $(2)),$(B)/bin/$(1))
WORKERS	= $(call prog,errand-snapshot,worker-snapshot/main.c) \
	  $(call prog,errand-exec,worker-exec/main.c) \
	  $(call prog,errand-store,worker-store/main.c)
DAEMON	= $(call prog,errandd,supervisor/main.c)
CLIENTS	= $(call prog,errand,client/main.c) \
	  $(call prog,errandctl,client/main_ctl.c)
PROGS	= $(DAEMON) $(WORKERS) $(CLIENTS)

all: $(PROGS) $(BASE)

$(B)/bin/errandd: $(B)/supervisor/main.o $(B)/supervisor.a
$(B)/bin/errand-snapshot: $(B)/worker-snapshot/main.o $(B)/worker-snapshot.a
$(B)/bin/errand-exec: $(B)/worker-exec/main.o $(B)/worker-exec.a
$(B)/bin/errand-store: $(B)/worker-store/main.o $(B)/worker-store.a
$(B)/bin/errand: $(call objs,$(CMD_SRC)) $(B)/client.a
$(B)/bin/errandctl: $(call objs,$(CTL_SRC)) $(B)/client.a

$(foreach p,$(WHOLE),$(if $(call static,$(p)),$(eval \
	$(B)/bin/$(p): LDHARD := $$(subst -pie,-static-pie -Wl$$(comma)--no-warnings,$$(LDHARD)))))

$(PROGS): $(BASE)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -Wl,--start-group \
	    $(filter %.a,$^) -Wl,--end-group $(call linked,$(@F))

$(B)/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/%.o: %.c $(B)/flags | $(PB_H)
	@mkdir -p $(@D)
	$(say)
	$(Q)$(COMPILE) -c -o $@ $<

# Generated code is not ours to warn about.
$(B)/proto/%.pb-c.o: $(B)/proto/%.pb-c.c $(B)/flags | $(PB_H)
	$(say)
	$(Q)$(COMPILE) -w -c -o $@ $<

$(B)/proto/%.pb-c.c $(B)/proto/%.pb-c.h: proto/%.proto
	@mkdir -p $(@D)
	$(say)
	$(Q)$(PROTOC_C) -Iproto --c_out=$(@D) $<

# Other flags (another PREFIX, say) mean other objects.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' >$@

$(B)/%: %.in
	@mkdir -p $(@D)
	sed 's|@VERSION@|$(version)|g; s|@BINDIR@|$(BINDIR)|g; \
	    s|@SBINDIR@|$(SBINDIR)|g; s|@LIBEXECDIR@|$(LIBEXECDIR)|g; \
	    s|@SYSCONFDIR@|$(SYSCONFDIR)|g; s|@STATEDIR@|$(STATEDIR)|g; \
	    s|@RUNDIR@|$(RUNDIR)|g' $< >$@

# Tests.  A test program is linked with lib and proto and with the archives of
# the directories whose headers it includes; calls for which it defines a
# __wrap_NAME at the start of a line are wrapped.
TEST_SRC = $(sort $(wildcard $(patsubst %,tests/%/*.c,unit proto system crash \
	  bench hostile raw tools)))
TESTS	= $(patsubst %.c,$(B)/%,$(TEST_SRC))
FUZZERS	= $(patsubst %.c,$(B)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
TEST_LIBS = $(PKGS) cmocka
used	= $(patsubst %,$(B)/%.a,$(sort $(shell sed -nE \
	  's@^.include ".*(supervisor|worker-[a-z]+|client)/.*@\1@p' $(1))))
needs	= $(used) $(if $(filter %/client.a,$(used)),$(B)/client-cmd.a \
	  $(B)/client-ctl.a) $(BASE)
group	= -Wl,--start-group $(filter %.a,$^) -Wl,--end-group
wraps	= $(shell sed -nE 's/^__wrap_([a-zA-Z0-9_]+).*/-Wl,--wrap=\1/p' $(1))

$(B)/tests/%.o: WARN += -Wno-missing-prototypes

.SECONDEXPANSION:
$(TESTS): $(B)/%: %.c $(B)/%.o $$(call needs,$$*.c)
	$(say)
	$(Q)$(LINK) -o $@ $(B)/$*.o $(call wraps,$<) $(group) \
	    $(call libs,$(TEST_LIBS))

FUZZ_MAIN = $(if $(FUZZ),-fsanitize=fuzzer,$(B)/tests/fuzz/fuzz-main.o)
$(FUZZERS): $(B)/%: %.c $(B)/%.o $(B)/tests/fuzz/fuzz-main.o \
    $$(call needs,$$*.c)
	$(say)
	$(Q)$(LINK) -o $@ $(B)/$*.o $(FUZZ_MAIN) $(group) \
	    $(call libs,$(TEST_LIBS))

tests: $(TESTS) $(FUZZERS) crash-build

# What tests/crash breaks: workers with crash points and mutants.
crash-build: FORCE
	$(if $(CRASH),,$(Q)$(MAKE) --no-print-directory CRASH=1 \
	    $(B)-crash/bin/errand-store $(B)-crash/bin/errand-exec)

check: all tests
	ERRAND_BUILD=$(B) tests/run $(T)
check-unit: tests
	ERRAND_BUILD=$(B) tests/run unit/ proto/ fuzz/
check-system: all tests
	ERRAND_BUILD=$(B) tests/run system/ crash/
check-vm: all $(B)/tests/system/jget
	ERRAND_BUILD=$(CURDIR)/$(B) sh tests/vm/run.sh

fuzz:
	$(MAKE) FUZZ=1 fuzz-run
fuzz-run: $(FUZZERS)
	@set -e; for f in $(^:$(B)/tests/fuzz/fuzz_%=%); do \
		mkdir -p $(B)/corpus/$$f tests/fuzz/corpus/$$f; \
		echo "fuzz_$$f: $(FUZZ_TIME) s"; \
		$(B)/tests/fuzz/fuzz_$$f -max_total_time=$(FUZZ_TIME) \
		    -verbosity=0 -print_final_stats=1 -max_len=300000 \
		    -artifact_prefix=$(B)/ $(B)/corpus/$$f \
		    tests/fuzz/corpus/$$f; \
	done

# Where a process may end itself: see log.h.
FATAL_OK = main%.c sandbox.c log.c log.h preexec%.c
may_end	= $(foreach f,$(1),$(if $(filter $(FATAL_OK),$(notdir $(f))),,$(f)))
# Side by side with what people use today; needs root, bubblewrap, rsync, sshd.
bench: all bench-store bench-sandbox
	$(Q)tests/bench/peers.py --bin $(B)/bin $(BENCH)
# The store beside the bare disk and processor; samples end up in $(B).
bench-store: all crash-build $(addprefix $(B)/tests/bench/store_,bench scale \
	  pauses)
	$(Q)ERRAND_BUILD=$(B) $(B)/tests/bench/store_bench \
	    -o $(B)/bench-store.json $(BENCH_STORE)
	$(Q)ERRAND_BUILD=$(B) $(B)/tests/bench/store_scale \
	    -o $(B)/bench-scale.json
	$(Q)ERRAND_BUILD=$(B) $(B)/tests/bench/store_pauses \
	    -o $(B)/bench-pauses.json
# Sandboxes beside posix_spawn, bwrap and a bare clone3; needs root, bubblewrap.
bench-sandbox: all $(B)/tests/bench/sandbox_bench
	$(Q)ERRAND_BUILD=$(B) $(B)/tests/bench/sandbox_bench \
	    -o $(B)/bench-sandbox.json $(BENCH_SANDBOX)

lint:
	@echo 'fatal only where it may be'
	@! grep -nE '\bfatalx?\(' $(call may_end,$(wildcard \
	    $(foreach d,lib proto $(DIRS),$(d)/*.c $(d)/*.h))) /dev/null
	@echo 'no line has more than 80 columns'
	@! for f in $$(find lib proto $(DIRS) tests -name '*.[ch]'); do \
	    expand $$f | awk -v f=$$f 'length > 80 { print f ":" NR }'; \
	done | grep .
	$(if $(wildcard man/*),mandoc -Tlint -W warning $(wildcard man/*))
	shellcheck -x -e SC1091 tests/run .ci/run \
	    $$(find contrib tests -name '*.sh')

coverage:
	$(MAKE) COV=1 check-unit
	@find build-cov -name '*.gcda' ! -path '*/tests/*' | xargs gcov -n | \
	    awk -F "['/:% ]+" '/^File/ { d = $$3 == "" ? "" : $$2 } \
	    /^Lines/ && d ~ /^(lib|proto|supervisor|worker|client)/ { \
	    n[d] += $$5; h[d] += $$3 * $$5 / 100; d = "" } \
	    END { for (d in n) printf "%-16s %5.1f %% of %d lines\n", \
	    d, 100 * h[d] / n[d], n[d] }' | sort

install: all
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(SBINDIR) \
	    $(DESTDIR)$(LIBEXECDIR)
	$(INSTALL) -m 755 $(CLIENTS) $(DESTDIR)$(BINDIR)
	$(INSTALL) -m 755 $(DAEMON) $(DESTDIR)$(SBINDIR)
	$(INSTALL) -m 755 $(WORKERS) $(DESTDIR)$(LIBEXECDIR)

# Files under contrib/ and man/ go where their names say.
put	= $(if $(1),$(INSTALL) -D -m 644 -t $(DESTDIR)$(2) $(1))
CONTRIB	= $(patsubst %.in,$(B)/%,$(wildcard contrib/*))

install-man:
	$(call put,$(wildcard man/*.1),$(MANDIR)/man1)
	$(call put,$(wildcard man/*.5),$(MANDIR)/man5)
	$(call put,$(wildcard man/*.7),$(MANDIR)/man7)
	$(call put,$(wildcard man/*.8),$(MANDIR)/man8)

install-contrib: $(CONTRIB)
	$(call put,$(filter %.service %.socket %.slice,$^),$(UNITDIR))
	$(if $(filter %/errand.bash,$^),$(INSTALL) -D -m 644 \
	    contrib/errand.bash \
	    $(DESTDIR)$(DATADIR)/bash-completion/completions/errand && \
	    ln -sf errand \
	    $(DESTDIR)$(DATADIR)/bash-completion/completions/errandctl)
	$(call put,$(filter contrib/_%,$^),$(DATADIR)/zsh/site-functions)
	$(call put,$(filter %.fish,$^),$(DATADIR)/fish/vendor_completions.d)
	[ -e $(DESTDIR)$(SYSCONFDIR)/errandd.conf ] || \
	    $(INSTALL) -D -m 644 -t $(DESTDIR)$(SYSCONFDIR) \
	    $(filter %/errandd.conf,$^)

clean:
	rm -rf build build-clang build-san build-clang-san build-crash \
	    build-clang-crash build-cov build-fuzz

FORCE:
.PHONY: all tests crash-build check check-unit check-system check-vm bench bench-store \
	bench-sandbox fuzz fuzz-run \
	lint coverage install install-man install-contrib clean FORCE
.SECONDARY:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

-include $(shell find $(B) -name '*.d' 2>/dev/null)
