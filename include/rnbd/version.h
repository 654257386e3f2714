/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The release of modules and tool, which come from one tree. All that can take
 * it from here does; that debian/changelog and the man pages say the same is
 * checked by scripts/lint. It is not the version of the wire format (wire.h).
 */
#ifndef RNBD_VERSION_H
#define RNBD_VERSION_H

#define RNBD_RELEASE "0.1.0"

#endif /* RNBD_VERSION_H */
