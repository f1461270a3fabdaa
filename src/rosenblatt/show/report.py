"""The report: one self-contained page with the verdict, the run to play, weights and mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from rosenblatt.files import write_text
from rosenblatt.show import pieces
from rosenblatt.show.findings import Findings, findings_of
from rosenblatt.show.play import style
from rosenblatt.words import shown

# Nothing is fetched from anywhere: what is in the file is all there is.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
GENERATOR = '<meta name="generator" content="rosenblatt">'  # by which it is known as ours
STYLE = """
body{font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;max-width:72rem;margin:2rem auto;
padding:0 1rem;color:var(--ink);background:var(--page)}
h1{font-size:1.6rem}body>h2{font-size:1.25rem;margin:2.2rem 0 .6rem}
body>p,body>table,body>figure,body>details,.wide{max-width:46rem}
body>table,.wide table{border-collapse:collapse}
body>table td,body>table th,.wide td,.wide th{text-align:left;padding:.25rem .9rem .25rem 0;
vertical-align:top;border-bottom:1px solid var(--faint)}
td.n,th.n{text-align:right!important;font-variant-numeric:tabular-nums}
.wide,.rb-sum{overflow-x:auto}.rb-sum{display:block}.rb-side,.rb-side>*{min-width:0}
.bar{display:inline-block;height:.7em;border-radius:2px}
.yes{background:var(--yes)}.no{background:var(--no)}
figure{margin:0}figure svg{width:100%;height:auto;background:var(--paper);
border:1px solid var(--edge);border-radius:.75rem}
figcaption,.note{color:var(--soft);font-size:.92rem}
@media (max-width:30rem){figure svg text{font-size:22px}}
pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:20rem;overflow:auto;font-size:.8rem}
"""


@dataclass(frozen=True)
class Report:
    """A page that needs no server and no network.

    Parameters
    ----------
    html : str
        All of it.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> page = rb.report(rb.Perceptron().fit(X, y), X, y)
    >>> page.html.startswith("<!doctype html>"), "separable" in page.html
    (True, True)
    """

    html: str

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all.

        Parameters
        ----------
        path : path
            Where to; any browser opens it.
        """
        write_text(path, self.html)

    def __repr__(self) -> str:
        return f"<Report: {len(self.html) // 1000:,} kB of HTML; save(path) writes it>"

    def _repr_html_(self) -> str:
        inside = escape(self.html, quote=True)
        return (
            f'<iframe title="rosenblatt report" srcdoc="{inside}" width="100%" height="900" '
            'style="border:0"></iframe>'
        )

    @classmethod
    def of(cls, found: Findings) -> Report:
        """The report of what was found.

        Parameters
        ----------
        found : Findings
            All that it tells.
        """
        body = "\n".join(_parts(found))
        page = (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"{GENERATOR}"
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{escape(found.title)}: rosenblatt report</title>"
            f"<style>{style()}{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
        )
        # Names may hold anything: what turns text around is shown, as on a terminal.
        return cls(shown(page, "\n\t"))


def report(clf: Any, X: Any, y: Any) -> Report:
    """One self-contained page about a fitted estimator and its examples.

    It has the verdict and what it proves, the run to be played correction by correction, the
    squeeze of the convergence proof, the margins, the weights and the mistakes. Of very many
    examples or corrections it carries a part, and says so.

    Parameters
    ----------
    clf : Perceptron, PocketPerceptron, FewestMistakes, any linear classifier, or a Pipeline
        Fitted on two classes; of a pipeline the last step, on what the others make of X.
    X : array, sparse matrix or frame of shape (n, d)
        What it was fitted on; the run is left out where X is something else.
    y : sequence of n answers
        The answers.

    Returns
    -------
    Report
        With `save(path)`; a notebook shows it in place.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> rb.report(rb.PocketPerceptron(random_state=0).fit(X, y), X, y)  # doctest: +ELLIPSIS
    <Report: ... kB of HTML; save(path) writes it>
    """
    return Report.of(findings_of(clf, X, y))


def _parts(found: Findings) -> Iterator[str]:
    """The page from top to bottom."""
    yield f"<h1>{escape(found.title)}</h1>"
    yield pieces.facts(found)
    yield from pieces.proof(found)
    yield from pieces.tested(found)
    yield from pieces.run(found)
    yield from pieces.line(found)
    yield from pieces.squeeze(found)
    yield from pieces.margins(found)
    yield from pieces.weights(found)
    yield from pieces.mistakes(found)
