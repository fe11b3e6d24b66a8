"""A browser that a test drives as a person would: by what is seen, by keys and by clicks.

It is Chromium without a screen, by Debian's chromium-driver and python3-selenium, with a profile of its own
and no way out of this machine.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar

try:
    from selenium import webdriver
    from selenium.common.exceptions import (
        ElementClickInterceptedException,
        ElementNotInteractableException,
        StaleElementReferenceException,
    )
    from selenium.webdriver import ActionChains
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

DRIVER = shutil.which("chromedriver")
PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 60  # seconds for what must appear: only a page that fails takes as long
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip

FIND = """return [...document.querySelectorAll(arguments[0])].find((e) =>
    arguments[1] === "" || (e.checkVisibility() && (e.innerText ?? e.textContent).includes(arguments[1]))) ?? null"""
LIKELY_FIRST = """const [role, name] = arguments;
    const labels = (e) => [e.ariaLabel, e.innerText, ...[...(e.labels ?? [])].map((label) => label.innerText)];
    const isLikely = (e) => labels(e).some((label) => label?.trim() === name);
    const all = [...document.querySelectorAll(role)];
    return [...all.filter(isLikely), ...all.filter((e) => !isLikely(e))]"""

needs_webdriver = unittest.skipUnless(
    webdriver and DRIVER and PROGRAM, "chromium, chromium-driver or python3-selenium is not installed"
)

Value = TypeVar("Value")


class Browser:
    """One window. `close` ends it."""

    def __init__(self) -> None:
        self.profile = tempfile.mkdtemp(prefix="kgraft-browser-")
        options = webdriver.ChromeOptions()
        options.binary_location = PROGRAM
        for option in (*OPTIONS, f"--user-data-dir={self.profile}"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.driver.set_script_timeout(PATIENCE)
        self.size = (0, 0, False)
        self.is_blank = False

    def close(self) -> None:
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def resize(self, width: int, height: int, dark: bool = False) -> None:
        if self.size == (width, height, dark):
            return
        self.size = (width, height, dark)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, address: str) -> None:
        """Also where only the part behind the number sign differs, the page is loaded anew."""
        self.leave()
        self.driver.get(address)
        self.is_blank = False

    def open_tab(self) -> None:
        self.driver.switch_to.new_window("tab")
        self.is_blank = True

    def leave(self) -> None:
        """No page is looked at any more. One that leaves by itself leaves its process to the next one."""
        if not self.is_blank:
            self.run("location.replace('about:blank')")
            self.wait("an empty page", lambda: self.run("return location.href === 'about:blank'"))
        self.is_blank = True

    def console(self) -> list[dict[str, Any]]:
        """What the page had to say since the last time, violations of its policy among it."""
        found: list[dict[str, Any]] = self.driver.get_log("browser")
        return found

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def texts(self, selector: str) -> list[str]:
        """As they stand in the document, whatever of them is in sight."""
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return list(self.run(script, selector))

    def wait(self, what: str, look: Callable[[], Optional[Value]]) -> Value:
        """The first thing that `look` returns which is not false. A page that just changes under its
        eyes is looked at again."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if found := look():
                    return found
            except StaleElementReferenceException:
                pass
            if time.monotonic() > end:
                picture = Path(tempfile.gettempdir()) / "kgraft-page.png"
                self.driver.save_screenshot(str(picture))
                text = self.run("return document.body.innerText")[:1500]
                raise AssertionError(f"waited in vain for {what}; see {picture}; the page says:\n{text}")
            time.sleep(0.02)

    def find(self, selector: str, text: str = "") -> Any:
        """The first element with that text, once it is there."""
        return self.wait(f"{selector} with {text!r}", lambda: self.run(FIND, selector, text))

    def click(self, selector: str, text: str = "") -> None:
        """On the first element with that text, once nothing lies over it."""
        def try_click() -> bool:
            try:
                self.find(selector, text).click()
            except (ElementClickInterceptedException, ElementNotInteractableException):
                return False
            return True

        self.wait(f"a click on {selector} with {text!r}", try_click)

    def named(self, role: str, name: str) -> Any:
        """The element of that label, once it is there. Those that are likely to have it are asked first."""
        def look() -> Optional[Any]:
            return next((e for e in self.run(LIKELY_FIRST, role, name) if e.accessible_name == name), None)

        return self.wait(f"{role} named {name!r}", look)

    def type(self, *keys: str) -> None:
        """Into whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def press(self, key: str, times: int) -> None:
        """The same without a look at what has it."""
        ActionChains(self.driver, duration=0).send_keys(key * times).perform()

    def accessibility(self) -> list[dict[str, Any]]:
        """What assistive technology is told: the nodes of the accessibility tree."""
        self.driver.execute_cdp_cmd("Accessibility.enable", {})
        tree = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
        return [node for node in tree["nodes"] if not node.get("ignored")]


if webdriver:
    DOWN, ENTER, TAB, ESCAPE = Keys.ARROW_DOWN, Keys.ENTER, Keys.TAB, Keys.ESCAPE
else:
    DOWN = ENTER = TAB = ESCAPE = ""
