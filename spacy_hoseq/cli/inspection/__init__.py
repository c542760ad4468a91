"""Commands that say why and how sure: `explain`, `inspect`, `calibrate`, `report`."""

from . import calibrate, explain, inspect, report

__all__ = ["calibrate", "explain", "inspect", "report"]
