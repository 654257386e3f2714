#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check the comments and documents of the tree: lint's check "prose".

Operation: the check reads what scripts/lint.d/passages.py finds in the files of the tree.
It reports words and first words that CONTRIBUTING.md replaces, pages and comments that are
too wide or too long, words that codespell knows as misspelt, and terms that the glossary
lacks, that no page uses, or that are not sorted. Generated files, data and license texts are
not read. scripts/lint.d/prose.exempt lists the exemptions and explains its form.
Errors: one line per finding on standard output, with its remedy, and exit status 1. An
exemption that nothing needs is a finding, except for spelling.
"""
import argparse
import bisect
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
# pylint: disable=wrong-import-position
import passages

EXEMPT = 'scripts/lint.d/prose.exempt'
GLOSSARY = 'Documentation/glossary.rst'
SKIPPED = {'.git', 'build', 'corpus', 'golden', 'LICENSES', '__pycache__'}
PAGE_COLUMNS, PAGE_LINES = 80, 300
COMMENT_COLUMNS, HEAD_LINES = 100, 40
TAB = 8

# Words that the check reports, each with the advice that it prints. A word in a name of the code,
# such as "told()", is not reported.
WORDS = (
    (r'whoever', 'name the subject, such as the client, the host or the administrator'),
    (r'lawful\w*', 'write "valid" or "well-behaved"'),
    (r'wish\w*', 'write "request" or "requested"'),
    (r'anew', 'write "again", or name it: reconnect, restart, reload'),
    (r'meanwhile', 'write "concurrently" or "until then"'),
    (r'signs?[\s-]of[\s-]life', 'write "keep-alive"'),
    (r'but\s+for', 'write "except" or "unless"'),
    (r'told', 'write "report", "notify", "return" or "log"'),
    (r'(?<!user\s)(?:nobody|somebody)(?=\s+[a-z])', 'name the subject, or write the passive'),
)
WORD = re.compile(r'(?<![\w@%$/.>_-])(?:' + '|'.join(
    '(' + pattern + ')' for pattern, _ in WORDS) +
    r')(?!-?\w|[(/=]|\.\w|->)', re.I)
# First words that name no subject. Allowed are "One" before a noun, as a number, and WHAT, because
# it is an argument.
STARTS = re.compile(r"""(?-i:(?!WHAT\b))(?:what|that|of|it|who|whoever|one(?=\s*[,;:.]|
    \s+(?:that|which|who|whose|of|is|was|has|had|may|can|must|will|does)\b))\b(?![\w(.=-])""",
                    re.I | re.X)
START_REMEDY = 'begin with a named thing or an imperative verb'
# A quotation does not extend over an empty line.
QUOTED = re.compile(r'"(?:[^"\n]|\n(?!\s*\n))*"')
# Where a description begins: at the begin of a passage, after an empty line, and at these labels.
BEGIN = re.compile(r"""\A\s*|\n[ \t]*\n\s*|^[ \t]*(?=@[\w.\[\]>-]+:|Returns?:|short:|\w+\(\)\s-\s)|
    \b(?=(?:Operation|Ownership|Concurrency|Errors|Context):\s)""", re.M | re.X)
# The label before a description: "@member:", "function() - ", "Return:", "function ARGUMENT...:".
LABEL = re.compile(r"""(?:@?[\w.\[\]>-]+(?:\(\))?\s-\s|@[\w.\[\]>-]+:|
    [\w-]+(?:\s["\[]?[A-Z][^a-z:]*)*:(?=\s))\s*""", re.X)


class Exemptions:
    """The lines of prose.exempt: kind, pattern of the path, texts."""

    def __init__(self, top):
        self.lines, self.errors = [], []
        try:
            with open(os.path.join(top, EXEMPT), encoding='utf-8') as file:
                lines = file.read().split('\n')
        except FileNotFoundError:
            lines = []
        for number, line in enumerate(lines, 1):
            if not line or line.startswith('#'):
                continue
            match = re.fullmatch(r'(file|head|length|spelling|start|width|word) (\S+)((?: [^:]+)?): .+', line)
            if not match or not match.group(3) and match.group(1) in ('spelling', 'start', 'word'):
                self.errors.append('%s:%d: not understood, or without a reason' % (EXEMPT, number))
                continue
            for text in match.group(3).split(',') or ['']:
                self.lines.append([number, match.group(1), match.group(2), text.strip().lower(), False])

    def cover(self, kind, path, text=''):
        text = ' '.join(text.lower().split())
        for line in self.lines:
            if line[1] == kind and line[3] == text and fnmatch.fnmatchcase(path, line[2]):
                line[4] = True
                return True
        return False

    def unused(self):
        for number, kind, path, text, used in self.lines:
            # A spelling exemption can be needed only by another version of codespell.
            if not used and kind != 'spelling':
                yield '%s:%d: nothing needs the exemption %s; remove it' % (
                    EXEMPT, number, ' '.join(filter(None, (kind, path, text))))


def read_pages(top, exemptions):
    for base, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders if f not in SKIPPED)
        for name in sorted(names):
            path = os.path.join(base, name)
            relative = os.path.relpath(path, top)
            if name.endswith('.mod.c') or os.path.islink(path):
                continue
            if '.' not in name or passages.language(relative, ''):
                try:
                    with open(path, encoding='utf-8') as file:
                        text = file.read()
                except UnicodeDecodeError:
                    continue
                page = passages.Page(relative, text)
                if page.language and not exemptions.cover('file', relative):
                    yield page


def line_of(passage, offset):
    return passage.line + passage.text.count('\n', 0, offset)


def check_words(page, exemptions):
    if page.path == GLOSSARY:
        return
    for passage in page.passages:
        text = QUOTED.sub(passages.blank, passage.text)
        for match in WORD.finditer(text):
            if not exemptions.cover('word', page.path, match.group()):
                remedy = WORDS[match.lastindex - 1][1]
                yield '%s:%d: "%s": %s' % (page.path, line_of(passage, match.start()),
                                           ' '.join(match.group().split()), remedy)


def check_starts(page, exemptions):
    """Find comments, and descriptions in kernel-doc, whose first word does not name a subject."""
    for passage in page.passages:
        if passage.kind == 'prose':
            continue
        for begin in sorted({match.end() for match in BEGIN.finditer(passage.text)}):
            label = LABEL.match(passage.text, begin)
            match = STARTS.match(passage.text, label.end() if label else begin)
            if match and not exemptions.cover('start', page.path, match.group()):
                yield '%s:%d: a comment begins with "%s": %s' % (
                    page.path, line_of(passage, match.start()), match.group(), START_REMEDY)


def check_width(page, exemptions):
    if page.language in ('rst', 'md'):
        for number, line in enumerate(page.lines, 1):
            table = page.language == 'md' and line.startswith('|')
            limit = COMMENT_COLUMNS if number in page.literal else PAGE_COLUMNS
            # A line of one word and a row of a Markdown table cannot be wrapped.
            if len(line) > limit and ' ' in line.strip() and not table and \
                    not exemptions.cover('width', page.path):
                yield '%s:%d: %d columns; wrap at %d' % (page.path, number, len(line), limit)
    for passage in page.passages:
        if passage.kind != 'comment' or page.language == 'rst':
            continue
        for number, text in enumerate(passage.text.split('\n'), passage.line):
            columns = len(page.lines[number - 1].expandtabs(TAB))
            words = text.split()
            # A comment of one word cannot be wrapped.
            if columns > COMMENT_COLUMNS and len(words) > 1 and \
                    not exemptions.cover('width', page.path, words[0].rstrip(':')) and \
                    not exemptions.cover('width', page.path):
                yield '%s:%d: the comment has %d columns; wrap it at %d' % (
                    page.path, number, columns, COMMENT_COLUMNS)


def check_length(page, exemptions):
    lines = len(page.lines) - 1
    if page.language == 'rst' and lines > PAGE_LINES and not exemptions.cover('length', page.path):
        yield '%s:%d: %d lines; divide the page, at most %d are allowed' % (
            page.path, lines, lines, PAGE_LINES)
    if page.path.endswith(('.c', '.h')):
        heads = [p for p in page.passages if p.text.strip()][:1]
        for head in heads:
            lines = head.text.count('\n') + 1
            code = re.sub(r'//[^\n]*|/\*[^\n]*\*/', '', '\n'.join(page.lines[:head.line - 1])).strip()
            if lines > HEAD_LINES and not code and not exemptions.cover('head', page.path):
                yield '%s:%d: the head comment has %d lines; move what exceeds %d to ' \
                    'Documentation/explanation' % (page.path, head.line, lines, HEAD_LINES)


def check_spelling(pages, exemptions):
    """Run codespell once, on the text of all passages."""
    starts, origins, lines = [], [], []
    for page in pages:
        for passage in page.passages:
            starts.append(len(lines) + 1)
            origins.append((page.path, passage.line))
            lines += passage.text.split('\n')
    with tempfile.NamedTemporaryFile('w', encoding='utf-8', prefix='lint-prose-') as file:
        file.write('\n'.join(lines) + '\n')
        file.flush()
        try:
            output = subprocess.run(['codespell', '--disable-colors', file.name], check=False,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except FileNotFoundError:
            yield 'codespell is missing; install the package codespell'
            return
    if output.returncode and not output.stdout:
        yield 'codespell failed: ' + output.stderr.decode().strip()
    for found in output.stdout.decode().splitlines():
        match = re.match(r'.*?:(\d+): (\S+) ==> (.*)', found)
        if not match:
            yield 'codespell: ' + found
            continue
        number, word, right = int(match.group(1)), match.group(2), match.group(3)
        nearest = bisect.bisect_right(starts, number) - 1
        path, line = origins[nearest]
        if not exemptions.cover('spelling', path, word):
            yield '%s:%d: "%s": write %s, or add the word to %s' % (
                path, line + number - starts[nearest], word, right, EXEMPT)


def defined_terms(page):
    """Yield (line, term) of a glossary: its lines with the same indentation as its first line."""
    inside, depth, options = None, None, False
    for number, line in enumerate(page.lines, 1):
        indent = len(line) - len(line.lstrip())
        if re.match(r'\s*\.\. glossary::', line):
            inside, depth, options = indent, None, True
        elif inside is None or not line.strip():
            options = options and bool(line.strip())
        elif indent <= inside:
            inside = None
        elif not (options and line.strip().startswith(':')):
            depth = indent if depth is None else depth
            if indent == depth:
                yield number, line.strip()


def check_terms(pages):
    glossary = [page for page in pages if page.path == GLOSSARY]
    if not glossary:
        return
    defined, before = {}, ''
    for line, term in defined_terms(glossary[0]):
        if term.lower() < before.lower():
            yield '%s:%d: "%s" is not sorted; move it before "%s"' % (GLOSSARY, line, term, before)
        if term.lower() in defined:
            yield '%s:%d: "%s" is defined twice; remove one' % (GLOSSARY, line, term)
        before = term
        defined[term.lower()] = line
    used = set()
    for page in pages:
        for line, term in page.terms:
            if page.path != GLOSSARY:
                used.add(term.lower())
            if term.lower() not in defined:
                yield '%s:%d: the glossary does not define "%s"; add it to %s, or do not mark it' % (
                    page.path, line, term, GLOSSARY)
    for term, line in defined.items():
        if term not in used:
            yield '%s:%d: no other page marks "%s" with :term:; mark its first use, or remove it' % (
                GLOSSARY, line, term)


def main():
    parser = argparse.ArgumentParser(description='Check the comments and documents of the tree.')
    parser.add_argument('--top', default=os.path.dirname(os.path.dirname(HERE)), help='another tree')
    args = parser.parse_args()

    exemptions = Exemptions(args.top)
    pages = list(read_pages(args.top, exemptions))
    found = list(exemptions.errors)
    for page in pages:
        for check in (check_words, check_starts, check_width, check_length):
            found += check(page, exemptions)
    found += check_spelling(pages, exemptions)
    found += check_terms(pages)
    found += exemptions.unused()
    print('\n'.join(found), end='\n' if found else '')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
