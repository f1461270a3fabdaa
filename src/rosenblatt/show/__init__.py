"""Presentation of results: pictures, reports, the notebook widget and the page."""
