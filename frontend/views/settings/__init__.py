"""The settings of the installation: what the admin also edits, for those who have the permission."""
