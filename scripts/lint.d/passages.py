# SPDX-License-Identifier: GPL-2.0-only
"""Find the prose in a file: the comments of source code and the text of documents.

Operation: a Page has the passages of a file, such as a comment or a paragraph. Literals and
markup within a passage become "#", so that each line keeps its number. Strings and
here-documents are not prose. The docstrings of Python are.
Errors: a file whose language is unknown has no passages. A file that cannot be parsed is
read as far as possible; the compilers and shellcheck report it.
"""
import io
import os
import re
import tokenize

C_TOKEN = re.compile(r'''(?P<comment>/\*.*?\*/|//[^\n]*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*\'''',
                     re.S)
HEREDOC = re.compile(r'''(?<![<\w)])<<-?(["']?)\\?([A-Za-z_]\w*)\1''')
# A comment of a shell script, a makefile or a configuration file, after code whose quotes match.
HASH = re.compile(r"""(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^"'\\])*?\s\#(?!!)(?P<text>.*)""")
# Directives of reStructuredText whose content is no prose.
LITERAL = {'code-block', 'graphviz', 'literalinclude', 'math', 'parsed-literal', 'raw', 'toctree'}
# Directives with a path as argument.
PATH = {'figure', 'image', 'include'}
TERM = re.compile(r':term:`([^`<]+)(?:<([^>`]+)>)?`')
MARKUP = {
    'rst': re.compile(r':[\w:+-]+:(?=`)|\s*<[^<>`]*>(?=`)|(?<!\w)`_*|`__?'),
    'md': re.compile(r'`[^`]+`|\]\([^)]*\)|<https?:[^>]*>|https?:\S+'),
    'man': re.compile(r'\\fB.*?\\f[RP]|\\f.|\\\(..', re.S),
}
SUFFIXES = {'.c': 'c', '.h': 'c', '.py': 'python', '.rst': 'rst', '.md': 'md', '.yaml': 'yaml',
            '.dot': 'c'}
SUFFIXES.update((suffix, 'hash') for suffix in (
    '.sh', '.mk', '.conf', '.config', '.floors', '.rules', '.in', '.exempt', '.postrm', '.prerm',
    '.dirs', '.dkms'))
SUFFIXES.update(('.%d' % section, 'man') for section in range(1, 9))
NAMES = {'Makefile': 'hash', 'Kbuild': 'hash', '.gitignore': 'hash', 'ChangeLog': 'text',
         'COPYING': 'text', 'changelog': 'text', 'control': 'text'}
PATHS = {'Documentation/ABI': 'text', 'scripts/lint.d': 'hash', 'scripts/lab.d': 'hash',
         'debian': 'hash'}


class Passage:
    """A comment, a docstring or a paragraph of a document.

    kind: comment, doc (a description in a specification), or prose (of a document)
    line: number of its first line
    text: its lines, without the characters that mark a comment
    """

    def __init__(self, kind, line, text):
        self.kind, self.line, self.text = kind, line, text


class Page:
    """A file.

    language: a find_ function of this name reads it; None if there is none
    passages: its prose
    literal: the lines that are literal blocks (rst and md)
    terms: (line, term) of each :term: (rst)
    """

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.lines = text.split('\n')
        self.language = language(path, self.lines[0])
        self.literal, self.terms, self.passages = set(), [], []
        if self.language and 'Do not edit directly, auto-generated' not in text[:300]:
            self.passages = list(globals()['find_' + self.language](self))


def language(path, first):
    name = os.path.basename(path)
    folder = os.path.dirname(path)
    suffix = os.path.splitext(name)[1]
    if name in NAMES or suffix in SUFFIXES:
        return NAMES.get(name) or SUFFIXES[suffix]
    if first.startswith('#!'):
        return 'python' if 'python' in first else 'hash'
    return PATHS.get(folder)


def blank(match):
    return re.sub(r'[^\n]', '#', match.group())


def uncomment(lines):
    """Yield the lines of a comment of C without comment marks; the SPDX line becomes empty."""
    for line in lines:
        line = re.sub(r'^\s*(?:/\*+|\*+/|\*|//+)?(?: ?\*+/$)? ?|\s*\*/$', '', line)
        yield '' if line.startswith('SPDX-') else line


def find_c(page):
    for match in C_TOKEN.finditer(page.text):
        if match.group('comment'):
            line = page.text.count('\n', 0, match.start()) + 1
            yield Passage('comment', line, '\n'.join(uncomment(match.group().split('\n'))))


def hash_comments(lines):
    """Yield (line, column, text) of each comment that begins with "#"."""
    end = None
    for number, line in enumerate(lines, 1):
        if end is not None:
            if line.strip() == end:
                end = None
            continue
        code = line
        stripped = line.lstrip()
        if stripped.startswith('#'):
            if not stripped.startswith('#!'):
                yield number, len(line) - len(stripped), stripped[1:]
            continue
        match = HASH.match(line) if '#' in line else None
        if match:
            code = line[:match.start('text')]
            yield number, None, match.group('text')
        match = HEREDOC.search(code)
        if match and any(later.strip() == match.group(2) for later in lines[number:]):
            end = match.group(2)


def join(comments):
    """Make passages of comments; adjacent lines without code and in one column are one passage."""
    run = []
    for number, column, text in comments:
        text = '' if text.startswith(' SPDX-') else text[1:] if text.startswith(' ') else text
        if run and (column is None or column != run[-1][1] or number != run[-1][0] + 1):
            yield Passage('comment', run[0][0], '\n'.join(r[2] for r in run))
            run = []
        run.append((number, column, text))
    if run:
        yield Passage('comment', run[0][0], '\n'.join(r[2] for r in run))


def find_hash(page):
    return join(hash_comments(page.lines))


def find_python(page):
    comments, previous = [], tokenize.NEWLINE
    try:
        for token in tokenize.generate_tokens(io.StringIO(page.text).readline):
            row, column = token.start
            if token.type == tokenize.COMMENT:
                alone = not token.line[:column].strip()
                if not token.string.startswith('#!'):
                    comments.append((row, column if alone else None, token.string[1:]))
            elif token.type == tokenize.STRING and previous in (
                    tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                yield Passage('comment', row, token.string.strip('"\''))
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                previous = token.type
    except (tokenize.TokenError, SyntaxError):
        pass
    yield from join(comments)


def find_yaml(page):
    """The comments of a netlink specification and its descriptions ("doc:")."""
    yield from find_hash(page)
    doc, depth, start = None, 0, 0
    for number, line in enumerate(page.lines + ['end'], 1):
        indent = len(line) - len(line.lstrip())
        if doc is not None and line.strip() and indent <= depth:
            yield Passage('doc', start, '\n'.join(doc))
            doc = None
        match = re.match(r'([ -]*)doc:(?: [|>]-?$)?(.*)', line)
        if match:
            doc, depth, start = [match.group(2).strip()], len(match.group(1)), number
        elif doc is not None:
            doc.append(line.strip())


def paragraphs(numbered, markup=None):
    """Make passages of adjacent (line, text); an empty text separates two passages."""
    run = []
    for number, text in list(numbered) + [(0, '')]:
        if text.strip() and (not run or number == run[-1][0] + 1):
            run.append((number, text))
            continue
        if run:
            joined = '\n'.join(r[1] for r in run)
            yield Passage('prose', run[0][0], MARKUP[markup].sub(blank, joined) if markup else joined)
        run = [(number, text)] if text.strip() else []


def find_text(page):
    return paragraphs(enumerate(page.lines, 1))


def find_man(page):
    literal, prose = False, []
    for number, line in enumerate(page.lines, 1):
        literal = {'.nf': True, '.EX': True, '.fi': False, '.EE': False}.get(line[:3], literal)
        # The line after .TP is the tag of a paragraph, which is no prose.
        tag = number > 1 and page.lines[number - 2][:3] == '.TP'
        prose.append((number, '' if literal or tag or line[:1] in '.\'' else line))
    return paragraphs(prose, 'man')


def find_md(page):
    fence, before, prose = False, '', []
    for number, line in enumerate(page.lines, 1):
        if line.startswith('```'):
            fence = not fence
        code = fence or (line.startswith('    ') and (not before.strip() or number - 1 in page.literal))
        if code:
            page.literal.add(number)
        prose.append((number, '' if code else line))
        before = line
    return paragraphs(prose, 'md')


def find_rst(page):
    """The paragraphs of a page without its literal blocks, its comments and its directives."""
    prose, comment = [], []
    # inside: kind of the block whose content is skipped (literal or comment); parent: indentation
    # of the line before the block; depth: indentation of the first line of the block.
    inside = parent = depth = None
    for number, line in enumerate(page.lines, 1):
        indent = len(line) - len(line.lstrip())
        text = line
        if inside and line.strip():
            if depth is None and indent > parent:
                depth = indent
            elif depth is None or indent < depth:
                inside = None
        if inside:
            if inside == 'literal':
                page.literal.add(number)
            elif inside == 'comment' and line.strip():
                comment.append((number, line))
            prose.append((number, ''))
            continue
        directive = re.match(r'\s*\.\. ([\w-]+)::(.*)', line)
        if directive:
            text = '' if directive.group(1) in LITERAL | PATH else directive.group(2)
            if directive.group(1) in LITERAL:
                inside, parent, depth = 'literal', indent, None
        elif re.match(r'\s*\.\. [_|[]', line):
            text = ''
        elif re.match(r'\s*\.\.( |$)', line):
            text = line.strip()[3:]
            comment.append((number, '' if text.startswith('SPDX-') else text))
            inside, parent, depth, text = 'comment', indent, None, ''
        elif re.match(r'\s*:[\w -]+:( |$)', line):
            text = re.sub(r'^\s*:[\w -]+:', '', line)
        elif line.rstrip().endswith('::'):
            inside, parent, depth = 'literal', indent, None
        prose.append((number, text))
    for passage in paragraphs(comment):
        passage.kind = 'comment'
        yield passage
    for passage in paragraphs(prose):
        text = re.sub(r'``.+?``', blank, passage.text, flags=re.S)
        for match in TERM.finditer(text):
            page.terms.append((passage.line + text.count('\n', 0, match.start()),
                               ' '.join((match.group(2) or match.group(1)).split())))
        passage.text = MARKUP['rst'].sub(blank, text)
        yield passage
