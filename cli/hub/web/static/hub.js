// Replaces the main part of the page when something has changed. It waits while the user writes or
// selects text, and keeps the focus.
"use strict";
(function () {
  if (!document.querySelector('form[action="/logout"]')) return;
  let waiting = false, loading = false;
  const busy = () => {
    const at = document.activeElement;
    const writes = at && /^(INPUT|TEXTAREA)$/.test(at.tagName);
    const given = [...document.querySelectorAll("main input:not([type=hidden]), main textarea")].some((e) => e.type === "radio" || e.type === "checkbox" ? e.checked : e.value !== e.defaultValue);
    return writes || given || document.querySelector("main details[open]") || String(getSelection());
  };
  const key = (e) => e && e !== document.body && (e.id ? "#" + CSS.escape(e.id) : e.href ? 'a[href="' + CSS.escape(e.getAttribute("href")) + '"]' : e.name && e.value && e.form && e.form.elements.digest ? '[id="question-' + e.form.elements.digest.value + '"] [value="' + CSS.escape(e.value) + '"]' : "");
  const say = (text, name) => { const e = document.getElementById("status"); e.className = name; e.textContent = text; };
  async function update() {
    if (loading) return;
    if (busy()) { waiting = true; say("There are changes; they are shown once you have finished writing.", "waiting quiet"); return; }
    loading = true; waiting = false;
    try {
      const reply = await fetch(location.href, { credentials: "same-origin" });
      if (reply.redirected && new URL(reply.url).pathname === "/login") { location.href = "/login"; return; }
      if (!reply.ok) return;
      const next = new DOMParser().parseFromString(await reply.text(), "text/html");
      if (busy()) { waiting = true; return; }
      const focus = key(document.activeElement);
      const before = document.querySelectorAll(".question").length, after = next.querySelectorAll(".question").length;
      document.querySelector("main").replaceWith(next.querySelector("main"));
      document.title = next.title;
      say(after > before ? "A new question is open." : "", "unseen"); // the page shows it
      if (focus) { const e = document.querySelector(focus); if (e) e.focus({ preventScroll: true }); }
    } finally { loading = false; }
  }
  let timer = 0;
  new EventSource("/changes").addEventListener("change", () => { if (!timer) timer = setTimeout(() => { timer = 0; update(); }, 300); });
  document.addEventListener("focusout", () => { if (waiting) setTimeout(update, 500); });
})();
