// Passkeys: a form with data-passkey asks the browser for a credential and posts it.
//   data-passkey="login"   the options come from the form's own address
//   data-passkey="get"     the options stand in the JSON named by data-options
//   data-passkey="create"  the same, for a new passkey
import { gettext, interpolate } from "./words.js";

const REFUSED = gettext("The passkey was not used. Try again, or choose another way.");

const bytes = (text) => {
  const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
};

const text = (buffer) => {
  const letters = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
};

const known = (list) => (list ?? []).map((one) => ({ ...one, id: bytes(one.id) }));

async function create({ publicKey }) {
  const found = await navigator.credentials.create({
    publicKey: {
      ...publicKey,
      challenge: bytes(publicKey.challenge),
      user: { ...publicKey.user, id: bytes(publicKey.user.id) },
      excludeCredentials: known(publicKey.excludeCredentials),
    },
  });
  return written(found, {
    attestationObject: text(found.response.attestationObject),
    transports: found.response.getTransports?.() ?? [],
  });
}

async function get({ publicKey }) {
  const found = await navigator.credentials.get({
    publicKey: {
      ...publicKey,
      challenge: bytes(publicKey.challenge),
      allowCredentials: known(publicKey.allowCredentials),
    },
  });
  const { authenticatorData, signature, userHandle } = found.response;
  return written(found, {
    authenticatorData: text(authenticatorData),
    signature: text(signature),
    userHandle: userHandle ? text(userHandle) : null,
  });
}

function written(found, response) {
  return {
    id: found.id,
    rawId: text(found.rawId),
    type: found.type,
    authenticatorAttachment: found.authenticatorAttachment ?? null,
    clientExtensionResults: found.getClientExtensionResults(),
    response: { clientDataJSON: text(found.response.clientDataJSON), ...response },
  };
}

async function ask(form) {
  if (form.dataset.passkey === "login") {
    const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(interpolate(gettext("The server answered %(status)s."), { status: answer.status }, true));
    return get((await answer.json()).request_options);
  }
  const options = JSON.parse(document.getElementById(form.dataset.options).textContent);
  return form.dataset.passkey === "create"
    ? create(options.creation_options)
    : get(options.request_options);
}

document.querySelectorAll("form[data-passkey]").forEach((form) => {
  const button = form.querySelector("[data-passkey-button]");
  const error = form.querySelector("[data-passkey-error]");
  if (!window.PublicKeyCredential) {
    if (form.hidden) return; // there is another way on this page
    error.textContent = gettext("This browser knows no passkeys.");
    error.hidden = false;
    button.disabled = true;
    return;
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    if (form.elements.credential.value) return;
    event.preventDefault(); // Enter in the name's field
    button.click();
  });
  button.addEventListener("click", async () => {
    button.disabled = true;
    error.hidden = true;
    try {
      form.elements.credential.value = JSON.stringify(await ask(form));
      form.submit();
    } catch (problem) {
      error.textContent = REFUSED;
      error.hidden = false;
      button.disabled = false;
    }
  });
});
