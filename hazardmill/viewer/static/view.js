// The table of rows with its filters and search, and the page of a row. Data come in files of script: see viewer/pack.py.
"use strict";

window.viewer = (() => {
  const AT_ONCE = 100; // Rows that are drawn at a time; the next ones come when the reader is near them.
  const TYPING_MS = 120;
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  const main = $("#main");
  const title = document.title;
  const waiting = new Map(); // Name of a file to those who wait for it.
  const loaded = new Map(); // Name of a file to the promise of what is in it.
  let rows = null;
  let texts = null; // What is searched; null until somebody searches.
  let columns = []; // The facets in which rows differ; what is the same in all of them is said once.
  let shared = "";
  let found = []; // Numbers of the rows that meet the filters, in order.
  let drawn = 0;
  let numbers = new Map(); // Key to number of the row.
  let place = 0; // How far the table was scrolled when a row was opened.
  let last = null; // Key of the row that was open last.

  // --- Files of script ---

  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
  const worth = new Uint8Array(128);
  [...DIGITS].forEach((digit, value) => { worth[digit.charCodeAt(0)] = value; });

  // Five digits are four bytes; the last digits stand for as many bytes less one.
  function decode(text) {
    const groups = Math.ceil(text.length / 5);
    const bytes = new DataView(new ArrayBuffer(groups * 4));
    for (let group = 0; group < groups; group += 1) {
      let number = 0;
      for (let at = group * 5; at < group * 5 + 5; at += 1) {
        number = number * 85 + (at < text.length ? worth[text.charCodeAt(at)] : 84);
      }
      bytes.setUint32(group * 4, number);
    }
    return bytes.buffer.slice(0, groups * 4 - (groups * 5 - text.length));
  }

  async function inflate(text) {
    const stream = new Blob([decode(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function take(name, text) {
    waiting.get(name)?.(inflate(text).catch(() => { throw new Error(`The data of ${name} are damaged`); }));
    waiting.delete(name);
  }

  function load(name, address) {
    if (!loaded.has(name)) {
      const file = new Promise((resolve, reject) => {
        const script = element("script");
        const end = (trouble) => {
          script.remove();
          if (!waiting.delete(name)) return;
          reject(new Error(`${address} ${trouble}`));
        };
        waiting.set(name, resolve);
        script.onerror = () => end("cannot be loaded");
        // A file that is empty, cut off, or a page of the host instead, has not called `viewer.take` by now.
        script.onload = () => end("does not have what it should");
        script.src = address;
        document.head.append(script);
      });
      loaded.set(name, file);
      // Only what was read stays: anything else is asked for again.
      file.catch(() => loaded.delete(name));
    }
    return loaded.get(name);
  }

  const advice = (error) =>
    `${error.message}. Is the server still running, or is the folder complete? If the store has changed since, reload the page.`;

  function trouble(error) {
    const line = $("#trouble");
    line.textContent = error ? advice(error) : "";
    line.hidden = !error;
  }

  // --- The table ---

  const words = (value) => value.replaceAll("_", " ");
  const values = (facet, number) => [facet.rows[number]].flat().map((value) => facet.values[value]);

  function drawHead() {
    const head = $("#rows thead tr");
    const alike = rows.facets.filter((facet) => facet.values.length === 1 && facet.rows.every((each) => each === 0));
    columns = rows.facets.filter((facet) => !alike.includes(facet));
    shared = alike.map((facet) => ` · ${facet.label}: ${words(facet.values[0])}`).join("");
    for (const facet of columns) {
      const heading = element("th", facet.label);
      heading.scope = "col";
      head.append(heading);
    }
    const counts = rows.facets.map((facet) => {
      const counted = facet.values.map(() => 0);
      for (const each of facet.rows) for (const value of [each].flat()) counted[value] += 1;
      return counted;
    });
    rows.facets.forEach((facet, place) => {
      if (facet.values.length < 2) return;
      const label = element("label");
      const select = element("select");
      select.dataset.facet = String(place);
      select.append(new Option("all", ""));
      facet.values.forEach((value, number) => {
        select.append(new Option(`${words(value)} (${counts[place][number].toLocaleString("en")})`, String(number)));
      });
      label.append(element("span", facet.label), " ", select);
      $("#filters").append(label);
    });
  }

  function drawRow(number) {
    const line = element("tr");
    const head = element("th");
    head.scope = "row";
    const link = element("a", rows.titles[number]);
    link.href = `#${encodeURIComponent(rows.keys[number])}`;
    head.append(link, element("span", rows.labels[number], "label"));
    if (rows.notes[number]) head.append(element("span", rows.notes[number], "note"));
    line.append(head);
    for (const facet of columns) {
      const said = values(facet, number).map(words);
      const cell = element("td", said.length < 2 ? said[0] ?? "" : undefined);
      if (said.length > 1) {
        const list = element("ul");
        list.append(...said.map((value) => element("li", value)));
        cell.append(list);
      }
      line.append(cell);
    }
    return line;
  }

  function drawMore() {
    const next = found.slice(drawn, drawn + AT_ONCE);
    $("#rows tbody").append(...next.map(drawRow));
    drawn += next.length;
    $("#more").hidden = drawn >= found.length;
  }

  const matches = (number, asked) => {
    const all = [rows.titles[number], rows.labels[number], rows.notes[number] ?? "", ...rows.facets.flatMap((facet) => values(facet, number))];
    const text = `${all.join(" ").toLowerCase()} ${texts ? texts[number] : ""}`;
    return asked.every((word) => text.includes(word));
  };

  function filter() {
    keep();
    const filters = chosen();
    const asked = $("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
    found = [];
    for (let number = 0; number < rows.keys.length; number += 1) {
      const fits = filters.every(([facet, value]) => [facet.rows[number]].flat().includes(value));
      if (fits && (!asked.length || matches(number, asked))) found.push(number);
    }
    $("#rows tbody").replaceChildren();
    drawn = 0;
    drawMore();
    $("#rows").hidden = found.length === 0;
    $("#clear").hidden = !filters.length && !asked.length;
    const all = rows.keys.length.toLocaleString("en");
    const counted = found.length === rows.keys.length ? `${all} in all` : `${found.length.toLocaleString("en")} of ${all}`;
    $("#tally").textContent = counted + shared;
  }

  const chosen = () => $$("[data-facet]").filter((select) => select.value !== "")
    .map((select) => [rows.facets[Number(select.dataset.facet)], Number(select.value)]);

  // Filters and search go with each entry of the history, where a page that is loaded again finds them. They are not in
  // the address, which browsers send to the host.
  function keep() {
    const facets = Object.fromEntries(chosen().map(([facet, value]) => [facet.name, facet.values[value]]));
    history.replaceState({ search: $("#search").value, facets }, "");
  }

  function restore() {
    const kept = history.state;
    if (!kept) return;
    $("#search").value = kept.search;
    for (const select of $$("[data-facet]")) {
      const facet = rows.facets[Number(select.dataset.facet)];
      const value = facet.values.indexOf(kept.facets[facet.name]);
      if (value >= 0) select.value = String(value);
    }
  }

  // An address may ask for filters, such as #?run=NAME; they go to where filters are kept.
  function adopt() {
    if (!location.hash.startsWith("#?")) return;
    const asked = new URLSearchParams(location.hash.slice(2));
    for (const select of $$("[data-facet]")) {
      const facet = rows.facets[Number(select.dataset.facet)];
      const value = facet.values.indexOf(asked.get(facet.name));
      if (value >= 0) select.value = String(value);
    }
    history.replaceState(null, "", location.pathname + location.search);
  }

  async function search() {
    if (!texts && $("#search").value.trim()) {
      try {
        texts = await load("texts", main.dataset.texts);
        trouble(null);
      } catch (error) {
        trouble(error);
      }
    }
    filter();
  }

  // --- One row ---

  async function fragment(number) {
    if (!rows.places) {
      const name = `item ${rows.keys[number]}`;
      try {
        const columns = await load(name, `data/item.js?key=${encodeURIComponent(rows.keys[number])}`);
        return columns.map((column) => column[0]).join("");
      } finally {
        loaded.delete(name); // A store may have more of it the next time.
      }
    }
    const file = rows.files[Math.floor(rows.places[number] / rows.per_file)];
    const columns = await load(file, file);
    return columns.map((column) => column[rows.places[number] % rows.per_file]).join("");
  }

  function steps(number) {
    const at = found.indexOf(number);
    for (const [selector, to] of [["[data-previous]", found[at - 1]], ["[data-next]", found[at + 1]]]) {
      const link = $(selector);
      link.hidden = at < 0 || to === undefined;
      if (!link.hidden) link.href = `#${encodeURIComponent(rows.keys[to])}`;
    }
    $("[data-steps]").hidden = false;
  }

  // Back in the table, the keyboard is at the row that was open.
  function focusRow(key) {
    const at = found.indexOf(numbers.get(key));
    if (at < 0) {
      main.focus({ preventScroll: true });
      return;
    }
    while (drawn <= at) drawMore();
    const link = $("#rows tbody").rows[at].querySelector("a");
    link.focus({ preventScroll: true });
    link.scrollIntoView({ block: "nearest" });
  }

  function say(heading, text, ...more) {
    const line = element("p", text);
    line.setAttribute("role", "alert");
    $("#item").replaceChildren(element("h1", heading), line, ...more);
  }

  async function show() {
    if (!rows) return; // It is called again once the table is there.
    keep();
    const key = decodeKey();
    const item = $("#item");
    if (key === "") {
      item.hidden = true;
      item.replaceChildren();
      $("[data-steps]").hidden = true;
      $("#list").hidden = false;
      document.title = title;
      scrollTo(0, place);
      if (last !== null) focusRow(last);
      return;
    }
    if (!$("#list").hidden) place = scrollY;
    const number = numbers.get(key);
    let html = null;
    let failure = null;
    try {
      if (number !== undefined) html = await fragment(number);
    } catch (error) {
      failure = error;
    }
    if (decodeKey() !== key) return; // Somebody went on meanwhile.
    last = key;
    if (failure) {
      // The address stays, so that Back leads to the page before, and the same task can be tried again.
      const again = element("button", "Try again");
      again.type = "button";
      again.addEventListener("click", show);
      say("This task cannot be loaded", advice(failure), again);
    } else if (html === null) say("There is no such task here", key);
    else item.innerHTML = html; // Drawn by hazardmill, which escapes every text; the policy of the page allows no script in it.
    $("#list").hidden = true;
    item.hidden = false;
    if ($("[role=tab]", item)) drawing.begin();
    steps(number);
    document.title = $("h1", item).textContent;
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
    document.body.dataset.shown = key;
  }

  function decodeKey() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return location.hash.slice(1);
    }
  }

  // --- Wiring ---

  let typed;
  $("#filters").addEventListener("input", (event) => {
    clearTimeout(typed);
    if (event.target.id === "search") typed = setTimeout(search, TYPING_MS);
    else filter();
  });
  $("#filters").addEventListener("submit", (event) => event.preventDefault());
  $("#clear").addEventListener("click", () => {
    $("#filters").reset();
    filter();
    $("#search").focus();
  });
  $("#more").addEventListener("click", drawMore);
  new IntersectionObserver((seen) => { if (rows && drawn < found.length && seen.some((each) => each.isIntersecting)) drawMore(); }, { rootMargin: "800px" })
    .observe($("#more"));
  document.addEventListener("click", (event) => {
    // A link within a page must not change the address, which names the row.
    const link = event.target.closest("a[href^='#']");
    if (!link || link.getAttribute("href") === "#") return;
    const target = link.matches("[data-jump]") || link.closest("#item") ? document.getElementById(link.hash.slice(1)) : null;
    if (!target) return;
    event.preventDefault();
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  });
  addEventListener("hashchange", show);

  async function begin() {
    try {
      rows = await load("rows", main.dataset.rows);
    } catch (error) {
      trouble(error);
      $("#tally").textContent = "";
      return;
    }
    numbers = new Map(rows.keys.map((key, number) => [key, number]));
    drawHead();
    restore();
    adopt();
    await search();
    performance.mark("hazardmill table");
    if (decodeKey() !== "") await show();
    document.body.dataset.ready = "yes";
  }

  // The first file calls `viewer.take`, so this object has to be there before.
  queueMicrotask(begin);
  return { take };
})();
