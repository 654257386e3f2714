/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Release of the modules and the tool, which are built from one tree. Code takes the release
 * from here; scripts/lint checks that debian/changelog and the man pages name this release.
 * The version of the wire format is a different number (wire.h).
 */
#ifndef RNBD_VERSION_H
#define RNBD_VERSION_H

#define RNBD_RELEASE "0.1.0"

#endif /* RNBD_VERSION_H */
