"""Result files of other tools, read into one common form. Nothing here knows Django or the database."""
