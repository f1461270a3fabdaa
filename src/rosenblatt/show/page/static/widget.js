// Widget: the player in a notebook, as anywidget's hosts mount it.
import { mountPlayer } from "./player.js";

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
