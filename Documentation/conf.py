# SPDX-License-Identifier: GPL-2.0-only
# Configuration of sphinx-build for this folder; "make html" runs it.

import os
import re

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

project = "rnbd"
author = "the rnbd maintainers"
with open(os.path.join(TOP, "include/rnbd/version.h"), encoding="utf-8") as header:
    release = re.search(r'RNBD_RELEASE "(.*)"', header.read())[1]
version = release

needs_sphinx = "5.3"                    # the version in Debian 12
master_doc = "index"
language = "en"
exclude_patterns = ["ABI", "man", "netlink"]
nitpicky = True

html_theme = "alabaster"                # a dependency of Debian's python3-sphinx
html_theme_options = {
    "description": "Network block device over RDMA with delegated buffers",
    "page_width": "1100px",
    "fixed_sidebar": True,
}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_copy_source = False
html_show_copyright = False
