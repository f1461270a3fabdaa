// Captions: what each picture shows, in words.
import { MARKS } from "./marks.js";
import { counted, grouped, say } from "./numbers.js";

export function planeLabel(story, t) {
  const marks = story.many ? story.marks : [...story.marks].reverse();
  const counts = marks.map((mark) => {
    const count = story.answers.filter((_, n) => story.mark(n) === mark).length;
    const { name, names } = MARKS[mark];
    return `${grouped(count)} ${count === 1 ? name.toLowerCase() : names}`;
  });
  const all = `${counts.slice(0, -1).join(", ")} and ${counts.at(-1)}`;
  return `${all}; t = ${t}, ${counted(story.count(t), "mistake")}`;
}

export function squeezeCaption(story, t) {
  const s = story.squeeze;
  if (!s) return "";
  const angle = (Math.acos(Math.max(-1, Math.min(1, s.cosine[t]))) * 180) / Math.PI;
  const turned =
    t === 0 || s.squared[t] === 0 ? "" : ` w is ${say(angle, 3)}° from the widest line's.`;
  return `The squeeze: t²ρ² ≤ ‖w(t)‖² ≤ tR². Now ‖w‖² = ${say(s.squared[t])}.${turned}`;
}

export function mistakesCaption(story, t) {
  const pocket = story.pocketAt(t);
  const kept = pocket ? ` and of the pocket (${pocket.mistakes}), which never rises` : "";
  return `Mistakes of w(t) (${story.count(t)})${kept}.`;
}
