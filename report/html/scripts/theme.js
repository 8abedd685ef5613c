"use strict";

// Light and dark: as the reader's system has it, until the button says otherwise.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const KEY = "branchwise-theme";
  // A page that is opened as a file may not be allowed to keep anything.
  const kept = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const keep = (name) => { try { localStorage.setItem(KEY, name); } catch { /* then not */ } };
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

  const before = kept();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    keep(root.dataset.theme);
  });
})();
