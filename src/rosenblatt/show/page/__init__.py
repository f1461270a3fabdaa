"""The page: a local server that runs the algorithms, and the static files that draw them."""
