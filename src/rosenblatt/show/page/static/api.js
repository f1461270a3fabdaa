// Api: the four calls to the server that this page came from. The algorithms run there.

const TOKEN = document.querySelector('meta[name="rosenblatt-token"]').content;

export class Refused extends Error {}

async function call(name, given = {}) {
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-rosenblatt-token": TOKEN },
      body: JSON.stringify(given),
    });
  } catch {
    throw new Refused("The server does not answer; is `rosenblatt watch` still running?");
  }
  const answer = await response.json().catch(() => ({ error: "the answer is not whole." }));
  if (!response.ok) throw new Refused(capital(answer.error));
  return answer;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const askAbout = () => call("about");
export const askPreset = (name, seed) => call("preset", { name, seed });
export const askColumns = (x, y) => call("columns", { x, y });
export const askStory = (given) => call("story", given);
