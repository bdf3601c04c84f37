// A preview takes the keys of the worker's page (label.js) and keeps nothing: there is no draft, no
// log and nothing to submit.
import { label } from "./label.js";

const form = () => document.querySelector("#work[data-labels] form[data-answering]");

// What a worker must answer before going on may stay open here: a preview is for looking.
function describe() {
  label.describe();
  form().querySelector("[data-next]")?.removeAttribute("aria-disabled");
}

if (form()) {
  label.begin();
  describe();
  form().addEventListener("input", describe);
  form().addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter?.value) location.search = `n=${event.submitter.value}`;
  });
}
