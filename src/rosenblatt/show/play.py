"""Playing a run where there is no server: the player and a story in one piece of HTML."""

from __future__ import annotations

import json
from typing import Any

from rosenblatt.show.page.assets import player_script, player_style


def embedded(story: dict[str, Any], name: str = "player") -> str:
    """An element with a player on it, its script and its data.

    Parameters
    ----------
    story : dict
        As `Story.to_json` or `excerpt` gives it.
    name : str
        The id of the element.
    """
    # "<" would let data end the script; JSON has another way to write it.
    data = json.dumps(story, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<div id="{name}"></div>\n'
        f'<script type="application/json" id="{name}-story">{data}</script>\n'
        f'<script type="module">\n{player_script()}\n'
        f'const found = JSON.parse(document.getElementById("{name}-story").textContent);\n'
        f'window.player = mountPlayer(document.getElementById("{name}"), found);\n'
        "</script>"
    )


def style() -> str:
    """The style sheets that the player needs."""
    return player_style()


def widget_script() -> str:
    """The player as the module that a notebook's widget is made of."""
    return player_script() + WIDGET


def widget_style() -> str:
    """The same style sheets, kept to the player: a notebook has colours of its own."""
    return player_style().replace(":root", ".rb-player")


WIDGET = """
export default {
  render({ model, el }) {
    const place = document.createElement("div");
    el.append(place);
    const player = mountPlayer(place, model.get("story"), {
      t: model.get("t"),
      moved(t) {
        model.set("t", t);
        model.save_changes();
      },
    });
    const other = () => player.setStory(model.get("story"), model.get("t"));
    const moved = () => model.get("t") === player.t || player.show(model.get("t"));
    model.on("change:story", other);
    model.on("change:t", moved);
    return () => {
      model.off("change:story", other);
      model.off("change:t", moved);
      player.end();
    };
  },
};
"""
