// Keys, cards, and what is kept while a task is open; item.js comes before it. Without it the pages work, only slower.
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
    clock = null;
    if ($("main.task")) {
      recall();
      tally();
      drawing.begin();
    }
    const boxes = $("#single-keys");
    if (boxes) boxes.checked = singleKeys();
    setTimeout(() => { document.body.dataset.ready = String(Number(document.body.dataset.ready || 0) + 1); }, WAIT_MS);
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

  const { nextTab, openTab, toDanger, typing } = drawing;

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
    // These are those of item.js.
    if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key) || !singleKeys()) return;
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
    else if (key === "d" && $("main.task")) toDanger();
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
    else if ((found = on("[data-add]"))) add(found);
    else if ((found = on("[data-plan-edit]"))) EDIT[found.dataset.planEdit](found);
    else if ((found = on("[data-decides]")) && event.detail > 0) refuseYoung(event);
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
