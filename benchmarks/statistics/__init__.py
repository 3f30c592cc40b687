"""Intervals, comparisons, planning: pure functions over plain numbers, with no database and no Django.

NumPy and SciPy are imported in the functions that use them, never at the top of a module, so that importing anything
from here costs a process nothing until the first calculation.
"""
