"""The page: one HTML file that runs the algorithms in the browser and draws them."""
