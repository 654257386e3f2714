#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw results of "make bench" as SVG; "make figures" runs it.

The numbers are those of the tables of IOPS in explanation/performance-results.rst.
Each bar is the IOPS of another system divided by the IOPS of rnbd for the same job.
"""

import pathlib
import re
from xml.sax.saxutils import escape

PAGE = pathlib.Path(__file__).parent.parent / "explanation/performance-results.rst"
# Column of the first and of the second table of the page, name and color of the bar
SYSTEMS = (
    (0, 1, "rnbd", "#1f5fa8"),
    (0, 3, "nvme-rdma, best", "#e08a1e"),
    (0, 5, "RNBD of the kernel tree, fast", "#8a8a8a"),
    (1, 2, "nvme-tcp", "#5a9e4b"),
)
JOBS = (
    "read 4 KiB, depth 32",
    "write 4 KiB, depth 32",
    "read 4 KiB, depth 1",
    "write 4 KiB, depth 1",
    "read 128 KiB, depth 16",
    "write 128 KiB, depth 16",
)
LEFT, BAR, GAP, SCALE = 170, 13, 16, 220


def read_tables():
    """Return the first two tables of the page: a dict from the job to its row, for each."""
    tables = []
    for block in re.split(r"^IOPS  +rnbd", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:3]:
        rows = {}
        for line in block.splitlines():
            cells = re.split(r"  +", line.strip())
            if cells[0] in JOBS:
                rows.setdefault(cells[0], [c.replace(",", "") for c in cells])
        tables.append(rows)
    return tables


def text(x, y, words, anchor="start", size=12, weight="normal"):
    return (f'<text x="{x:.0f}" y="{y}" text-anchor="{anchor}" font-size="{size}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def main():
    tables = read_tables()
    out = [text(20, 24, "IOPS relative to rnbd (longer is faster)", size=14, weight="bold")]
    x = 20
    for _, _, name, color in SYSTEMS:
        out.append(f'<rect x="{x}" y="38" width="12" height="12" fill="{color}"/>')
        out.append(text(x + 17, 48, name))
        x += 40 + 7 * len(name)
    y = 72
    for job in JOBS:
        base = int(tables[0][job][1])
        middle = y + BAR * len(SYSTEMS) // 2 + 4
        out.append(text(LEFT - 10, middle, job, "end"))
        for table, column, _, color in SYSTEMS:
            iops = int(tables[table][job][column])
            width = SCALE * iops / base
            out.append(f'<rect x="{LEFT}" y="{y}" width="{width:.0f}" height="{BAR - 2}" '
                       f'fill="{color}"/>')
            label = f"{iops / base:.2f} ({iops:,} IOPS)"
            out.append(text(LEFT + width + 6, y + BAR - 3, label, size=10))
            y += BAR
        y += GAP
    width = 820
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" '
          f'viewBox="0 0 {width} {y}" font-family="sans-serif">')
    print("<!--\nSPDX-License-Identifier: GPL-2.0-only\nfrom bench.py\n-->")
    print(f'<rect width="{width}" height="{y}" fill="#fff"/>')
    print("\n".join(out))
    print("</svg>")


main()
