# SPDX-License-Identifier: GPL-2.0-only
"""Rules for single files: length, head comment, names, and what kernel they are for.

Operation: each check yields a line per violation. Files whose first lines say that they are
auto-generated are exempt, and so are folders with the names in DATA.
"""
import os
import re

import csource

LINES_MAX = 600
FOLDERS = ('drivers', 'include', 'userspace', 'scripts', 'tests')
DATA = {'golden', 'corpus', 'build', '__pycache__'}
SOURCES = ('.c', '.h', '.sh', '.py')
SHEBANG = re.compile(rb'#!.*[/ ](ba|da)?sh\b|#!.*python|#!.*awk')
PREFIX = {'compat': 'rnbd_compat_', 'core': 'rnbd_', 'client': 'rnbdc_', 'target': 'rnbdt_'}
# Names that the kernel's headers prescribe.
KERNEL_NAMES = {'pr_fmt', 'CREATE_TRACE_POINTS', 'TRACE_SYSTEM', 'TRACE_INCLUDE_PATH',
                'TRACE_INCLUDE_FILE'}
# Names with which code can test the version of the kernel, and names of the results of probes.
VERSION = re.compile(r'\b(?:LINUX_VERSION_\w+|KERNEL_VERSION|RHEL_\w+|UTS_RELEASE)\b|'
                     r'\b(?:linux/version|utsrelease)\.h\b')
RESULT = re.compile(r'\bRNBD_HAVE_\w+|\bRNBD_PROBE_\w+')
COMPAT = 'drivers/compat'
ATTRIBUTE = re.compile(r'_*[A-Z_]*ATTR(_[A-Z_]+)?')
SPDX = r'(?://[^\n]*SPDX[^\n]*\n|/\*[^\n]*SPDX[^\n]*\*/\n)'


def generated(text):
    return 'auto-generated' in text[:300]


def files(top):
    """Yield the path below top and the text of each source file that is not generated."""
    for folder in FOLDERS:
        for base, folders, names in os.walk(os.path.join(top, folder)):
            folders[:] = sorted(f for f in folders if f not in DATA)
            for name in sorted(names):
                path = os.path.join(base, name)
                if name.endswith('.mod.c') or os.path.islink(path):
                    continue
                with open(path, 'rb') as file:
                    if '.' in name and not name.endswith(SOURCES):
                        continue
                    if '.' not in name and not SHEBANG.match(file.readline(200)):
                        continue
                    file.seek(0)
                    text = file.read().decode('utf-8', 'replace')
                if not generated(text):
                    yield os.path.relpath(path, top), text


def length(path, text):
    lines = text.count('\n')
    if lines > LINES_MAX:
        yield '%s: %d lines; at most %d are allowed' % (path, lines, LINES_MAX)


def head(path, text):
    """Check that a file of the modules has a head comment, and a name that ends with no digit."""
    if not path.startswith('drivers/') or not path.endswith(('.c', '.h')):
        return
    match = re.match(SPDX + r'\s*/\*(.*?)\*/', text, re.S)
    comment = re.sub(r'(?m)^\s*\*? ?', '', match.group(1)).strip() if match else ''
    if not re.match(r'\S+\s+\S.*?[.?](\s|$)', comment.split('\n\n')[0], re.S):
        yield '%s: the head comment has no first sentence' % path
    if re.search(r'\d\.[ch]$', path):
        yield '%s: a number does not say what the file is about' % path


def kernel(path, text):
    """Check that no code tests kernel versions, and only drivers/compat uses the probes."""
    if not path.startswith(('drivers/', 'include/')):
        return
    text = csource.COMMENT.sub(lambda match: '\n' * match.group().count('\n'), text)
    for number, line in enumerate(text.split('\n'), 1):
        for match in VERSION.finditer(line):
            yield '%s:%d: %s: distributions port changes back; use a probe of %s' % (
                path, number, match.group(), COMPAT)
        for match in RESULT.finditer(line):
            if not path.startswith(COMPAT + '/'):
                yield '%s:%d: %s: only %s depends on what the kernel has' % (
                    path, number, match.group(), COMPAT)


def probes(top):
    """Check that each used result has a probe, and each probe is used and has two forms."""
    used, made = {}, {}
    for base, _, names in os.walk(os.path.join(top, COMPAT)):
        for name in sorted(n for n in names if n.endswith(('.c', '.h'))):
            path = os.path.join(base, name)
            with open(path, encoding='utf-8') as file:
                found = set(RESULT.findall(csource.COMMENT.sub(' ', file.read())))
            path = os.path.relpath(path, top)
            if os.path.basename(base) == 'probes':
                made['RNBD_HAVE_' + name[:-2].upper()] = path
                if 'RNBD_PROBE_NEW' not in found:
                    yield '%s: the probe does not depend on RNBD_PROBE_NEW' % path
            for result in found - {'RNBD_PROBE_NEW'}:
                used.setdefault(result, path)
    for result in sorted(set(used) - set(made)):
        yield '%s: no probe is called %s' % (used[result], result)
    for result in sorted(set(made) - set(used)):
        yield '%s: nothing uses %s' % (made[result], result)


def forced(source):
    """Yield the names that attributes and module parameters of a source prescribe."""
    for chunk in source.chunks:
        for token, bracket, name in zip(chunk.tokens, chunk.tokens[1:], chunk.tokens[2:]):
            if bracket.text != '(':
                continue
            if token.text.startswith('module_param'):
                yield name.text
            elif ATTRIBUTE.fullmatch(token.text):
                yield from (name.text + '_show', name.text + '_store')


def prefixes(source, exceptions):
    """Yield each definition in a file of a module that lacks the prefix of the module."""
    if generated(source.text):
        return
    prefix = PREFIX[source.module]
    known = KERNEL_NAMES | set(forced(source))
    for chunk in source.chunks:
        for found in chunk.defines:
            if found.made or found.name in known or \
                    found.name.startswith((prefix, prefix.upper())):
                continue
            known.add(found.name)
            if not any(e.covers(found.name) for e in exceptions):
                yield '%s:%d: %s %s does not begin with %s' % (
                    source.path, found.line, found.kind, found.name,
                    prefix.upper() if found.name.isupper() else prefix)
