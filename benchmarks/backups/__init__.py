"""The file of a backup: rows in, one portable compressed file out, and back. It knows no ORM and no Django."""
