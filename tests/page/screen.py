"""Use the page in a browser as a person does."""

import contextlib
import io
import time
import warnings

from sklearn.exceptions import ConvergenceWarning


class Screen:
    """Page that is open in a browser, with the errors on it."""

    def __init__(self, context, address, hash):
        context.set_default_timeout(120_000)
        self.address = address
        self.page = context.new_page()
        self.troubles, self.requests = [], []
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", self._console)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address + hash)
        self.page.wait_for_selector("body[data-ready]")

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.troubles.append(message.text)

    def ask(self, script):
        return self.page.evaluate(script)

    def until(self, script):
        """Wait until a condition is true (the page's policy forbids evaluating text)."""
        end = time.monotonic() + 120
        while not self.ask(script):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.02)

    @contextlib.contextmanager
    def training(self):
        """Wait until the page has trained after the changes made in the block."""
        before = self.ask("() => Number(document.body.dataset.ready)")
        yield
        self.until(f"() => Number(document.body.dataset.ready) > {before}")

    def fact(self, name):
        return self.page.locator(f"[data-fact={name}]").inner_text()

    @property
    def t(self):
        return self.ask("() => window.rosenblatt.player.t")

    @property
    def points(self):
        return self.ask("() => window.rosenblatt.points")

    def click(self, x, y, **how):
        """Click at the coordinates of an example."""
        self.page.locator(".rb-plane").click(position=self.place(x, y), **how)

    def place(self, x, y):
        script = (
            "([x, y]) => { const f = window.rosenblatt.player.frame; return [f.x(x), f.y(y)]; }"
        )
        px, py = self.page.evaluate(script, [x, y])
        return {"x": px + 1, "y": py + 1}  # the border is one pixel wide

    def python(self):
        """Run the exported Python code, and return its trace."""
        self.page.get_by_text("Export", exact=True).click()
        self.page.get_by_role("button", name="Python code").click()
        lines = self.page.locator("dialog pre").inner_text()
        self.page.keyboard.press("Escape")
        space = {}
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore", ConvergenceWarning)
            exec(compile(lines, "exported", "exec"), space)
        return space

    def exported(self, name):
        self.page.get_by_text("Export", exact=True).click()
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=name).click()
        return download.value.path().read_bytes()
