# SPDX-License-Identifier: GPL-2.0-only
"""Read MODULE.floors and find the uses between files (edges) that MODULE.floors does not allow.

Operation: a line is one of
    floor UNIT...                   from the top down; units of one line must not use each other
    join FILE -> UNIT: REASON       FILE.c and FILE.h belong to another unit
    allow UNIT -> UNIT NAME...: REASON
                                    edges that are no error: by identifier, by member of a
                                    callback, or by header; UNIT may be MODULE/UNIT and
                                    have wildcards
    name NAME...: REASON            names without the prefix of the module; with wildcards
Errors: a line that cannot be read, a list that differs from the files, and an
exception that nothing needs are violations, like the edges.
"""
import fnmatch
import os
import re

import graph

HERE = 'scripts/lint.d'


class Exempt:
    """An `allow` or `name` line; `used` has the names of the line that the check has needed."""

    def __init__(self, where, start, end, names):
        self.where, self.start, self.end, self.names = where, start, end, names
        self.used = set()

    def covers(self, name):
        for pattern in self.names:
            if fnmatch.fnmatchcase(name, pattern):
                self.used.add(pattern)
                return True
        return False


class Floors:
    """The content of the data file of a module."""

    def __init__(self, top, module):
        self.module, self.path = module, '%s/%s.floors' % (HERE, module)
        self.level, self.joined, self.allowed, self.names, self.errors = {}, {}, [], [], []
        self.listed = []
        path = os.path.join(top, self.path)
        if not os.path.exists(path):
            self.errors.append('%s: missing' % self.path)
            return
        with open(path, encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                where, line = '%s:%d' % (self.path, number), line.strip()
                if line and not line.startswith('#') and not self.read(line, where):
                    self.errors.append('%s: not understood, or without a reason: %s' %
                                       (where, line))

    def read(self, line, where):
        word, rest = (line.split(None, 1) + [''])[:2]
        if word == 'floor' and rest:
            self.listed.append(rest.split())
            for unit in rest.split():
                if unit in self.level:
                    self.errors.append('%s: %s is listed twice' % (where, unit))
                self.level[unit] = len(self.listed)
            return True
        match = re.fullmatch(r'(.*?):\s+(\S.*)', rest)
        if not match:
            return False
        rest = match.group(1)
        arrow = re.fullmatch(r'(\S+) -> (\S+)(.*)', rest)
        if word == 'join' and arrow and not arrow.group(3):
            self.joined[self.module, arrow.group(1)] = arrow.group(2)
        elif word == 'allow' and arrow and arrow.group(3).split():
            self.allowed.append(Exempt(where, arrow.group(1), self.full(arrow.group(2)),
                                           arrow.group(3).split()))
        elif word == 'name' and rest:
            self.names.append(Exempt(where, None, None, rest.split()))
        else:
            return False
        return True

    def full(self, unit):
        return unit if '/' in unit else self.module + '/' + unit

    def allows(self, start, end, reason):
        """Does an `allow` line cover this reason of the edge?"""
        return any(fnmatch.fnmatchcase(start.name, e.start) and
                   fnmatch.fnmatchcase(str(end), e.end) and e.covers(reason.name)
                   for e in self.allowed)

    def unused(self):
        for exception in self.allowed + self.names:
            for name in exception.names:
                if name not in exception.used:
                    yield '%s: nothing needs the exception %s' % (exception.where, name)


def remaining(deps, floors):
    """Return the edges without the reasons that `allow` lines of their module cover."""
    edges = {}
    for (start, end), reasons in deps.edges.items():
        left = [r for r in reasons if not floors[start.module].allows(start, end, r)]
        if left:
            edges[start, end] = left
    return edges


def units(deps, floors):
    """Violations: the lists of floors and the files differ."""
    for module, data in floors.items():
        present = {unit.name for unit in deps.units.values() if unit.module == module}
        for unit in sorted(present - set(data.level)):
            yield '%s: drivers/%s/%s.[ch] is on no floor' % (data.path, module, unit)
        for unit in sorted(set(data.level) - present):
            yield '%s: drivers/%s/%s.[ch] does not exist' % (data.path, module, unit)
        for _, name in sorted(data.joined):
            if not any('drivers/%s/%s.%s' % (module, name, c) in deps.sources for c in 'ch'):
                yield '%s: drivers/%s/%s.[ch], which is joined, does not exist' % (
                    data.path, module, name)
    for path, line, name in deps.missing:
        yield '%s:%d: "%s" is no header of the modules' % (path, line, name)


def directions(edges, floors):
    """Yield the edges to a module that is not lower, to a higher floor, or within a floor."""
    for (start, end), reasons in edges.items():
        if start.module != end.module:
            if end.module not in graph.LOWER[start.module]:
                yield from tell(reasons, start, '%s must not use %s' % (start.module, end.module))
            continue
        level = floors[start.module].level
        above, below = level.get(start.name), level.get(end.name)
        if above is None or below is None or above < below:
            continue
        yield from tell(reasons, start, '%s is on the same floor' % end if above == below else
                        '%s is %d floor%s above it' %
                        (end, above - below, 's' if above - below > 1 else ''))


def unincluded(deps):
    """Yield each use of an interface that compat replaces, in a file without its header."""
    for (start, end), reasons in deps.edges.items():
        if end.module != 'compat' or start.module == 'compat':
            continue
        included = {r.path for r in reasons if r.kind == 'include'}
        yield from tell([r for r in reasons if r.path not in included], start,
                        'the file does not include drivers/%s.h' % end)


def tell(reasons, start, verdict):
    """One line for each name that an edge exists for."""
    seen = set()
    for reason in reasons:
        if (reason.kind, reason.name) not in seen:
            seen.add((reason.kind, reason.name))
            yield '%s:%d: %s: %s %s in %s: %s' % (reason.path, reason.line, start, reason.kind,
                                                  reason.name, reason.goal, verdict)


def cycles(deps, edges):
    """Cycles of units within a module, whatever the floors say."""
    inside = [e for e in edges if e[0].module == e[1].module]
    return graph.components(list(deps.units.values()), inside)


def propose(deps, edges, module):
    """Yield floors computed from the edges, top first; the files of a cycle share a floor."""
    nodes = [u for u in deps.units.values() if u.module == module]
    inside = [e for e in edges if e[0].module == e[1].module == module]
    group = {u: (u,) for u in nodes}
    for cycle in graph.components(nodes, inside):
        for unit in cycle:
            group[unit] = tuple(cycle)
    below = {g: set() for g in group.values()}
    for start, end in inside:
        if group[start] != group[end]:
            below[group[start]].add(group[end])
    height = {}

    def climb(node):
        if node not in height:
            height[node] = 1 + max([climb(n) for n in below[node]], default=0)
        return height[node]

    for node in below:
        climb(node)
    for floor in range(max(height.values(), default=0), 0, -1):
        yield sorted(u.name for g, h in height.items() if h == floor for u in g)
