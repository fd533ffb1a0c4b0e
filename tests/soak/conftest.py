"""What the long tests share with the browser tests."""

from tests.e2e.conftest import browser, pictures, screenshots

__all__ = ["browser", "pictures", "screenshots"]
