// The keys of a review: 1 to 9 choose, d u x flag, n goes to the note, w to the wrong step, s skips, z undoes, Enter saves. Of a pair,
// the left and right arrows and t choose and save.
(() => {
  "use strict";
  const form = document.querySelector("[data-review]");
  if (!form) return;
  const note = form.querySelector("textarea");
  const step = form.querySelector("[name=first_wrong_step]");
  let sent = false;

  // A second key before the next page would be sent for the same answer.
  document.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  // Back from another page, the browser may show this one as it was.
  window.addEventListener("pageshow", () => { sent = false; });

  const choices = new Map();
  for (const choice of form.querySelectorAll(".mark-choice")) {
    choices.set(choice.querySelector("kbd").textContent, choice.querySelector("input"));
  }
  const press = (key) => {
    const input = choices.get(key);
    const button = document.querySelector(`[data-press="${key}"]`);
    if (input) input.checked = input.type === "radio" || !input.checked;
    else if (key === "n") note.focus();
    else if (key === "w") step?.focus();
    else button?.click();
    return Boolean(input || button) || key === "n" || key === "w";
  };

  // In the capturing phase, so that the keys of other pages do not see what is a key here.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (event.target === note) {
      if (event.key === "Escape") note.blur();
      if (event.key !== "Enter" || event.shiftKey) return;
    } else if (event.target.closest("a, button, select, summary, dialog")) {
      if (event.key === "Enter") return;
    }
    if (event.target.closest("select, dialog, input:not([type=radio], [type=checkbox])")) return;
    if (!/^([1-9]|[duxnswzt]|Enter|ArrowLeft|ArrowRight)$/.test(event.key) || !press(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
})();
