// The list of questions: a page at a time, each question's body made when it is opened.
(() => {
  const PAGE = 25;
  const data = JSON.parse(document.getElementById("data").textContent);
  for (const question of data.questions) {
    for (const answer of question.s) {
      answer.main = answer.m[data.main];
      answer.base = data.bases[answer.n];
    }
  }
  const form = document.getElementById("filters");
  const list = document.getElementById("list");
  const found = document.getElementById("found");
  const more = document.getElementById("more");
  let chosen = [];
  let shown = 0;

  const wanted = () => {
    // What only makes sense between systems is not there for one.
    const fields = { change: "", ...Object.fromEntries(new FormData(form)) };
    fields.text = fields.text.trim().toLowerCase();
    fields.system = fields.system === "" ? null : Number(fields.system);
    return fields;
  };

  const scores = (question) => make("span", { class: "scores" },
    ...[...new Set(question.s.map((answer) => answer.n))].map((n) => {
      const value = score(question, n);
      const perfect = question.s.every((one) => one.n !== n || one.m[data.exact] === 1);
      return make("span", { class: perfect ? "chip perfect" : "chip" },
        said(data.systems[n]), ` ${perfect ? "✓ " : ""}${number(value)}`);
    }));

  const row = (question, system) => {
    const opened = make("details", { class: "question" }, make("summary", {},
      make("span", { class: "asked" }, said(question.q)),
      make("span", { class: "about" }, said(question.i),
        ` · ${data.kinds[question.a]}` + (question.a ? `, ${question.g.length} branches` : "")
          + (question.o ? `, ${question.o} gold sets` : "")),
      scores(question)));
    opened.addEventListener("toggle", () => {
      if (!opened.open || opened.lastChild.nodeName !== "SUMMARY") return;
      const answers = question.s.filter((one) => system === null || one.n === system);
      opened.append(answersTable(question, answers, data));
    });
    return opened;
  };

  const grow = () => {
    const { system } = wanted();
    const next = chosen.slice(shown, shown + PAGE);
    list.append(...next.map((question) => row(question, system)));
    shown += next.length;
    more.hidden = shown >= chosen.length;
    const all = data.questions.length.toLocaleString("en");
    found.textContent = chosen.length
      ? `${chosen.length.toLocaleString("en")} of ${all} questions, ${shown} shown; numbers are ${data.called}`
      : `none of ${all} questions`;
  };

  const refresh = () => {
    chosen = choose(data.questions, wanted());
    shown = 0;
    list.replaceChildren();
    grow();
  };

  const option = (value, text) => make("option", { value }, text);
  form.elements.system.append(...data.systems.map((name, n) => option(n, name)));
  form.elements.error.append(...data.labels.map((words, n) => option(n, words)));
  if (data.systems.length < 2) {
    for (const one of form.querySelectorAll(".compared")) one.remove();
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", refresh);
  form.addEventListener("reset", () => setTimeout(refresh));
  let waiting;
  form.elements.text.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 120);
  });
  more.addEventListener("click", grow);
  refresh();
})();
