// Widget: the player in a notebook, as the hosts of anywidget mount it. It is in a shadow root, so
// that the style sheets of the notebook do not reach it.
import { mountPlayer } from "./player.js";
import { movesOf } from "./controls.js";

export default {
  render({ model, el }) {
    // Remove the picture that a saved notebook shows without a kernel.
    for (const still of document.querySelectorAll(`.${model.get("mark")}`)) still.remove();
    const host = document.createElement("div");
    const root = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(model.get("_style"));
    root.adoptedStyleSheets = [sheet];
    const element = document.createElement("div");
    element.tabIndex = 0;
    root.append(element);
    el.append(host);
    const player = mountPlayer(element, model.get("story"), {
      t: model.get("t"),
      moved(t) {
        model.set("t", t);
        model.save_changes();
      },
    });
    element.addEventListener("keydown", (event) => pressed(player, event));
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

// Keep keys from the notebook while the focus is in the player: they would move to another cell.
function pressed(player, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.stopPropagation();
  const actions = movesOf(player);
  if (!(event.key in actions) || event.target.matches("input[type=range], select")) return;
  event.preventDefault();
  actions[event.key]();
}
