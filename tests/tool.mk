# SPDX-License-Identifier: GPL-2.0-only
# How a test's tool is built and installed. Its Makefile sets, and then includes this:
#   TOOL    what it is called
#   PARTS   its C files, without .c
#   FLAGS   for the compiler, besides those that all have
#   LIBS    for the linker
# Objects go to BUILD, so that the checkout stays clean.
TESTS := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= $(TESTS)/../build/$(TOOL)
CC ?= gcc
# V=1 shows the commands
Q = $(if $(V),,@)

CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra -Wshadow -Werror -D_GNU_SOURCE $(FLAGS)

OBJS = $(PARTS:%=$(BUILD)/%.o)

all: $(BUILD)/$(TOOL)

$(BUILD)/$(TOOL): $(OBJS)
	@echo '  LD      $@'
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c Makefile $(TESTS)/tool.mk
	@mkdir -p $(BUILD)
	@echo '  CC      $<'
	$(Q)$(CC) $(CFLAGS) -MMD -c -o $@ $<

-include $(OBJS:.o=.d)

# In the machines' path
install: all
	install -D -m 755 $(BUILD)/$(TOOL) $(DESTDIR)$(PREFIX)/bin/$(TOOL)

clean:
	rm -rf $(BUILD)

.PHONY: all install clean
