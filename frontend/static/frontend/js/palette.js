// The palette, the list of keys, and what was visited last. Search and help are pages that work without this.
(() => {
  "use strict";
  const words = document.getElementById("search-words");
  const options = () => [...document.querySelectorAll("#matches :is(a, button)")];
  const selected = () => document.querySelector("#matches [aria-selected=true]");

  for (const name of document.querySelectorAll("[data-key-name]")) {
    const mac = /Mac|iPhone|iPad/.test(navigator.platform);
    name.textContent = mac ? `⌘${name.dataset.keyName}` : `Ctrl ${name.dataset.keyName}`;
  }

  // Pages of single things that were visited, the latest first. What is stored may be anything.
  const VISITED = "visited";
  const visited = () => {
    try {
      const isPage = ({ title, url }) => typeof title === "string" && /^\/(?![/\\])/.test(String(url));
      return JSON.parse(localStorage.getItem(VISITED)).filter(isPage).slice(0, 30);
    } catch {
      return [];
    }
  };
  const remember = () => {
    const things = /\/(runs|experiments|reviews|judges|preferences)\/\d+\/|\/(datasets|canvases|models)\/(?!new\/)[^/]+\//;
    const status = performance.getEntriesByType("navigation")[0]?.responseStatus || 200;
    if (status >= 400 || !things.test(location.pathname)) return;
    const here = { title: document.title.replace(/ – CodeForge Benchmarks$/, ""), url: location.pathname };
    const others = visited().filter((page) => page.url !== here.url && page.title !== here.title);
    try {
      localStorage.setItem(VISITED, JSON.stringify([here, ...others]));
    } catch {
      // A browser may refuse to store anything.
    }
  };
  remember();
  document.addEventListener("submit", (event) => {
    if (event.target.matches("[data-forget]")) localStorage.removeItem(VISITED);
  });

  const openSearch = () => {
    document.getElementById("palette")?.showModal();
    words.focus();
    words.select();
    htmx.trigger(words, "opened");
  };
  const openKeys = () => {
    document.getElementById("palette")?.close();
    const dialog = document.getElementById("all-keys");
    dialog.showModal();
    htmx.trigger(dialog.querySelector("[hx-get]"), "opened");
  };
  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const open = event.target.closest("[data-search]") ? openSearch : openKeys;
    if (open === openKeys && !event.target.closest('#palette a[href$="#keys"], #matches a[href$="#keys"]')) return;
    event.preventDefault();
    open();
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "k") {
      event.preventDefault();
      openSearch();
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // One that has just closed keeps the focus until the next frame.
    if (event.target.closest("input, select, textarea, [contenteditable], dialog[open]")) return;
    if (event.key === "?") openKeys();
    if (event.key !== "/") return;
    event.preventDefault();
    openSearch();
  });

  // The words keep the focus; the arrow keys move what Enter opens.
  const select = (option) => {
    selected()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    words.setAttribute("aria-activedescendant", option?.id ?? "");
  };
  const row = ({ title, url }, place) => {
    const item = document.createElement("li");
    const link = item.appendChild(document.createElement("a"));
    link.href = url;
    const section = new URL(url, location.href).pathname.split("/")[1];
    const where = section.charAt(0).toUpperCase() + section.slice(1);
    for (const [name, text] of [[place ? "kind again" : "kind", "Recently viewed"], ["title", title], ["finding", where]]) {
      const part = link.appendChild(document.createElement("span"));
      part.className = name;
      part.textContent = text;
    }
    return item;
  };
  const dress = () => {
    const list = document.querySelector("#matches ul");
    const pages = visited();
    if (list && !words.value) list.prepend(...pages.slice(0, 6).map(row));
    list?.setAttribute("role", "listbox");
    list?.setAttribute("aria-label", "Matches");
    for (const item of list?.children ?? []) item.role = "presentation";
    options().forEach((option, place) => {
      option.id = `match-${place}`;
      option.role = "option";
      option.ariaSelected = "false";
    });
    select(options()[0]);
    document.getElementById("announcer").textContent = `Matches: ${options().length}`;
  };
  words.role = "combobox";
  words.ariaExpanded = "true";
  words.setAttribute("aria-controls", "matches");
  words.ariaAutoComplete = "list";
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "matches") dress();
  });
  if (options().length) dress();
  // What is shown is not yet what the words find. No name begins with a question mark, so it asks for the keys,
  // also if it is typed over the words that were there.
  words.addEventListener("input", () => {
    select();
    if (words.value !== "?") return;
    words.value = "";
    openKeys();
  });
  words.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const every = options();
    if (event.isComposing) return;
    if (event.key === "Escape") {
      document.getElementById("palette")?.close();
    } else if (step && every.length) {
      event.preventDefault();
      select(every[(every.indexOf(selected()) + step + every.length) % every.length]);
    } else if (event.key === "Enter" && selected()) {
      event.preventDefault();
      if ((event.ctrlKey || event.metaKey) && selected().href) window.open(selected().href);
      else selected().click();
    }
  });
})();
