"""A browser's requests -> the page: be the liar, watch a study, audit a table."""
