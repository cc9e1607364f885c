// Keys, stepping, tabs, cards, and what is kept while a task is open. Without it the pages work, only slower.
"use strict";

(() => {
  const WAIT_MS = 350; // A second tap of a key must not decide a task that nobody has seen.
  const IDLE_MS = 120000; // A reviewer who does nothing for so long is not looking.
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const memory = {
    get: (place, key) => { try { return place.getItem(key); } catch { return null; } },
    set: (place, key, value) => { try { place.setItem(key, value); } catch { /* full or forbidden: do without */ } },
    drop: (place, key) => { try { place.removeItem(key); } catch { /* as above */ } },
  };
  const singleKeys = () => memory.get(localStorage, "single-keys") !== "off";

  let shown = 0; // When the task appeared on the screen.
  let clock = null; // Time measured for the open task.
  let row = 0;

  document.documentElement.classList.add("scripted");

  // --- What is kept of an open task: time, ticked reasons, note ---

  const draftKey = () => {
    const main = $("main.task");
    return main ? `task:${main.dataset.slip}:${main.dataset.seen.slice(0, 16)}` : null;
  };

  function keep() {
    const key = draftKey();
    if (!key || !clock) return;
    tick();
    const form = $("#decision");
    const reasons = $$("[name=reasons]:checked", form).map((box) => box.value);
    memory.set(sessionStorage, key, JSON.stringify({ ms: clock.ms, reasons, note: $("[name=note]", form).value }));
  }

  function recall() {
    const form = $("#decision");
    let kept = null;
    try { kept = JSON.parse(memory.get(sessionStorage, draftKey())); } catch { /* none */ }
    clock = { ms: kept?.ms ?? 0, at: performance.now(), seen: performance.now() };
    if (!kept || $$("[name=reasons]:checked", form).length || $("[name=note]", form).value) return;
    for (const box of $$("[name=reasons]", form)) box.checked = kept.reasons.includes(box.value);
    $("[name=note]", form).value = kept.note;
  }

  function tick() {
    const now = performance.now();
    if (!document.hidden && now - clock.seen < IDLE_MS) clock.ms += now - clock.at;
    clock.at = now;
  }

  function tally() {
    const form = $("#decision");
    const ticked = $$("[name=reasons]:checked", form).map((box) => box.value);
    const note = $("[name=note]", form).value.trim();
    $(".ticked", form).textContent = [ticked.join(", "), note ? "with a note" : ""].filter(Boolean).join("; ");
  }

  // --- A page has come ---

  function arrive() {
    shown = performance.now();
    row = 0;
    clock = null;
    if ($("main.task")) {
      recall();
      tally();
      align();
      openTab($("[role=tab]"));
      go(Number(dangerRow()) || 0);
    }
    const boxes = $("#single-keys");
    if (boxes) boxes.checked = singleKeys();
    setTimeout(() => { document.body.dataset.ready = String(Number(document.body.dataset.ready || 0) + 1); }, WAIT_MS);
  }

  // Equal steps stand side by side; only the template knows how many rows there are.
  function align() {
    const plans = $(".plans[data-rows]");
    if (plans.classList.contains("one") || plans.dataset.rows === "0") return;
    plans.style.setProperty("--rows", plans.dataset.rows);
    plans.classList.toggle("aligned", matchMedia("(min-width: 40.01rem)").matches);
  }

  // --- Stepping ---

  const dangerRow = () => $(".plans[data-rows]").dataset.danger;

  function go(to) {
    const plans = $(".plans[data-rows]");
    if (!plans) return;
    row = Math.max(0, Math.min(Number(plans.dataset.rows), to));
    for (const step of $$("[data-row]", plans)) {
      if (Number(step.dataset.row) === row) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    }
    for (const states of $$(".states")) {
      const lists = $$("[data-row]", states);
      const last = lists.filter((list) => Number(list.dataset.row) <= row).pop();
      for (const list of lists) {
        list.hidden = list !== last;
      }
      // A list that has to be scrolled must be reachable by keyboard.
      if (states.scrollHeight > states.clientHeight) states.tabIndex = 0;
      else states.removeAttribute("tabindex");
    }
    const where = $$("[aria-current] .to", plans).map((step) => step.dataset.where);
    const steps = [...new Set(where)].join(" and ");
    $(".stepper output").textContent = row === 0 ? "At the start" : `After ${steps}`;
  }

  // A step that was asked for is also scrolled into view, unlike the one at which a page opens.
  function step(to) {
    go(to);
    $(".plans[data-rows] [aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  const GO = { first: () => step(0), back: () => step(row - 1), on: () => step(row + 1), last: () => step(Infinity) };

  // --- Tabs ---

  function openTab(tab) {
    for (const each of $$("[role=tab]")) {
      const open = each === tab;
      each.setAttribute("aria-selected", String(open));
      each.tabIndex = open ? 0 : -1;
      $(`#${each.getAttribute("aria-controls")}`).hidden = !open;
    }
  }

  function nextTab() {
    const tabs = $$("[role=tab]");
    const next = tabs[(tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true") + 1) % tabs.length];
    openTab(next);
    next.focus({ preventScroll: true });
    $("[role=tablist]").scrollIntoView({ block: "start" });
  }

  // The record comes last beside the plans, and is often longer than the space for it.
  function readRecord() {
    const asked = $(".asked");
    const record = $(".record", asked);
    asked.focus({ preventScroll: true });
    if (!record) return;
    if (asked.scrollHeight > asked.clientHeight) {
      asked.scrollTop += record.getBoundingClientRect().top - asked.getBoundingClientRect().top;
    } else record.scrollIntoView({ block: "nearest" });
  }

  // --- Trying a plan ---

  function edit(change) {
    const plan = $("#plan");
    plan.value = change(plan.value);
    plan.scrollTop = plan.scrollHeight;
    htmx.trigger("#try", "tried");
  }

  function add(button) {
    const chosen = $$("[data-parameter]", button.closest(".card")).map((select) => select.value);
    edit((text) => `${text.trimEnd()}${text.trim() ? "\n" : ""}(${[button.dataset.add, ...chosen].join(" ")})`);
  }

  const EDIT = {
    pop: () => edit((text) => text.slice(0, Math.max(0, text.lastIndexOf("("))).trimEnd()),
    clear: () => edit(() => ""),
    set: (button) => edit(() => button.dataset.value.replaceAll(") (", ")\n(")),
  };

  // --- Deciding ---

  function showWhy(open, focus) {
    const why = $("#why");
    why.open = open;
    if (open) (focus ?? $("input, textarea", why)).focus();
    else $("main").focus();
  }

  function refuseYoung(event) {
    if (performance.now() - shown < WAIT_MS) event.preventDefault();
  }

  function beforeSending(event) {
    const form = event.target;
    if (form.id !== "decision") return;
    const verdict = event.submitter?.value;
    if (verdict === "reject" && !$("[name=reasons]:checked", form)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      showWhy(true);
      return;
    }
    if (clock) {
      tick();
      $("[name=seconds]", form).value = clock.ms > 0 ? (clock.ms / 1000).toFixed(1) : "";
      keep();
    }
  }

  function sent(event) {
    // The answer is recorded: what was kept of it is no longer needed.
    const path = event.detail.pathInfo?.requestPath ?? "";
    if (event.detail.xhr.status < 300 && path.endsWith("/decide") && draftKey()) memory.drop(sessionStorage, draftKey());
  }

  function trouble(text) {
    const line = $("#trouble");
    if (!line) return;
    line.textContent = text;
    line.hidden = !text;
  }

  // --- Keys ---

  const typing = (target) => target.closest("textarea, select, input:not([type=checkbox])") !== null;

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const dialog = $("dialog[open]");
    const why = $("#why");
    if (event.key === "Escape") {
      if (typing(event.target) && !dialog) event.target.blur();
      if (!dialog && why?.open) showWhy(false);
      return;
    }
    if (event.key === "?" && dialog?.id === "help") { dialog.close(); event.preventDefault(); return; }
    if (dialog || typing(event.target)) return;
    if (event.target.closest("[role=tab]") && ["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const arrows = { ArrowLeft: GO.back, ArrowRight: GO.on, Home: GO.first, End: GO.last };
    if (arrows[event.key] && $("main.task")) { arrows[event.key](); event.preventDefault(); return; }
    if (!singleKeys()) return;
    if (why?.open) {
      const box = /^[1-9]$/.test(event.key) ? $$("[name=reasons]", why)[Number(event.key) - 1] : null;
      if (box) { if (!event.repeat) box.click(); event.preventDefault(); return; }
      if (event.key === "Enter" && !event.target.closest("button, summary, a")) {
        event.preventDefault();
        if (!event.repeat) $("#confirm")?.click();
        return;
      }
    }
    if (event.key === "Enter" || event.key === " ") return;
    if (event.repeat) { event.preventDefault(); return; }
    press(event);
  }

  function press(event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "t" && $("#plan")) { openTab($("#tab-actions")); ($("[data-add]") ?? $("#plan")).focus(); }
    else if (key === "v" && $("[role=tablist]")) nextTab();
    else if (key === "e" && $("main.task")) readRecord();
    else if (key === "m" && $("#why")) showWhy(true, $("#why textarea"));
    else if (key === "d" && $("main.task")) { if (dangerRow()) step(Number(dangerRow())); }
    else {
      const button = $(`[data-key="${CSS.escape(key)}"]`);
      if (!button) return;
      const decides = button.matches("[data-decides], [form=undo]");
      // Reject first opens its reasons, which may happen at once.
      if (!(decides && performance.now() - shown < WAIT_MS)) {
        if (button.value === "reject" && !$("#why").open) showWhy(true);
        else button.click();
      }
    }
    event.preventDefault();
  }

  // --- Wiring: all handlers are on the document, so that they survive a change of page ---

  document.addEventListener("keydown", onKey);
  document.addEventListener("submit", beforeSending, true);
  document.addEventListener("input", (event) => { if (event.target.closest("#decision")) { tally(); keep(); } });
  document.addEventListener("change", (event) => {
    if (event.target.id === "single-keys") memory.set(localStorage, "single-keys", event.target.checked ? "on" : "off");
  });
  document.addEventListener("click", (event) => {
    const on = (selector) => event.target.closest(selector);
    let found;
    if ((found = on("[data-dialog]"))) {
      const dialog = $(`dialog#${found.dataset.dialog}`);
      if (dialog) { event.preventDefault(); dialog.showModal(); }
    } else if (on("[data-close]")) on("dialog").close();
    else if (event.target.tagName === "DIALOG") event.target.close();
    else if (on("[data-close-why]")) showWhy(false);
    else if ((found = on("[data-go]"))) GO[found.dataset.go]();
    else if ((found = on(".plans[data-rows] .step"))) go(Number(found.dataset.row));
    else if ((found = on("[role=tab]"))) openTab(found);
    else if ((found = on("[data-add]"))) add(found);
    else if ((found = on("[data-plan-edit]"))) EDIT[found.dataset.planEdit](found);
    else if ((found = on("[data-decides]")) && event.detail > 0) refuseYoung(event);
  });
  document.addEventListener("keydown", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (!tab || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    const tabs = $$("[role=tab]");
    const next = tabs[(tabs.indexOf(tab) + (event.key === "ArrowRight" ? 1 : -1) + tabs.length) % tabs.length];
    openTab(next);
    next.focus();
    event.preventDefault();
  });
  for (const kind of ["pointermove", "keydown", "scroll"]) {
    document.addEventListener(kind, () => {
      if (!clock) return;
      tick();
      clock.seen = performance.now();
    }, { passive: true });
  }
  document.addEventListener("visibilitychange", () => { if (clock) { tick(); keep(); } });
  addEventListener("pagehide", keep);
  addEventListener("resize", () => { if ($("main.task")) align(); });
  document.addEventListener("htmx:beforeSwap", sent);
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id !== "screen") return;
    arrive();
    $("main")?.focus({ preventScroll: true });
  });
  document.addEventListener("htmx:beforeRequest", () => trouble(""));
  for (const failed of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failed, () => {
      trouble("The server does not respond. Your answer is kept here, and counts once however often it is sent: try again.");
    });
  }
  // This script is deferred, so the page is complete by now.
  arrive();
})();
