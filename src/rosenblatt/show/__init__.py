"""Terminal, report: what a person sees of a result."""
