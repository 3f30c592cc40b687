// Adds and removes the rows of lists. Without this script, a form has one empty row per save.
"use strict";

const prepare = (list) => {
  const add = list.querySelector(":scope > .cf-add");
  const template = list.querySelector(":scope > template");
  if (!add || !template) {
    return;
  }
  add.hidden = false;
  for (const button of list.querySelectorAll(":scope > .cf-row > .cf-remove")) {
    button.hidden = false;
  }
  // The empty row is for browsers without scripts. A list in use needs none beside the button.
  const rows = list.querySelectorAll(":scope > .cf-row");
  const last = rows[rows.length - 1];
  if (rows.length > 1 && [...last.querySelectorAll("input, select, textarea")].every((each) => !each.value)) {
    last.remove();
  }
  list.addEventListener("click", (event) => {
    if (event.target === add) {
      const row = template.content.firstElementChild.cloneNode(true);
      row.querySelector(".cf-remove").hidden = false;
      list.insertBefore(row, template);
      row.querySelector("input, select, textarea").focus();
    } else if (event.target.matches(".cf-remove")) {
      event.target.closest(".cf-row").remove();
      add.focus();
    }
  });
};

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".cf-rows").forEach(prepare);
});
