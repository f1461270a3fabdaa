"""What happened, and what it proves."""
