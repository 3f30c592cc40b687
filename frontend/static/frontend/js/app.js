// Conveniences. Every page works without them.
(() => {
  "use strict";

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
  });
  // An address names the filters in force only, and that which says the most when it is empty.
  document.addEventListener("formdata", ({ target, formData }) => {
    if (!target.matches("[data-clean]")) return;
    for (const [name, value] of [...formData]) if (!value && name !== target.dataset.clean) formData.delete(name);
  });

  // On a narrow screen the navigation and tabs scroll, and forms below a list are folded. A part of the page that
  // refreshes keeps what is unfolded.
  document.addEventListener("DOMContentLoaded", () => {
    if (matchMedia("(max-width: 720px)").matches) {
      for (const fold of document.querySelectorAll("[data-folded-on-phones]")) fold.open = false;
    }
    for (const tab of document.querySelectorAll(":is(.side nav, .tabs) [aria-current]")) {
      const bar = tab.parentElement;
      bar.scrollLeft = tab.offsetLeft - bar.offsetLeft - (bar.clientWidth - tab.offsetWidth) / 2;
    }
  });
  let unfolded = [];
  document.addEventListener("htmx:beforeSwap", () => {
    unfolded = [...document.querySelectorAll("details[id][open]")].map((details) => details.id);
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    // A field with a text to copy, or an element that shows it.
    const source = document.getElementById(button.dataset.copy);
    if (source.select) source.select();
    else window.getSelection().selectAllChildren(source);
    // Pages without HTTPS have no clipboard.
    if (navigator.clipboard) navigator.clipboard.writeText(source.value ?? source.textContent);
    else document.execCommand("copy");
    button.textContent = "Copied";
  });
  // A button that makes a link shows it in place, and copies it while browsers still take that for its click.
  document.addEventListener("htmx:afterSettle", ({ detail: { requestConfig } }) => {
    const made = requestConfig?.elt.dataset.thenCopy;
    if (made) document.querySelector(`[data-copy="${made}"]`)?.click();
  });

  // The links of rows: those that open the row beside the list, and those that lead on.
  const ROWS = "[data-row], .row-link";

  // Unless somebody is typing: j and k follow the next and the previous link, or go through the rows of a grid, and
  // another key presses the link that names it.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, [contenteditable], dialog[open]")) return;
    const step = { j: 1, k: -1 }[event.key];
    const rows = [...document.querySelectorAll(ROWS)];
    if (event.key === "x") document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click();
    if (step && rows.length) {
      const here = rows.indexOf(document.activeElement.closest(ROWS));
      const current = (row) => row.ariaExpanded === "true" || row.closest("tr[aria-current]");
      const at = here < 0 ? rows.findIndex(current) : here;
      rows[Math.min(Math.max(at + step, 0), rows.length - 1)].focus();
    } else if (step) {
      document.querySelector(`a[rel="${step > 0 ? "next" : "prev"}"]`)?.click();
    } else if (/^[a-z]$/.test(event.key)) {
      const key = `[data-key="${event.key}"]`; // what the page has comes before the navigation
      (document.querySelector(`main ${key}`) ?? document.querySelector(key))?.click();
      event.target.closest("li")?.querySelector(`[data-row-key="${event.key}"]`)?.click();
    }
  });

  // The row whose link has or had the focus is the current one; a click anywhere in it gives its link the focus.
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest(ROWS)?.closest("tr");
    if (!row) return;
    for (const other of row.parentElement.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
    row.setAttribute("aria-current", "true");
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("a, button, input, label")) {
      event.target.closest("tr")?.querySelector("[data-row]")?.focus({ preventScroll: true });
    }
  });

  // What a message says of a moment ("Run 3 queued.") is over once the page shows something else.
  const dropPassing = () => document.querySelectorAll("[data-passing]").forEach((message) => message.remove());
  if (document.querySelector("[data-announcement]:not([hx-get])")) dropPassing();

  // Screen readers hear of a live run when its status or its tenth of progress changes, not at every poll.
  let announced = document.querySelector("[data-announcement]")?.dataset.announcement;
  document.addEventListener("htmx:afterSwap", () => {
    const status = document.querySelector("[data-announcement]");
    if (!status || status.dataset.announcement === announced) return;
    announced = status.dataset.announcement;
    document.getElementById("announcer").textContent = announced;
    dropPassing();
  });

  // What the listed models cost for the chosen tasks, and what they scored there. A model that became known since then
  // has no place in the list.
  document.addEventListener("htmx:afterSwap", () => {
    const { costs = "{}", scores } = document.getElementById("plan")?.dataset ?? {};
    for (const [id, cost] of Object.entries(JSON.parse(costs))) document.getElementById(id)?.replaceChildren(cost);
    if (!scores) return;
    const known = JSON.parse(scores);
    for (const place of document.querySelectorAll(".option-row .last")) {
      const [text, words, url] = known[place.id] ?? [""];
      place.replaceChildren(text);
      for (const [name, value] of Object.entries({ href: url, title: words, "aria-label": words })) {
        if (text) place.setAttribute(name, value);
        else place.removeAttribute(name);
      }
    }
  });

  // A field in which the plan finds an error says so until it is fixed.
  document.addEventListener("htmx:afterSwap", () => {
    for (const errors of document.querySelectorAll(".launch [id$=_errors]")) {
      const id = errors.id.replace(/_errors$/, "");
      const field = document.getElementById(id);
      if (!field) continue;
      const describing = [`${id}_helptext`, `${id}_error`].filter((each) => document.getElementById(each));
      field.setAttribute("aria-describedby", describing.join(" "));
      field.ariaInvalid = errors.childElementCount ? "true" : null;
    }
  });

  // A list that refreshes itself keeps what is ticked, its order and the focus.
  let kept = null;
  const nameOf = (part) => part.getAttribute("href") ?? part.value ?? part.textContent;
  document.addEventListener("htmx:beforeSwap", ({ detail: { target: part } }) => {
    if (!("live" in part.dataset)) return;
    const sorted = part.querySelector("table[data-sortable] [aria-sort]");
    kept = {
      id: part.id,
      ticked: [...part.querySelectorAll("input:checked")].map((box) => box.name + box.value),
      focused: part.contains(document.activeElement) && nameOf(document.activeElement),
      sorted: sorted && { column: sorted.cellIndex, order: sorted.ariaSort },
    };
  });
  document.addEventListener("htmx:afterSwap", () => {
    const part = kept && document.getElementById(kept.id);
    if (!part) return;
    const { ticked, focused, sorted } = kept;
    kept = null;
    for (const box of part.querySelectorAll("input[type=checkbox]")) box.checked = ticked.includes(box.name + box.value);
    makeSortable(part);
    const head = sorted && part.querySelector("table[data-sortable] thead").rows[0].cells[sorted.column];
    if (head) sortBy(head);
    if (head && sorted.order === "descending") sortBy(head);
    const controls = [...part.querySelectorAll("a, button, input")];
    if (focused !== false) controls.find((each) => nameOf(each) === focused)?.focus({ preventScroll: true });
    dropPassing();
  });

  // Moments are written in the time zone of the server; a browser knows that of its reader.
  const DAY = { weekday: "long", month: "long", day: "numeric" };
  const localize = (part) => {
    for (const time of part.querySelectorAll("time[datetime]")) {
      const local = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" });
      time.title = local;
      if ("exact" in time.dataset) time.textContent = local;
      if ("day" in time.dataset) time.textContent = new Date(time.dateTime).toLocaleDateString("en-US", DAY);
    }
  };
  localize(document);
  document.addEventListener("htmx:afterSwap", () => localize(document));

  // Tables that are whole on their page are sorted here; those with further pages by the server. Each part of a table
  // keeps its rows, so what is not ranked stays below, and what is unknown comes last in either order.
  const UNITS = { ms: 0.001, s: 1, min: 60, h: 3600 };
  const sortValue = (row, column) => {
    const cell = row.cells[column];
    const moment = cell?.querySelector("time");
    if (moment) return Date.parse(moment.dateTime);
    const text = cell?.textContent.trim() ?? "";
    const number = /^[$+]?([\u2212-]?[\d,]*\.?\d+)\s*(ms|s|min|h)?\b/.exec(text);
    if (number) return parseFloat(number[1].replaceAll(",", "").replace("\u2212", "-")) * (UNITS[number[2]] ?? 1);
    return /^[\u2013?]?$/.test(text) ? null : text.toLowerCase();
  };
  const sortBy = (head) => {
    const descending = head.ariaSort === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.ariaSort = descending ? "descending" : "ascending";
    for (const body of head.closest("table").tBodies) {
      const rows = [...body.rows].filter((row) => row.cells.length > 1);
      const values = new Map(rows.map((row) => [row, sortValue(row, head.cellIndex)]));
      const compare = (one, two) => {
        const [a, b] = [values.get(one), values.get(two)];
        if (a === null || b === null) return (a === null) - (b === null);
        if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
        return (a < b ? -1 : a > b ? 1 : 0) * (descending ? -1 : 1);
      };
      body.append(...rows.sort(compare));
    }
  };
  const makeSortable = (part) => {
    for (const head of part.querySelectorAll("table[data-sortable] thead th")) {
      const title = head.firstChild;
      if (title?.nodeType !== Node.TEXT_NODE || !title.data.trim()) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      title.replaceWith(button);
      button.append(title);
      button.addEventListener("click", () => sortBy(head));
    }
  };
  makeSortable(document);

  // A list of options is filtered while one types; a name that is not in it can be added. Without scripts, the field is
  // sent with the form, which adds the name.
  const filters = new Map();
  const makeFindable = (root) => {
    for (const find of root.querySelectorAll("[data-filter]")) {
      const list = document.getElementById(find.dataset.filter);
      const adding = document.querySelector(`[data-add="${list.id}"]`);
      const boxes = () => [...list.querySelectorAll("input[type=checkbox]")].filter((box) => box.closest(".option-row"));
      const filter = () => {
        const words = find.value.trim().toLowerCase();
        if (words) {
          list.querySelector("details")?.setAttribute("open", "");
          for (const fold of list.querySelectorAll(":scope > details, .option-group > details")) fold.open = true;
        }
        for (const box of boxes()) {
          const row = box.closest(".option-row");
          row.hidden = !box.checked && !row.textContent.toLowerCase().includes(words);
        }
        if (adding) adding.hidden = !words.includes("/") || boxes().some((box) => box.value.toLowerCase() === words);
      };
      const add = () => {
        const row = list.querySelector("template").content.firstElementChild.cloneNode(true);
        const box = row.querySelector("input");
        box.value = row.querySelector("b").textContent = find.value.trim();
        list.querySelector(".options").prepend(row);
        find.value = "";
        filter();
        box.dispatchEvent(new Event("input", { bubbles: true }));
      };
      find.removeAttribute("name");
      filters.set(list.id, filter);
      find.addEventListener("input", (event) => {
        event.stopPropagation();
        filter();
      });
      find.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        const shown = boxes().filter((box) => !box.closest(".option-row").hidden && !box.checked);
        if (find.value.trim() && shown.length === 1) shown[0].click();
        else if (adding && !adding.hidden) add();
      });
      adding?.addEventListener("click", add);
    }
  };
  makeFindable(document);
  document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => filters.get(target.id)?.()); // a new list

  // Comparing takes two runs. Without scripts, the page that opens asks for them.
  const offered = document.getElementById("offered");
  const limitComparing = () => {
    const few = offered.querySelectorAll(":checked").length < 2;
    for (const button of offered.parentElement.querySelectorAll(".bulk button")) button.disabled = few;
  };
  if (offered) {
    offered.addEventListener("change", limitComparing);
    addEventListener("pageshow", limitComparing); // boxes that the browser ticks again
    limitComparing();
  }

  // A link that starts a run on a benchmark or of a model opens the short form over the page.
  const sheet = document.getElementById("sheet");
  document.addEventListener("click", (event) => {
    const link = event.target.closest(`a[href^="${sheet?.dataset.launch}?"]`);
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if ([...new URL(link.href).searchParams.keys()].some((name) => name !== "dataset" && name !== "model")) return;
    event.preventDefault();
    const leave = () => (location.href = link.href);
    sheet.replaceChildren();
    htmx.ajax("GET", link.href, { target: sheet, swap: "innerHTML" }).then(() => {
      if (!sheet.childElementCount) return leave();
      makeFindable(sheet);
      sheet.showModal();
      sheet.scrollTop = 0; // its button has the focus, and stands far below until the stylesheet has come
    }, leave);
  });

  // The line below a canvas names the shape under the pointer.
  document.addEventListener("pointerover", (event) => {
    const shape = event.target.closest?.(".canvas-shape");
    const line = shape?.closest("[data-canvas]")?.querySelector("[data-shape]");
    if (line) line.textContent = `${shape.dataset.name} at (${shape.dataset.x}, ${shape.dataset.y})`;
  });
})();
