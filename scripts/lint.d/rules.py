# SPDX-License-Identifier: GPL-2.0-only
"""Rules for single files: their length, their head comment, and the names in them.

Operation: each function yields a line per violation. A file whose head says that it
is auto-generated is exempt, and so is data: folders called golden, corpus or build.
"""
import os
import re

LINES_MAX = 600
FOLDERS = ('drivers', 'include', 'userspace', 'scripts', 'tests')
DATA = {'golden', 'corpus', 'build', '__pycache__'}
SOURCES = ('.c', '.h', '.sh', '.py')
SHEBANG = re.compile(rb'#!.*[/ ](ba|da)?sh\b|#!.*python|#!.*awk')
PREFIX = {'core': 'rnbd_', 'client': 'rnbdc_', 'target': 'rnbdt_'}
# Names that the kernel's headers prescribe.
KERNEL_NAMES = {'pr_fmt', 'CREATE_TRACE_POINTS', 'TRACE_SYSTEM', 'TRACE_INCLUDE_PATH',
                'TRACE_INCLUDE_FILE'}
ATTRIBUTE = re.compile(r'_*[A-Z_]*ATTR(_[A-Z_]+)?')
SPDX = r'(?://[^\n]*SPDX[^\n]*\n|/\*[^\n]*SPDX[^\n]*\*/\n)'


def generated(text):
    return 'auto-generated' in text[:300]


def files(top):
    """Paths below top of the files that people have written, with their text."""
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
    """A file of the modules begins with a comment whose first sentence says what it is."""
    if not path.startswith('drivers/') or not path.endswith(('.c', '.h')):
        return
    match = re.match(SPDX + r'\s*/\*(.*?)\*/', text, re.S)
    comment = re.sub(r'(?m)^\s*\*? ?', '', match.group(1)).strip() if match else ''
    if not re.match(r'\S+\s+\S.*?[.?](\s|$)', comment.split('\n\n')[0], re.S):
        yield '%s: the head comment has no first sentence' % path
    if re.search(r'\d\.[ch]$', path):
        yield '%s: a number does not say what the file is about' % path


def forced(source):
    """Names of a source that are part of an interface: attributes and module parameters."""
    for chunk in source.chunks:
        for token, bracket, name in zip(chunk.tokens, chunk.tokens[1:], chunk.tokens[2:]):
            if bracket.text != '(':
                continue
            if token.text.startswith('module_param'):
                yield name.text
            elif ATTRIBUTE.fullmatch(token.text):
                yield from (name.text + '_show', name.text + '_store')


def prefixes(source, exceptions):
    """What a file of a module defines begins with the prefix of the module."""
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
