#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the SPDX lines of the tree with what documents them: lint's check "licence".

Operation: every source file has exactly one SPDX line, among its first three lines. Its
expression consists of identifiers that a text in LICENSES/ declares, is listed in COPYING,
and is what debian/copyright says of that file. The documents name nothing else: each text
in LICENSES/, each expression in COPYING and each paragraph of debian/copyright is in use.

Errors: one line per finding on standard output, and exit status 1.
"""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

TAG = "SPDX-License-Identifier:"
OPERATORS = {"AND", "OR", "WITH"}

# Files without an SPDX line: data, formats without comments, and texts that have no such line in
# other projects either (Documentation/ABI in the kernel, the files of Debian packages).
EXEMPT = (
    "COPYING", "ChangeLog", "LICENSES/*", "*.md", "Documentation/ABI/*",
    "*/corpus/*", "*/golden/*",
    "debian/changelog", "debian/control", "debian/copyright", "debian/rnbd-*.d*",
    "debian/source/format",
)

findings = []


def complain(where, what):
    findings.append(f"{where}: {what}")


def tracked_files():
    """List the existing files that git tracks, or that "git add" would add."""
    if not Path(".git").exists():
        sys.exit("licence: run this in a git checkout: it reads the files that git knows")
    names = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    return sorted({name for name in names if name and Path(name).is_file()})


def identifiers(expression):
    return [word for word in re.findall(r"[^\s()]+", expression) if word not in OPERATORS]


def read_texts():
    """Return the file in LICENSES/ of each license, and of each exception with its licenses."""
    licenses, exceptions = {}, {}
    for path in sorted(Path("LICENSES").glob("*/*")):
        head = path.read_text().split("License-Text:")[0]
        for name in re.findall(r"^Valid-License-Identifier: (\S+)$", head, re.M):
            licenses[name] = path
        for name in re.findall(r"^SPDX-Exception-Identifier: (\S+)$", head, re.M):
            allowed = re.search(r"^SPDX-Licenses: (.*)$", head, re.M)
            exceptions[name] = (path, re.split(r",\s*", allowed[1]) if allowed else [])
    return licenses, exceptions


def spdx_expression(name):
    """Return the expression of a source file, or None after a complaint."""
    found = []
    for number, line in enumerate(Path(name).read_text(errors="replace").split("\n"), 1):
        # Only a comment that begins a line counts: programs and texts can mention the tag.
        match = re.match(rf'(?:#|//|/\*|\.\.|\.\\"|;|--)? ?{TAG} (.*?)(?: \*/)?$', line)
        if match:
            found.append((number, match[1]))
    if not found:
        complain(name, "no SPDX line")
    elif len(found) > 1:
        complain(name, f"{len(found)} SPDX lines")
    elif found[0][0] > 3:
        complain(name, f"the SPDX line is line {found[0][0]}, not one of the first three")
    else:
        return found[0][1]
    return None


def check_expression(name, expression, licenses, exceptions):
    for word in identifiers(expression):
        if word not in licenses and word not in exceptions:
            complain(name, f"no file in LICENSES/ declares {word}")
    for base, exception in re.findall(r"([^\s()]+) WITH ([^\s()]+)", expression):
        if exception in exceptions and base not in exceptions[exception][1]:
            complain(name, f"{exception} is not made for {base}")


def debian_name(expression):
    """Convert an SPDX expression to the syntax of debian/copyright."""
    # GPL-2.0 is the older identifier of the same license.
    name = re.sub(r"\bGPL-2\.0(?![-+.\w])", "GPL-2.0-only", re.sub(r"[()]", "", expression))
    name = re.sub(r" WITH (\S+)", r" with \1 exception", name)
    return name.replace(" OR ", " or ").replace(" AND ", " and ")


def read_debian_copyright():
    """Return the pairs of file pattern and license, and the licenses whose text is there."""
    patterns, texts = [], []
    for paragraph in Path("debian/copyright").read_text().split("\n\n"):
        license_ = re.search(r"^License: (.*)$", paragraph, re.M)
        files = re.search(r"^Files:((?:.*\n?)(?: .*\n?)*)", paragraph, re.M)
        if files:
            patterns += [(pattern, license_[1]) for pattern in files[1].split()]
        elif license_:
            texts.append(license_[1])
    return patterns, texts


def check_debian(expressions, files):
    patterns, texts = read_debian_copyright()
    used = set()
    for name in files:
        # The last matching pattern of debian/copyright applies.
        pattern, license_ = [p for p in patterns if fnmatch.fnmatchcase(name, p[0])][-1]
        used.add(pattern)
        if name in expressions and debian_name(expressions[name]) != license_:
            complain(name, f"{expressions[name]}, but debian/copyright says {license_} of {pattern}")
    for pattern, license_ in patterns:
        if pattern not in used:
            complain("debian/copyright", f"no file matches {pattern}")
    wanted = {part for _, license_ in patterns for part in license_.split(" or ")}
    for part in sorted(wanted ^ set(texts)):
        complain("debian/copyright", f"{part}: " + ("no paragraph has its text" if part in wanted
                                                   else "no file has this license"))


def main():
    licenses, exceptions = read_texts()
    known = set(licenses) | set(exceptions)
    files = tracked_files()
    expressions = {}
    for name in files:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in EXEMPT):
            continue
        # A manual page that is only another name of a page consists of this line.
        if re.fullmatch(r"\.so \S+\n", Path(name).read_text(errors="replace")):
            continue
        expression = spdx_expression(name)
        if expression:
            expressions[name] = expression
            check_expression(name, expression, licenses, exceptions)

    listed = {line[1:] for line in Path("COPYING").read_text().split("\n")
              if line.startswith("\t") and identifiers(line) and known.issuperset(identifiers(line))}
    for name, expression in expressions.items():
        if expression not in listed:
            complain(name, f"COPYING does not list {expression}")
    for expression in sorted(listed - set(expressions.values())):
        complain("COPYING", f"no file is under {expression}")
    used = {word for expression in expressions.values() for word in identifiers(expression)}
    for path in sorted(Path("LICENSES").glob("*/*")):
        names = {word for word in known
                 if path in (licenses.get(word), exceptions.get(word, (None,))[0])}
        if not names & used:
            complain(path, "no SPDX line refers to this text")
    check_debian(expressions, files)

    if findings:
        print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
