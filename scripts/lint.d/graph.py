# SPDX-License-Identifier: GPL-2.0-only
"""Computes the dependencies between the files of the kernel modules.

Operation: a unit is NAME.c with NAME.h. Unit A depends on unit B if A includes
B's header, if A uses an identifier that B defines, or if A calls a function of B
through a pointer. Pointers are matched by their name: a file that writes
`->member(` or queues the work item calls every file of the module that supplies
a function for a member of that name. An exception: if a unit queues a work item
whose function the unit itself supplies, it calls no other unit for that. If a
function is passed to a function of another unit, that unit calls it. Functions that
only the kernel calls make no edge.
Errors: Graph.missing lists each #include of a file that is not below drivers/.
"""
import os

import csource

MODULES = ('compat', 'core', 'client', 'target')
# For each folder, the other folders whose files its files may use; compat may use none.
LOWER = {'compat': (), 'core': ('compat',), 'client': ('core', 'compat'),
         'target': ('core', 'compat')}


class Reason:
    """Why there is an edge: kind is include, call, use or callback; goal is the file used."""

    def __init__(self, kind, name, path, line, goal):
        self.kind, self.name, self.path, self.line, self.goal = kind, name, path, line, goal


class Unit:
    """A node: its module and its name."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __str__(self):
        return self.module + '/' + self.name


class Graph:
    """All units below drivers/ of a tree, and edges {(from, to): [Reason]} between them."""

    def __init__(self, top, joined):
        """joined: {(module, file name without suffix): name of the unit it belongs to}"""
        self.top, self.joined = top, joined
        self.units, self.sources, self.edges, self.missing = {}, {}, {}, []
        for module in MODULES:
            folder = os.path.join(top, 'drivers', module)
            for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
                if name.endswith(('.c', '.h')) and not name.endswith('.mod.c'):
                    self.read(module, name)
        self.globals = {module: {} for module in MODULES}
        self.pointers = {}
        for source in self.sources.values():
            self.parse(source)
        self.supplied, self.bound = {}, {}
        for source in self.sources.values():
            for chunk in source.chunks:
                self.supplies(source, chunk)
        for source in self.sources.values():
            self.includes(source)
            for chunk in source.chunks:
                self.uses(source, chunk)
                self.callbacks(source, chunk)

    def read(self, module, name):
        stem = name.rsplit('.', 1)[0]
        stem = self.joined.get((module, stem), stem)
        unit = self.units.setdefault((module, stem), Unit(module, stem))
        path = 'drivers/%s/%s' % (module, name)
        with open(os.path.join(self.top, path), encoding='utf-8') as file:
            source = csource.Source(path, file.read())
        source.module, source.unit, source.file_names = module, unit, {}
        self.sources[path] = source

    def parse(self, source):
        macros = {}
        for other in self.sources.values():
            if other.header and other.module in (source.module,) + LOWER[source.module]:
                macros.update(other.macros)
        source.parse(macros)
        for chunk in source.chunks:
            for found in chunk.defines:
                found.unit = source.unit
                if found.kind == 'event':
                    self.globals[source.module]['trace_' + found.name] = found
                    self.globals[source.module]['trace_%s_enabled' % found.name] = found
                elif found.kind == 'type':
                    continue
                elif source.header or (not found.static and found.kind in ('function', 'variable')):
                    self.globals[source.module][found.name] = found
                if not source.header:
                    source.file_names[found.name] = found
            for struct, members in csource.function_members(chunk).items():
                self.pointers.setdefault(struct, set()).update(members)

    def find(self, source, name):
        """The definition that an identifier of a source means, or None."""
        found = source.file_names.get(name)
        for module in (source.module,) + LOWER[source.module]:
            found = found or self.globals[module].get(name)
        if found is None:
            for module in MODULES:
                other = self.globals[module].get(name)
                if other is not None and other.kind in ('function', 'variable') and \
                        not other.source.header:
                    found = other
        return found

    def function(self, source, token):
        if token.kind != 'id':
            return None
        found = self.find(source, token.text)
        return found if found is not None and found.kind == 'function' else None

    def variable(self, source, token):
        found = self.find(source, token.text) if token.kind == 'id' else None
        return found is not None and found.kind == 'variable'

    def edge(self, start, goal, kind, name, source, line):
        """Add an edge: the unit start uses the file goal, because of a line of source."""
        if start is not goal.unit:
            self.edges.setdefault((start, goal.unit), []).append(
                Reason(kind, name, source.path, line, goal.path))

    def includes(self, source):
        folder = os.path.dirname(source.path)
        for name, line in source.includes:
            path = os.path.normpath(os.path.join(folder, name))
            found = self.sources.get(path)
            if found is None:
                self.missing.append((source.path, line, name))
            else:
                self.edge(source.unit, found, 'include', name, source, line)

    def uses(self, source, chunk):
        if chunk.declaration:
            return
        own = {d.name for d in chunk.defines}
        tokens = chunk.tokens
        for i, token in enumerate(tokens):
            if token.kind != 'id' or token.text in own:
                continue
            before = tokens[i - 1].text if i else ''
            if before in ('->', '.', 'struct', 'union', 'enum', 'goto'):
                continue
            found = self.find(source, token.text)
            if found is None:
                continue
            called = i + 1 < len(tokens) and tokens[i + 1].text == '(' and \
                found.kind in ('function', 'event')
            self.edge(source.unit, found.source, 'call' if called else 'use', token.text, source,
                      token.line)

    # Callbacks: find the functions that files supply

    def supply(self, source, member, found):
        self.supplied.setdefault(member, {}).setdefault(source.module, set()).add(found)

    def bind(self, source, name, found):
        self.bound.setdefault(name, {}).setdefault(source.module, set()).add(found)

    def supplies(self, source, chunk):
        tokens, kinds = chunk.tokens, []
        for i, token in enumerate(tokens):
            if token.text == '{':
                kinds.append(self.initialised(tokens, i, kinds))
            elif token.text == '}' and kinds:
                kinds.pop()
            elif token.text == '=' and i >= 2 and tokens[i - 1].kind == 'id' and \
                    (tokens[i - 2].text in ('.', '->') or
                     self.variable(source, tokens[i - 1])):
                if i >= 3 and tokens[i - 3].text in ('{', ',') and kinds and \
                        kinds[-1] is not None and kinds[-1] not in self.pointers:
                    continue    # The kernel defines this struct.
                for found in self.assigned(source, tokens, i + 1):
                    self.supply(source, tokens[i - 1].text, found)
            elif token.text in csource.BINDS and i + 1 < len(tokens):
                args = csource.arguments(tokens, i + 1)[0]
                which, what = csource.BINDS[token.text]
                if what < len(args) and args[what]:
                    found = self.function(source, args[what][-1])
                    if found:
                        self.bind(source, args[which][-1].text, found)
            elif kinds and kinds[-1] in self.pointers and tokens[i - 1].text in ('{', ',', '&'):
                found = self.function(source, token)
                if found and tokens[i + 1].text in (',', '}'):
                    for member in self.pointers[kinds[-1]]:
                        self.supply(source, member, found)

    def initialised(self, tokens, i, kinds):
        """Return the tag of the struct that the brace at i initializes, None if unknown."""
        before = tokens[i - 1].text if i else ''
        if before in ('{', ',') and kinds:
            return kinds[-1]        # The value is an element of an array.
        if before == ')' and i >= 4 and tokens[i - 3].text == 'struct':
            return tokens[i - 2].text
        if before != '=' or (i >= 3 and tokens[i - 3].text in ('.', '->')):
            return None
        j = i - 1
        while j >= 0 and tokens[j].text not in (';', '{', '}'):
            if tokens[j].text == 'struct':
                return tokens[j + 1].text
            j -= 1
        return None

    def assigned(self, source, tokens, i):
        """Yield the functions that an expression names but does not call."""
        depth = 0
        while i < len(tokens) and tokens[i].text not in (';', '}'):
            if tokens[i].text in '([':
                depth += 1
            elif tokens[i].text in ')]':
                depth -= 1
            if depth < 0 or (depth == 0 and tokens[i].text == ','):
                return
            found = self.function(source, tokens[i])
            if found and i + 1 < len(tokens) and tokens[i + 1].text != '(' and depth == 0:
                yield found
            i += 1

    # Callbacks: find the places that call functions through pointers

    def callbacks(self, source, chunk):
        tokens = chunk.tokens
        for i in range(len(tokens) - 1):
            following = tokens[i + 1].text
            if i and tokens[i].kind == 'id' and tokens[i - 1].text in ('->', '.') and \
                    (following == '(' or (following == ')' and i + 2 < len(tokens) and
                                          tokens[i + 2].text == '(')):
                self.called(source, tokens[i], self.supplied)
            elif following in ('(', ')') and self.variable(source, tokens[i]) and \
                    not chunk.declaration:
                self.called(source, tokens[i], self.supplied)
            elif tokens[i].kind == 'id' and following == '(' and not chunk.declaration:
                args = csource.arguments(tokens, i + 1)[0]
                where = csource.RUNS.get(tokens[i].text)
                callee = self.find(source, tokens[i].text)
                for n, arg in enumerate(args):
                    if not arg:
                        continue
                    if n == where or (callee is not None and arg[-1].text in self.bound and
                                      arg[0].text == '&'):
                        self.called(source, arg[-1], self.bound)
                    passed = self.function(source, arg[-1])
                    if callee is not None and callee.kind == 'function' and passed and \
                            len(arg) <= 2 and arg[0].text in ('&', arg[-1].text):
                        self.edge(callee.unit, passed.source, 'callback', passed.name, source,
                                  arg[-1].line)

    def called(self, source, token, table):
        by_module = table.get(token.text, {})
        modules = callees_of(source.module)
        found = [f for module in modules for f in by_module.get(module, ())]
        local = [f for f in found if f.unit is source.unit]
        # A work item runs the function of this unit, if this unit sets up an item of that name.
        if table is self.bound and local:
            return
        for f in sorted(found, key=lambda f: (f.source.path, f.line)):
            self.edge(source.unit, f.source, 'callback', token.text, source, token.line)


def callees_of(module):
    """Return the modules whose functions can be called through a pointer in this module."""
    return MODULES if module == 'core' else (module,) + LOWER[module]


def components(nodes, edges):
    """Strongly connected components of more than one node, by Tarjan's algorithm."""
    following = {node: [] for node in nodes}
    for start, end in edges:
        following[start].append(end)
    index, low, stack, found = {}, {}, [], []
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(following[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, rest = work[-1]
            child = next(rest, None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        found.append(stack[at:])
                    del stack[at:]
            elif child not in index:
                index[child] = low[child] = len(index)
                stack.append(child)
                work.append((child, iter(following[child])))
            elif child in stack:
                low[node] = min(low[node], index[child])
    return found
