// A large file goes to the server in parts, and goes on where it stopped: after a break of the
// network by itself, after a reload when the same file is chosen again.
import { formKey } from "./requests.js";

const PART = 4 * 1024 * 1024; // bytes
const WAIT = [1, 2, 5, 10, 20, 30]; // seconds before another try; the last one for all that follow

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// Throws where the server cannot be reached, or is busy; else {ok, data}.
async function send(url, body) {
  const headers = { Accept: "application/json", "X-CSRFToken": formKey() };
  const response = await fetch(url, { method: "POST", headers, body });
  if (response.status >= 500 || response.status === 429) throw new Error(response.statusText);
  const json = response.headers.get("Content-Type")?.includes("application/json");
  return { ok: response.ok && json, data: json ? await response.json() : {} };
}

async function keepTrying(work, shown) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch {
      shown.classList.add("waits");
      await pause(WAIT[Math.min(tries, WAIT.length - 1)]);
    } finally {
      shown.classList.remove("waits");
    }
  }
}

async function sendParts(form, file, bar) {
  const about = new FormData();
  about.set("name", file.name);
  about.set("size", file.size);
  about.set("modified", file.lastModified);
  const begun = await keepTrying(() => send(form.action, about), bar);
  if (!begun.ok) return false;
  const { url, page } = begun.data;
  let { received } = begun.data;
  while (received < file.size) {
    bar.value = received;
    const at = received;
    const part = file.slice(at, at + PART);
    const found = await keepTrying(() => send(`${url}?offset=${at}`, part), bar);
    if (!found.ok) break;
    received = found.data.received;
  }
  location.assign(page);
  return true;
}

// Whether the file is sent in parts; a refused one is sent as a form, whose page says why. A form
// that takes parts alone is loaded again.
export function sendInParts(form, file) {
  const always = form.dataset.parts === "always";
  if (file.size <= PART && !always) return false;
  const bar = document.createElement("progress");
  bar.max = file.size;
  bar.setAttribute("aria-label", file.name);
  form.append(bar);
  form.inert = true;
  sendParts(form, file, bar).then((sent) => {
    if (sent) return;
    if (always) location.reload();
    form.inert = false;
    bar.remove();
    form.requestSubmit();
  });
  return true;
}
