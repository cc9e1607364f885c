// Steps both plans of an item and opens its tabs. Without it all of a page is shown at once.
"use strict";

window.drawing = (() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  let row = 0;

  document.documentElement.classList.add("scripted");

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

  // An item has come to the page: its first tab is open, and its plans are at the step where danger fires.
  function begin() {
    row = 0;
    align();
    openTab($("[role=tab]"));
    go(Number(dangerRow()) || 0);
  }

  const toDanger = () => { if (dangerRow()) step(Number(dangerRow())); };

  // --- Wiring: all handlers are on the document, so that they survive a change of page ---

  // Keys of somebody who reads or scrolls another part of the page stay with the browser.
  const stepping = (target) => target === document.body || target.matches("main") || target.closest(".compare") !== null;
  const typing = (target) => target.closest("textarea, select, input:not([type=checkbox])") !== null;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const tab = event.target.closest("[role=tab]");
    if (tab && ["ArrowLeft", "ArrowRight"].includes(event.key)) {
      const tabs = $$("[role=tab]");
      const next = tabs[(tabs.indexOf(tab) + (event.key === "ArrowRight" ? 1 : -1) + tabs.length) % tabs.length];
      openTab(next);
      next.focus();
      event.preventDefault();
      return;
    }
    if ($("dialog[open]") || typing(event.target) || !stepping(event.target) || !$(".plans[data-rows]")) return;
    const arrows = { ArrowLeft: GO.back, ArrowRight: GO.on, Home: GO.first, End: GO.last };
    if (arrows[event.key]) { arrows[event.key](); event.preventDefault(); }
  });
  document.addEventListener("click", (event) => {
    const on = (selector) => event.target.closest(selector);
    let found;
    if ((found = on("[data-go]"))) GO[found.dataset.go]();
    else if ((found = on(".plans[data-rows] .step"))) go(Number(found.dataset.row));
    else if ((found = on("[role=tab]"))) openTab(found);
  });
  addEventListener("resize", () => { if ($(".plans[data-rows]")) align(); });

  return { begin, nextTab, openTab, toDanger, typing };
})();
