// Shows the event of the slider, and what is new: asks for the page again when the ledger moves, and puts its content in place.
"use strict";
(() => {
  const slider = document.getElementById("at");
  slider?.addEventListener("input", () => {
    slider.form.querySelector("button").textContent = `Show event #${slider.value}`;
  });
  // Nothing is new in the past.
  if (document.querySelector("#main > .past")) return;
  const main = () => document.getElementById("main");
  const news = document.getElementById("live");
  let shown = Number(main().dataset.head);
  let asked = shown;
  let busy = false;
  const needs = () => document.querySelector("[data-attention]")?.dataset.attention;
  // What a human types or has selected stays.
  const isInUse = () => {
    const field = document.activeElement;
    const types = field && main().contains(field) && field.matches("input, textarea, select");
    return types || String(document.getSelection()) !== "";
  };
  const renew = async () => {
    if (busy || asked <= shown || document.hidden || isInUse()) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.getElementById("main");
        if (fresh && !isInUse()) {
          const before = needs();
          const closed = [...main().querySelectorAll("details:not([open]) > summary")].map((each) => each.textContent);
          const focused = document.activeElement?.getAttribute("href");
          main().replaceWith(document.adoptNode(fresh));
          if (focused) main().querySelector(`[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
          for (const each of main().querySelectorAll("details > summary")) {
            if (closed.includes(each.textContent)) each.parentElement.open = false;
          }
          shown = Number(fresh.dataset.head);
          if (needs() !== undefined && needs() !== before) news.textContent = `${needs()} need somebody`;
        }
      }
    } catch {
      // The server ended, or is busy: the next event asks again.
    }
    busy = false;
  };
  // A page that the browser keeps for its back button, or behind another window, holds no connection: there are six for all.
  const address = new URL("events", document.currentScript.src);
  let stream;
  const leave = () => {
    stream?.close();
    stream = undefined;
  };
  const follow = () => {
    if (stream || document.hidden) return;
    stream = new EventSource(address);
    stream.addEventListener("message", (event) => {
      asked = Number(event.data);
      renew();
    });
    stream.addEventListener("error", (event) => {
      // Either the session ended, and the page to sign in follows, or too many windows are open.
      if (event.target.readyState !== EventSource.CLOSED) return;
      fetch(location.href).then((answer) => answer.status === 401 && location.reload(), () => {});
    });
  };
  addEventListener("pagehide", leave);
  addEventListener("pageshow", follow);
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
  follow();
  setInterval(renew, 1000);
})();
