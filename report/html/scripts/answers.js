// The body of a question: a row for each gold branch, a column for gold and for each system.
const SIGNS = {
  right: ["✓", "right"], missing: ["○", "missing"], wrong: ["✗", "wrong"],
  moved: ["⇄", "under the wrong branch"], same: ["=", "counted with another"],
};

const entry = (kind, text, why) => {
  const [sign, words] = SIGNS[kind];
  return make("li", { class: kind },
    make("span", { class: "sign", role: "img", "aria-label": words }, sign),
    make("span", {}, said(text), why ? make("small", {}, said(why)) : null));
};

const entries = (found) => make("ul", { class: "entries" },
  ...(found.r ?? []).map((text) => entry("right", text)),
  ...(found.m ?? []).map(([text, why, moved]) => entry(moved ? "moved" : "missing", text, why)),
  ...(found.w ?? []).map(([text, why, moved]) => entry(moved ? "moved" : "wrong", text, why)),
  ...(found["="] ?? []).map((text) => entry("same", text)));

const goldCell = ([, texts]) => make("td", { "data-label": "gold" },
  make("ul", { class: "entries gold" }, ...texts.map((text) => make("li", {}, said(text)))));

const predictedCell = (found, label) => {
  const names = found.k ?? [];
  const empty = !found.r && !found.m && !found.w && !found["="];
  return make("td", { "data-label": label },
    names.length ? make("p", { class: "keys" }, "answered as ", ...joined(names)) : null,
    empty ? make("p", { class: "note" }, "–") : entries(found));
};

const joined = (names) =>
  names.flatMap((name, place) => (place ? [", ", said(name)] : [said(name)]));

const branchRow = (question, place, answers, labels) => {
  const gold = question.g[place];
  return make("tr", {}, make("th", { scope: "row" }, said(gold[0])), goldCell(gold),
    ...answers.map((answer, i) => predictedCell(answer.b[place] ?? {}, labels[i])));
};

const lonelyRow = (answers, labels) => make("tr", {},
  make("th", { scope: "row" }, "stands for no gold branch"),
  make("td", { "data-label": "gold" }, make("p", { class: "note" }, "–")),
  ...answers.map((answer, i) => make("td", { "data-label": labels[i] },
    ...answer.u.flatMap(([name, texts]) =>
      [make("p", { class: "keys" }, said(name)), entries({ w: texts })]),
    answer.u.length ? null : make("p", { class: "note" }, "–"))));

const closing = (answers, labels, data) => make("tr", { class: "closing" },
  make("th", { scope: "row" }, "all branches"),
  make("td", { "data-label": "gold" }),
  ...answers.map((answer, i) => make("td", { "data-label": labels[i] },
    make("p", {}, data.metrics.map((m, k) => `${m} ${number(answer.m[k])}`).join(" · ")),
    make("ul", { class: "labels" }, ...answer.l.map((label) => make("li", {}, data.labels[label]))),
    ...answer.x.map((note) => make("p", { class: "note" }, said(note))))));

const answersTable = (question, answers, data) => {
  const labels = answers.map((answer) =>
    data.systems[answer.n] + (data.epochs > 1 ? ` · epoch ${answer.e}` : ""));
  const head = make("tr", {}, ...["branch", "gold", ...labels].map((label) =>
    make("th", { scope: "col" }, said(label))));
  const rows = question.g.map((_, place) => branchRow(question, place, answers, labels));
  if (answers.some((answer) => answer.u.length)) rows.push(lonelyRow(answers, labels));
  if (answers.length) rows.push(closing(answers, labels, data));
  return make("div", { class: "scroll", tabindex: "0" },
    make("table", { class: "answers" }, make("thead", {}, head), make("tbody", {}, ...rows)));
};
