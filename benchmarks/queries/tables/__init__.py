"""The tables of resources: what a page, a command and a file show of them, column by column."""
