# SPDX-License-Identifier: GPL-2.0-only
# The files of drivers/core that also compile in user space, without .c. The Makefiles of
# the unit tests and of the fuzzer include this list.

# encoders and decoders of messages
CODEC	:= frame ctl attach io cm login lease geometry discover slots
# all these files
CORE	:= $(CODEC) op names status auth secret pool flow
