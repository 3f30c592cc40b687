"""Writers of result files: rows in, pieces of a file out, one after another. They know no Django and no database."""
