"""The YAML format of datasets: files to validated specifications, specifications to files.

Nothing here knows Django, the database or the settings; this package can be used alone.
"""
