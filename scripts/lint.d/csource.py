# SPDX-License-Identifier: GPL-2.0-only
"""Reads C source in kernel style: its definitions, identifiers and callbacks.

Operation: the text becomes tokens; comments vanish and a string is one token.
At file level the tokens are cut into chunks: a function, a variable, a type, a
prototype. A macro of our own that stands at file level is expanded, because it
defines something. Of an `#ifdef __KERNEL__` only the kernel's branch is read.
The reader has no types beyond that and knows nothing about scopes.
Errors: input of another style is read wrongly, not rejected; the compiler and
checkpatch have seen it before.
"""
import re

LEX = re.compile(r'''
  (?P<comment>/\*.*?\*/|//[^\n]*)
| (?P<str>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
| (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
| (?P<id>[A-Za-z_]\w*)
| (?P<num>\.?[0-9][\w.]*)
| (?P<op>->|\.\.\.|\#\#|<<=|>>=|&&|\|\||<<|>>|\+\+|--|[-+*/%&|^<>=!]=|[^\s\w])
| (?P<line>\n)
''', re.X | re.S | re.M)

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
DEFINE = re.compile(r'#\s*define\s+(\w+)(\(([^)]*)\))?(.*)', re.S)
KEYWORDS = set('''auto break case char const continue default do double else enum extern float
for goto if inline int long register restrict return short signed sizeof static struct switch
typedef union unsigned void volatile while bool true false NULL'''.split())
OPEN = {'(': ')', '[': ']', '{': '}'}
# Macros of the kernel that define a name at file level: position of the name in the arguments.
NAMING = {'LIST_HEAD': 0, 'HLIST_HEAD': 0, 'LLIST_HEAD': 0, 'DEFINE_PER_CPU': 1}
EVENTS = {'TRACE_EVENT': 0, 'DEFINE_EVENT': 1, 'DECLARE_EVENT_CLASS': 0}
# Macros and functions that set up a work item, a timer or the like: positions of the argument that
# is this item, and of the argument that is the function which the item later runs.
BINDS = {'INIT_WORK': (0, 1), 'INIT_WORK_ONSTACK': (0, 1), 'INIT_DELAYED_WORK': (0, 1),
         'INIT_DEFERRABLE_WORK': (0, 1), 'INIT_RCU_WORK': (0, 1), 'DECLARE_WORK': (0, 1),
         'DECLARE_DELAYED_WORK': (0, 1), 'DEFINE_TIMER': (0, 1), 'timer_setup': (0, 1),
         'tasklet_setup': (0, 1), 'init_irq_work': (0, 1), 'kthread_init_work': (0, 1)}
# Functions that queue or start such an item: position of the item in the arguments.
RUNS = {'queue_work': 1, 'queue_work_on': 2, 'queue_delayed_work': 1,
        'queue_delayed_work_on': 2, 'mod_delayed_work': 1, 'mod_delayed_work_on': 2,
        'queue_rcu_work': 1, 'schedule_work': 0, 'schedule_delayed_work': 0, 'mod_timer': 0,
        'add_timer': 0, 'tasklet_schedule': 0, 'irq_work_queue': 0, 'kthread_queue_work': 1}


class Token:
    """A token; `made` if the expansion of a macro made it, so that the file does not contain it."""
    __slots__ = ('kind', 'text', 'line', 'made')

    def __init__(self, kind, text, line, made=False):
        self.kind, self.text, self.line, self.made = kind, text, line, made


class Macro:
    """A macro: its parameters, or None if it has no parentheses, and its body."""

    def __init__(self, name, params, body, line):
        self.name, self.params, self.body, self.line = name, params, body, line


class Definition:
    """Something with a name: kind is function, variable, macro, constant, type or event."""

    def __init__(self, name, kind, line, static=False, made=False):
        self.name, self.kind, self.line = name, kind, line
        self.static, self.made = static, made
        self.source = self.unit = None


class Chunk:
    """Tokens of one file-level construct, with what it defines."""

    def __init__(self, tokens, defines, declaration=False):
        self.tokens, self.defines, self.declaration = tokens, defines, declaration


def tokenize(text, line=1):
    """Returns tokens and directives [(text, line)] of a text that begins on the given line."""
    tokens, directives, skipping = [], [], []
    for match in LEX.finditer(text):
        kind, piece = match.lastgroup, match.group()
        if kind == 'directive':
            piece = piece.strip()
            if not conditional(piece, skipping) and not any(skipping):
                directives.append((piece, line))
        elif kind in ('str', 'id', 'num', 'op') and not any(skipping):
            tokens.append(Token(kind, piece, line))
        line += piece.count('\n') if kind != 'directive' else match.group().count('\n')
    return tokens, directives


def conditional(directive, skipping):
    """Follow #if and the like; code is hidden while the stack has an entry that is True."""
    word = re.match(r'#\s*(\w*)', directive).group(1)
    if word in ('if', 'ifdef', 'ifndef'):
        hidden = re.match(r'#\s*(ifndef\s+__KERNEL__|if\s+0)\b', directive) is not None
        known = hidden or re.match(r'#\s*ifdef\s+__KERNEL__\b', directive) is not None
        skipping.append(hidden if known else None)
    elif word in ('else', 'elif') and skipping:
        if skipping[-1] is not None:
            skipping[-1] = not skipping[-1]
    elif word == 'endif' and skipping:
        skipping.pop()
    else:
        return False
    return True


def match_close(tokens, start):
    """Index of the token that closes the bracket at start."""
    depth = 0
    for i in range(start, len(tokens)):
        if tokens[i].text in OPEN:
            depth += 1
        elif tokens[i].text in ')]}':
            depth -= 1
            if depth == 0:
                return i
    return len(tokens) - 1


def arguments(tokens, start):
    """Return the tokens of each argument in the parentheses at start, and where these close."""
    end = match_close(tokens, start)
    args, i = [[]], start + 1
    while i < end:
        stop = match_close(tokens, i) if tokens[i].text in OPEN else i
        if tokens[i].text == ',':
            args.append([])
        else:
            args[-1].extend(tokens[i:stop + 1])
        i = stop + 1
    return args, end


def expand(macro, args, line):
    """The body of a macro with its arguments put in, as tokens of the given line."""
    params = macro.params
    if params and params[-1].endswith('...'):
        last = params[-1][:-3].strip() or '__VA_ARGS__'
        params = params[:-1] + [last]
        tail = []
        for n, arg in enumerate(args[len(params) - 1:]):
            tail += ([Token('op', ',', line)] if n else []) + arg
        args = args[:len(params) - 1] + [tail]
    values = dict(zip(params, args))
    out, body, i = [], macro.body, 0
    while i < len(body):
        token = body[i]
        if token.text == '##' and out and i + 1 < len(body):
            following = values.get(body[i + 1].text, [body[i + 1]])
            if following:
                out[-1] = Token('id', out[-1].text + following[0].text, line, True)
                out += following[1:]
            i += 2
            continue
        if token.text == '#' and i + 1 < len(body):
            out.append(Token('str', '""', line))
            i += 2
            continue
        if token.text in values:
            out += [Token(t.kind, t.text, line, t.made) for t in values[token.text]] or \
                ([Token('op', '', line)] if i + 1 < len(body) and body[i + 1].text == '##' else [])
        else:
            out.append(Token(token.kind, token.text, line, True))
        i += 1
    return [t for t in out if t.text]


def chunks(tokens, macros):
    """Cut file-level tokens into chunks; macros maps names to the macros that our files define."""
    i = 0
    while i < len(tokens):
        if tokens[i].text == ';':
            i += 1
            continue
        start = i
        head = i + 1 if tokens[i].text == 'static' else i
        if head + 1 < len(tokens) and is_macro_call(tokens, head, macros):
            args, end = arguments(tokens, head + 1)
            macro = macros.get(tokens[head].text)
            after = tokens[end + 1].text if end + 1 < len(tokens) else ';'
            if macro is not None and macro.params is not None:
                made = tokens[start:head] + expand(macro, args, tokens[head].line)
                if made:
                    yield from chunks(made + [Token('op', ';', made[-1].line)], macros)
                i = end + 1
                continue
            if after not in ('{', '='):
                yield Chunk(tokens[start:end + 1], kernel_macro(tokens[head], args, head > start))
                i = end + 1
                continue
        end, braces = start, []
        while end < len(tokens) and tokens[end].text != ';':
            if tokens[end].text in OPEN:
                close = match_close(tokens, end)
                if tokens[end].text == '{':
                    braces.append(end)
                    if is_function(tokens[start:end]):
                        end = close
                        break
                end = close
            end += 1
        yield classify(tokens[start:min(end + 1, len(tokens))])
        i = end + 1


def is_macro_call(tokens, i, macros):
    token = tokens[i]
    if token.kind != 'id' or tokens[i + 1].text != '(':
        return False
    return token.text in macros or re.fullmatch(r'_*[A-Z][A-Z0-9_]*', token.text) is not None or \
        token.text.startswith('module_')


def kernel_macro(token, args, static):
    """Return what a macro of the kernel defines at file level."""
    name = token.text
    if name in EVENTS:
        arg = args[EVENTS[name]]
        return [Definition(arg[0].text, 'event', arg[0].line, made=arg[0].made)]
    position = NAMING.get(name)
    if position is None and re.match(r'(DEFINE|DECLARE)_', name):
        position = 0
    if position is None or not args[position]:
        return []
    found = args[position][-1]
    return [Definition(found.text, 'variable', found.line, static, found.made)]


def outside(tokens):
    """Yield the indices of the tokens outside of brackets, and of the outermost opening ones."""
    i = 0
    while i < len(tokens):
        yield i
        i = match_close(tokens, i) + 1 if tokens[i].text in OPEN else i + 1


def function_name(tokens):
    """The name in the head of a function: what stands before its parameters."""
    name = None
    for i in outside(tokens):
        if tokens[i].text == '(' and i and tokens[i - 1].kind == 'id' and \
                not tokens[i - 1].text.startswith('__') and tokens[i - 1].text not in KEYWORDS:
            name = tokens[i - 1]
    return name


def is_function(head):
    return not any(head[i].text == '=' for i in outside(head)) and \
        function_name(head) is not None and head[0].text != 'typedef'


def classify(tokens):
    """A chunk that no macro made."""
    texts = [tokens[i].text for i in outside(tokens)]
    static = 'static' in texts
    if tokens[-1].text == '}' and '{' in texts:
        head = tokens[:next(i for i in outside(tokens) if tokens[i].text == '{')]
        if is_function(head):
            name = function_name(head)
            return Chunk(tokens, [Definition(name.text, 'function', name.line, static, name.made)])
    defines = types(tokens)
    if texts[0] == 'typedef':
        return Chunk(tokens, defines + [Definition(t.text, 'type', t.line) for t in
                                        typedef_name(tokens)])
    if '=' not in texts and function_name(tokens) is not None:
        return Chunk(tokens, defines, declaration=True)
    if 'extern' in texts:
        return Chunk(tokens, defines, declaration=True)
    name = variable_name(tokens)
    if name is not None:
        # A declaration such as "static const struct ops o;" counts as a definition, too.
        defines.append(Definition(name.text, 'variable', name.line, static, name.made))
    return Chunk(tokens, defines)


def types(tokens):
    """Struct, union and enum tags, and constants, that are defined at file level."""
    found = []
    for i in outside(tokens):
        if tokens[i].text not in ('struct', 'union', 'enum'):
            if tokens[i].text == '=':
                break
            continue
        j = i + 1
        while j < len(tokens) and tokens[j].kind == 'id' and tokens[j].text.startswith('__'):
            j = match_close(tokens, j + 1) + 1 if tokens[j + 1].text == '(' else j + 1
        if j < len(tokens) and tokens[j].kind == 'id' and j + 1 < len(tokens) and \
                tokens[j + 1].text == '{':
            found.append(Definition(tokens[j].text, 'type', tokens[j].line, made=tokens[j].made))
            j += 1
        if tokens[i].text == 'enum' and j < len(tokens) and tokens[j].text == '{':
            for part in arguments(tokens, j)[0]:
                if part:
                    found.append(Definition(part[0].text, 'constant', part[0].line,
                                            made=part[0].made))
    return found


def typedef_name(tokens):
    for i, token in enumerate(tokens):
        if token.text == '(' and tokens[i + 1].text == '*' and tokens[i + 2].kind == 'id':
            return [tokens[i + 2]]
    ids = [tokens[i] for i in outside(tokens) if tokens[i].kind == 'id']
    return ids[-1:]


def variable_name(tokens):
    """The variable that a chunk defines, or None if it only defines or names a type."""
    name, previous = None, None
    for i in outside(tokens):
        text = tokens[i].text
        if text in ('=', ';', ',', '['):
            break
        if text == '(' and tokens[i + 1].text == '*' and tokens[i + 2].kind == 'id':
            return tokens[i + 2]
        if tokens[i].kind == 'id' and text not in KEYWORDS and not text.startswith('__'):
            name = tokens[i] if previous not in ('struct', 'union', 'enum') else name
        previous = text
    return name


def function_members(chunk):
    """Return, for each struct that the chunk defines, its members that point to functions."""
    found = {}
    tokens = chunk.tokens
    for i in range(len(tokens) - 2):
        if tokens[i].text == 'struct' and tokens[i + 2].text == '{':
            end = match_close(tokens, i + 2)
            members = {tokens[j + 2].text for j in range(i + 2, end - 3)
                       if tokens[j].text == '(' and tokens[j + 1].text == '*' and
                       tokens[j + 3].text == ')' and tokens[j + 4].text == '('}
            found[tokens[i + 1].text] = members
    return found


class Source:
    """A file: includes, macros, and after parse() its chunks."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.header = path.endswith('.h')
        self.tokens, directives = tokenize(text)
        self.includes, self.macros, self.chunks = [], {}, []
        for directive, line in directives:
            match = re.match(r'#\s*include\s+"([^"]+)"', directive)
            if match:
                self.includes.append((match.group(1), line))
            match = DEFINE.match(COMMENT.sub(' ', directive).replace('\\\n', ' \n'))
            if match:
                name, parens, params, body = match.groups()
                params = [p.strip() for p in params.split(',')] if parens else None
                # The added ";" keeps a "#" in the body from looking like a directive.
                body = tokenize(';' + body.replace('\n', ' '), line)[0][1:]
                self.macros[name] = Macro(name, params, body, line)

    def parse(self, macros):
        known = dict(macros)
        known.update(self.macros)
        self.chunks = list(chunks(self.tokens, known))
        for macro in self.macros.values():
            self.chunks.append(Chunk(macro.body, [Definition(macro.name, 'macro', macro.line)]))
        for chunk in self.chunks:
            for definition in chunk.defines:
                definition.source = self
