// What scripts send to the server.

// The forms' key as the browser has it now: a sign-in in another tab renews it, and a page that
// was open before holds the one of then.
export const formKey = () =>
  document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=(\w+)/)?.[1]
  ?? document.querySelector("[name=csrfmiddlewaretoken]")?.value
  ?? "";

// Throws when the server cannot be reached; else {status, ok, data}.
export async function post(url, body, keepalive = false) {
  const response = await fetch(url, {
    method: "POST",
    keepalive,
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json",
      "X-CSRFToken": formKey(),
    },
    body: JSON.stringify(body),
    signal: keepalive ? undefined : AbortSignal.timeout(15000),
  });
  const json = response.headers.get("Content-Type")?.includes("application/json");
  const data = json ? await response.json() : {};
  return { status: response.status, ok: response.ok && json, data };
}
