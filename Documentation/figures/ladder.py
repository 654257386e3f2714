#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw the messages of a WRITE and of a READ as SVG; "make figures" runs it.

Each row of STEPS is (from, to, text) for a message, or (where, text) for what one
of the three columns does. Kinds of lines follow from the first word of the text.
"""

from xml.sax.saxutils import escape

COLUMNS = {"client": 150, "target": 480, "storage": 730}
WIDTH, ROW = 860, 34

WRITE = (
    ("client", "take a wire tag and pool extents"),
    ("client", "target", "RDMA WRITE: data into the extents"),
    ("client", "target", "SEND: request (tag, range, extents, handle)"),
    ("target", "check, wait for a turn, check the epoch"),
    ("target", "storage", "bio from the pool pages"),
    ("storage", "target", "completion"),
    ("target", "client", "SEND: reply (tag, status)"),
    ("client", "complete after reply and SEND; free extents"),
)
READ = (
    ("client", "take a wire tag and pool extents"),
    ("client", "target", "SEND: request (tag, range, extents, handle)"),
    ("target", "check, wait for a turn, check the epoch"),
    ("target", "storage", "bio into the pool pages"),
    ("storage", "target", "completion"),
    ("target", "client", "SEND: reply (tag, status)"),
    ("client", "target", "RDMA READ: request"),
    ("target", "client", "RDMA READ: data from the extents"),
    ("client", "complete; free extents"),
)


def text(x, y, words, anchor="middle", weight="normal", size=12):
    return (f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def panel(title, steps, top):
    """Return the elements of one ladder and the y coordinate of its end."""
    out = [text(20, top, title, "start", "bold", 14)]
    y = top + 28
    end = y + 10 + ROW * len(steps)
    for name, x in COLUMNS.items():
        out.append(text(x, y, name, weight="bold"))
        out.append(f'<line x1="{x}" y1="{y + 8}" x2="{x}" y2="{end}" stroke="#888"/>')
    for step in steps:
        y += ROW
        if len(step) == 2:
            where, words = step
            x = COLUMNS[where]
            half = 4 + len(words) * 3.15
            out.append(f'<rect x="{x - half}" y="{y - 15}" width="{2 * half}" height="21" rx="4" '
                       'fill="#fff" stroke="#333"/>')
            out.append(text(x, y, words))
            continue
        source, sink, words = step
        a, b = COLUMNS[source], COLUMNS[sink]
        dash = ' stroke-dasharray="6 3"' if words.startswith("RDMA") else ""
        out.append(f'<line x1="{a}" y1="{y}" x2="{b}" y2="{y}" stroke="#000"{dash} '
                   'marker-end="url(#arrow)"/>')
        out.append(text((a + b) / 2, y - 5, words))
    return out, end


def main():
    body, end = panel("WRITE", WRITE, 26)
    more, end = panel("READ", READ, end + 40)
    body += more
    body.append(text(20, end + 32, "Dashed: RDMA operation that the client posts; the processor of "
                     "the target takes no part in it.", "start", size=11))
    height = end + 46
    print('<?xml version="1.0" encoding="UTF-8"?>')
    print("<!--\nSPDX-License-Identifier: GPL-2.0-only\nfrom ladder.py\n-->")
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
          f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">')
    print('<defs><marker id="arrow" markerWidth="9" markerHeight="8" refX="9" refY="4" '
          'orient="auto"><path d="M0,0 L9,4 L0,8 z"/></marker></defs>')
    print(f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>')
    print("\n".join(body))
    print("</svg>")


if __name__ == "__main__":
    main()
