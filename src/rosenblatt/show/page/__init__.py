"""Interactive page: one HTML file that trains and draws in the browser."""
