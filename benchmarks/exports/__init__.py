"""Writers of results: rows in, pieces of a file out, one after the other. They know no ORM and no Django."""
