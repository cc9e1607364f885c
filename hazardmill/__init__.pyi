from hazardmill.release.read.release import load_release as load_release

__version__: str
__all__ = ["__version__", "load_release"]
