"""The report of a program as one HTML file that needs nothing else."""

from onearena.report.html.page import html_report

__all__ = ["html_report"]
