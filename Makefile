# SPDX-License-Identifier: GPL-2.0-only
# Targets for users and developers of the project. The kernel build does not read this file; it
# reads Kbuild.

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
DESTDIR ?=
PREFIX ?= /usr/local
MODULES = $(patsubst %.o,%,$(shell sed -n 's/^obj-m := //p' Kbuild))
RELEASE := $(shell sed -n 's/^.define RNBD_RELEASE "\(.*\)"$$/\1/p' include/rnbd/version.h)

# The Makefile of userspace uses these variables, too.
export DESTDIR PREFIX

all: modules tool

help:
	@echo 'make                 build the modules (kernel $(KVER)) and the tool'
	@echo 'make install         install them here (DESTDIR, PREFIX, KVER, KDIR are honoured)'
	@echo 'make uninstall       remove what that has installed (with the same variables)'
	@echo 'make dkms            have DKMS build them for this kernel and each further one;'
	@echo '                     with DESTDIR only put the sources where DKMS looks for them'
	@echo 'make deb             Debian source package, rnbd-dkms and rnbd-tools, in build/deb'
	@echo 'make clean           remove what a build left in the checkout'
	@echo 'make hw-check TARGET=HOST CLIENT=HOST'
	@echo '                     read the environment of two machines with RDMA adapters over ssh;'
	@echo '                     with ACCEPT=yes load the modules there, test them, and restore the'
	@echo '                     machines; all options: Documentation/admin/hardware.rst'
	@echo
	@echo 'The following need root and a Debian machine, install what they need, and'
	@echo 'run in virtual machines; kernel modules are never loaded here.'
	@echo
	@echo 'make demo            target and client in two machines: the main job, end to end'
	@echo 'make check           all tests; TESTS="io-*" selects by name, JOBS=N runs N at once'
	@echo 'make check-debug     the lab tests on a kernel with KASAN, lockdep, kmemleak, ...;'
	@echo '                     the first time it is built, which takes 15 to 40 minutes'
	@echo 'make check-adapter   the lab tests that run on two modelled RDMA adapters in one machine;'
	@echo '                     the name of a test and the seed select its profile from mlx5, irdma,'
	@echo '                     bnxt_re, ionic, minimal; PROFILES="mlx5 ionic" runs each test on all'
	@echo '                     of these, SEEDS="1 2" once per seed (default 1); NASTY=LIST selects'
	@echo '                     rare but allowed behaviour (default all; none); TESTS and JOBS as above'
	@echo 'make check-cluster   OCFS2 and GFS2 on two clients of one target, nodes that die;'
	@echo '                     TESTS and JOBS as above, not a part of make check'
	@echo 'make check-long      tests that take long: make hw-check between two lab machines;'
	@echo '                     not a part of make check'
	@echo 'make fuzz            hostile input for the codec and for both ends; FUZZ=NAME selects,'
	@echo '                     FUZZ_SECONDS=60 each, SEED=N; a part of make check'
	@echo 'make fuzz-coverage   lines of the codec that the kept corpus reaches'
	@echo 'make soak            30 minutes of mixed faults under load; MINUTES=N, SEED=N'
	@echo 'make bench           side by side with nvme-rdma, the kernel RNBD, nvme-tcp and nbd;'
	@echo '                     QUICK=1 takes under ten minutes'
	@echo 'make check-unit      only the tests that need no machine'
	@echo 'make lint            all static checks'
	@echo 'make html            the documentation as HTML, in build/html (needs python3-sphinx)'
	@echo 'make doc-links       the links of the documentation to other sites, not fetched'
	@echo 'make figures         render the figures of the documentation (needs graphviz)'
	@echo 'make lab             build the lab; see scripts/lab help'

modules:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

tool:
	$(MAKE) -C userspace

install: install-modules install-tool

# Install the modules without compression and signature, even if the kernel's own modules have
# them: this machine can lack the tools and the keys. With DESTDIR, depmod would fail, because
# DESTDIR contains no modules of the kernel.
install-modules: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=updates \
		CONFIG_MODULE_COMPRESS_ALL= CONFIG_MODULE_SIG_ALL= DEPMOD=true modules_install
	$(if $(DESTDIR),,depmod $(KVER))

install-tool: tool
	$(MAKE) -C userspace install

uninstall: uninstall-modules uninstall-tool

uninstall-modules:
	rm -f $(foreach module,$(MODULES),$(DESTDIR)/lib/modules/$(KVER)/updates/$(module).ko)
	$(if $(DESTDIR),,depmod $(KVER))

uninstall-tool:
	$(MAKE) -C userspace uninstall

# Without DESTDIR, this rule first removes this release from DKMS, if DKMS has it. With DESTDIR, the
# rule only copies the sources; run "dkms install rnbd/RELEASE" on the machine that gets them.
DKMS_SOURCE = $(DESTDIR)/usr/src/rnbd-$(RELEASE)
dkms:
ifeq ($(DESTDIR),)
	@command -v dkms >/dev/null || \
		{ echo 'there is no dkms on this machine: apt-get install dkms' >&2; exit 1; }
	if [ -n "$$(dkms status rnbd/$(RELEASE))" ]; then dkms remove rnbd/$(RELEASE) --all; fi
endif
	rm -rf $(DKMS_SOURCE)
	for file in Kbuild $$(find drivers include -name '*.[ch]'); do \
		install -D -m 644 $$file $(DKMS_SOURCE)/$$file || exit; \
	done
	sed 's/#MODULE_VERSION#/$(RELEASE)/' dkms.conf >$(DKMS_SOURCE)/dkms.conf
ifeq ($(DESTDIR),)
	dkms install rnbd/$(RELEASE) -k $(KVER)
	@echo 'it goes by: dkms remove rnbd/$(RELEASE) --all && rm -r $(DKMS_SOURCE)'
endif

# Build the packages in a copy, so that the checkout stays clean.
deb:
	rm -rf build/deb
	mkdir -p build/deb/rnbd-$(RELEASE)
	cp -a Kbuild Makefile dkms.conf debian drivers include userspace Documentation \
		COPYING LICENSES ChangeLog README.md CONTRIBUTING.md SECURITY.md \
		build/deb/rnbd-$(RELEASE)
	cp -a --parents tests/hw tests/lib tests/bench/peers.sh tests/tools/gencheck \
		build/deb/rnbd-$(RELEASE)
	cd build/deb/rnbd-$(RELEASE) && dpkg-buildpackage -us -uc
	rm -r build/deb/rnbd-$(RELEASE)
	@ls build/deb/*.dsc build/deb/*.deb

lab:
	scripts/lab build

demo:
	tests/demo/run

check: export TESTS := $(TESTS)
check: export JOBS := $(JOBS)
check:
	tests/run

check-debug: export TESTS := $(TESTS)
check-debug: export JOBS := $(JOBS)
check-debug:
	LAB_KERNEL=debug tests/run

check-adapter: export TESTS := $(TESTS)
check-adapter: export JOBS := $(JOBS)
check-adapter: export ADAPTER := $(or $(PROFILES),rotate)
check-adapter: export SEED := $(or $(SEEDS),1)
check-adapter: export NASTY := $(NASTY)
check-adapter: export TURNS := $(TURNS)
check-adapter:
	SUITES=vm tests/run

check-long: export TESTS := $(TESTS)
check-long: export JOBS := $(JOBS)
check-long:
	SUITES=long tests/run

check-cluster: export TESTS := $(TESTS)
check-cluster: export JOBS := $(JOBS)
check-cluster:
	SUITES=cluster tests/run

# FUZZ=NAME runs only the test fuzz-NAME.
fuzz: export FUZZ_SECONDS := $(FUZZ_SECONDS)
fuzz: export SEED := $(SEED)
fuzz:
	tests/run 'fuzz-$(or $(FUZZ),*)'

fuzz-coverage:
	tests/fuzz/run codec --install-only
	$(MAKE) -s -C tests/fuzz coverage

# The test causes each kind of fault once, and then random faults for MINUTES minutes.
soak: MINUTES ?= 30
soak:
	scripts/lab run --nodes 2 --cpus 2 --mem 1024 --disk 32M --disk 96M \
		--ignore-report 'rxe_comp.c:[0-9]+.rxe_completer' --out build/soak \
		--timeout $$(($(MINUTES) * 60 + 1200)) tests/vm/recover-mixed-faults.sh $(MINUTES) $(SEED)

# QUICK=1 takes less than ten minutes.
bench: export QUICK := $(QUICK)
bench: export MODES := $(MODES)
bench: export SYSTEMS := $(SYSTEMS)
bench: export RUNS := $(RUNS)
bench:
	tests/bench/run

# The options of tests/hw/run are variables on the command line of make, which passes them to the
# script. The option MODULES of the script has nothing to do with MODULES above.
hw-check:
	@tests/hw/run

check-unit:
	tests/run 'unit-*'

lint:
	scripts/lint

# A warning is an error (-W), and a reference to a missing target gives a warning (-n).
html:
	@command -v sphinx-build >/dev/null || \
		{ echo 'there is no sphinx-build on this machine: apt-get install python3-sphinx' >&2; exit 1; }
	sphinx-build -E -n -W --keep-going -q -b html -d build/doctrees Documentation build/html
	@echo 'build/html/index.html'

# The sources of the figures are in the same folder. The rendered files are also in git.
FIGURES = Documentation/figures
figures:
	@command -v dot >/dev/null || \
		{ echo 'there is no dot on this machine: apt-get install graphviz' >&2; exit 1; }
	for name in objects states; do \
		dot -Tsvg $(FIGURES)/$$name.dot | sed -e '/^<!-- Generated by/,/-->/d' \
			-e '1a <!--\nSPDX-License-Identifier: GPL-2.0-only\n-->' \
			>$(FIGURES)/$$name.svg || exit; \
	done
	python3 $(FIGURES)/ladder.py >$(FIGURES)/data-path.svg
	python3 $(FIGURES)/bench.py >$(FIGURES)/bench.svg

doc-links:
	@grep -rnoE --include='*.rst' --include='*.md' 'https?://[^] <>"`)]+' \
		Documentation README.md CONTRIBUTING.md SECURITY.md | sed 's/[.,]*$$//'

clean:
	@if [ -d "$(KDIR)" ]; then $(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi
	@if [ -e userspace/Makefile ]; then $(MAKE) -C userspace clean; fi
	@if [ -e tests/unit/Makefile ]; then $(MAKE) -C tests/unit clean; fi
	rm -rf build

.PHONY: all help modules tool install install-modules install-tool uninstall uninstall-modules \
	uninstall-tool dkms deb lab demo check check-debug check-adapter check-cluster check-long check-unit fuzz fuzz-coverage \
	soak bench hw-check lint html doc-links figures clean
