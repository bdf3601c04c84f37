// Sends the form that waited for its person to confirm who they are.
// By the prototype, since a field of the form may be called "submit".
const waiting = document.querySelector("form[data-resume]");
if (waiting) HTMLFormElement.prototype.submit.call(waiting);
