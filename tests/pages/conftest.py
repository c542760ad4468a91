"""A real browser without a window: Chromium, driven by Selenium.

apt-get install chromium chromium-driver && pip install selenium
"""

import shutil

import pytest


@pytest.fixture(scope="session")
def chromium():
    """RETURNS a driver. Skips where there is no browser."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="pip install selenium")
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no Chromium with its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    try:
        opened = webdriver.Chrome(options=options, service=service)
    except Exception as error:  # whatever keeps it from starting is no error of a page
        pytest.skip(f"Chromium does not start: {error}")
    yield opened
    opened.quit()


@pytest.fixture
def browse(chromium, tmp_path):
    """RETURNS a function that opens a page, and says what is wrong with it at the end."""

    def open_page(html, width=1000):
        path = tmp_path / "page.html"
        path.write_text(html, "utf8")
        chromium.set_window_size(width, 900)
        chromium.get(path.as_uri())
        return chromium

    yield open_page
    assert [entry for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"] == []
