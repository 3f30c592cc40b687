"""Every read of the pages and the API, a module for each kind of thing. Reads are nouns, narrow and of a fixed cost."""
