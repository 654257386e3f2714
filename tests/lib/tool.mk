# SPDX-License-Identifier: GPL-2.0-only
# Rules to build and install a tool for tests. The Makefile of the tool sets these variables, and
# then includes this file:
#   TOOL    name of the program
#   FLAGS   options of the compiler, in addition to those of all tools
#   LIBS    options of the linker
# The tool consists of the C files of its folder, except test_*.c, which are unit tests.
# Objects go to BUILD, so that the checkout stays clean.
LIB := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= $(LIB)/../../build/tools/$(TOOL)
CC ?= gcc
# V=1 shows the commands
Q = $(if $(V),,@)

CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra -Wshadow -Werror -D_GNU_SOURCE $(FLAGS)

OBJS = $(patsubst %.c,$(BUILD)/%.o,$(filter-out test_%,$(wildcard *.c)))

all: $(BUILD)/$(TOOL)

$(BUILD)/$(TOOL): $(OBJS)
	@echo '  LD      $@'
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c Makefile $(LIB)/tool.mk
	@mkdir -p $(BUILD)
	@echo '  CC      $<'
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(OBJS:.o=.d)

# The folder PREFIX/bin is in the PATH of the lab machines.
install: all
	install -D -m 755 $(BUILD)/$(TOOL) $(DESTDIR)$(PREFIX)/bin/$(TOOL)

clean:
	rm -rf $(BUILD)

.PHONY: all install clean
