#!/usr/bin/env python
"""Command line of the project."""

import os
import sys

from codeforge.command import execute

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codeforge.settings")
    execute(sys.argv)
