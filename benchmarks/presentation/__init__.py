"""How pages, commands, the admin, exports and reports write numbers, labels and sentences. Pure Python."""
