"""Control Firefox, if it is installed, by the protocol WebDriver BiDi."""

import contextlib
import itertools
import json
import re
import shutil
import subprocess
import tempfile

import pytest

FIREFOXES = ("firefox", "firefox-esr")


class Tab:
    """Page that is open in Firefox."""

    def __init__(self, socket):
        self.socket, self.numbers = socket, itertools.count(1)
        self.call("session.new", capabilities={})
        tree = self.call("browsingContext.getTree")
        self.context = tree["contexts"][0]["context"]

    def call(self, method, **params):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (reply := json.loads(self.socket.recv(timeout=180))).get("id") != number:
            pass  # an event, not the reply
        assert reply["type"] == "success", reply
        return reply["result"]

    def open(self, url):
        self.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def ask(self, expression):
        """Return the value of an expression, or of its promise, as JSON."""
        found = self.call(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then((value) => JSON.stringify(value))",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])


@contextlib.contextmanager
def firefox():
    """Open a tab of a headless Firefox, or skip the test if there is none."""
    found = next(filter(None, map(shutil.which, FIREFOXES)), None)
    client = pytest.importorskip("websockets.sync.client", reason="websockets is not installed")
    if found is None:
        pytest.skip("Firefox is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [found, "--headless", "--no-remote", "--profile", profile]
        process = subprocess.Popen(
            [*command, "--remote-debugging-port=0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            lines = iter(process.stderr.readline, "")
            address = next(filter(None, (re.search(r"ws://[\w.:]+", line) for line in lines)))
            with client.connect(f"{address[0]}/session", max_size=None) as socket:
                yield Tab(socket)
        finally:
            process.terminate()
            process.communicate(timeout=180)
