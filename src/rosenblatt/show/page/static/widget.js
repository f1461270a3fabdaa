// Widget: the player in a notebook, as anywidget's hosts mount it. It lives in a shadow root: the
// style sheets of a notebook float and wrap what they know by name.
import { mountPlayer } from "./player.js";
import { movesOf } from "./transport.js";

export default {
  render({ model, el }) {
    // The picture that a saved notebook keeps has done its work.
    for (const still of document.querySelectorAll(`.${model.get("mark")}`)) still.remove();
    const host = document.createElement("div");
    const root = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(model.get("_style"));
    root.adoptedStyleSheets = [sheet];
    const place = document.createElement("div");
    place.tabIndex = 0;
    root.append(place);
    el.append(host);
    const player = mountPlayer(place, model.get("story"), {
      t: model.get("t"),
      moved(t) {
        model.set("t", t);
        model.save_changes();
      },
    });
    place.addEventListener("keydown", (event) => keyed(player, event));
    const other = () => player.setStory(model.get("story"), model.get("t"));
    const moved = () => model.get("t") === player.t || player.show(model.get("t"));
    model.on("change:story", other);
    model.on("change:t", moved);
    return () => {
      model.off("change:story", other);
      model.off("change:t", moved);
      player.end();
      host.remove();
    };
  },
};

// Keys are the player's while the focus is in it: a notebook would move to another cell.
function keyed(player, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.stopPropagation();
  const actions = movesOf(player);
  if (!(event.key in actions) || event.target.matches("input[type=range], select")) return;
  event.preventDefault();
  actions[event.key]();
}
