// Asks the server. The token comes in the address's fragment and stays in this tab.
const KEY = "penstock-token";

export function takeToken() {
  const found = /^#token=([^&]+)&?(.*)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, decodeURIComponent(found[1]));
    history.replaceState(null, "", location.pathname + (found[2] && `#${found[2]}`));
  }
}

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

function headers(more = {}) {
  const token = sessionStorage.getItem(KEY);
  return token ? { ...more, "X-Penstock-Token": token } : more;
}

async function answer(response) {
  const body = await response.json().catch(() => ({ error: `HTTP ${response.status}` }));
  if (!response.ok) throw new Error(body.error || `HTTP ${response.status}`);
  return body;
}

export const get = async (path) => answer(await fetch(path, { headers: headers() }));

export const post = async (verb, body = {}) =>
  answer(await fetch(`api/commands/${encodeURIComponent(verb)}`, {
    method: "POST", body: JSON.stringify(body), headers: headers({ "Content-Type": "application/json" }),
  }));

// Server-sent events by fetch, because EventSource cannot carry the token. Comes back after every end.
export async function follow(onNews, onState) {
  for (;;) {
    try {
      const response = await fetch("api/events", { headers: headers() });
      if (!response.ok) throw new Error((await response.json()).error);
      onState("live");
      await read(response.body.getReader(), onNews);
      onState("lost");
    } catch (error) {
      onState("lost", error.message);
    }
    await new Promise((done) => setTimeout(done, 2000));
  }
}

async function read(reader, onNews) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) if (part.startsWith("data: ")) onNews(JSON.parse(part.slice(6)));
  }
}
