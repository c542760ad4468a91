"""Commands that say why and how sure: `explain`, `inspect`, `calibrate`, `report`, `serve`."""

from . import calibrate, explain, inspect, report, serve

__all__ = ["calibrate", "explain", "inspect", "report", "serve"]
