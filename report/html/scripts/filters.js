// Which questions are listed, and in what order.
const score = (question, system) =>
  average(question.s.filter((answer) => answer.n === system).map((answer) => answer.main));

const baseOf = (question, system) => question.s.find((answer) => answer.n === system)?.base;

// The main metric less its base's: of one system, or the largest change of any.
const change = (question, system) => {
  const numbers = system === null ? [...new Set(question.s.map((answer) => answer.n))] : [system];
  const changes = numbers.filter((n) => baseOf(question, n) !== n)
    .map((n) => [score(question, n), score(question, baseOf(question, n))])
    .map(([value, base]) => (value === null || base === null ? null : value - base))
    .filter((value) => value !== null);
  return changes.length ? changes.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)) : null;
};

const words = new WeakMap();
const searched = (question) => {
  if (!words.has(question)) {
    const answers = question.s.flatMap((one) => [one.b, one.u, one.x]);
    words.set(question, texts([question.i, question.q, question.g, answers]).join("\n").toLowerCase());
  }
  return words.get(question);
};
const texts = (value) => {
  if (typeof value === "string") return [value];
  return value && typeof value === "object" ? Object.values(value).flatMap(texts) : [];
};

const SAME = 1e-9;
const CHANGES = {
  up: (value) => value !== null && value > SAME,
  down: (value) => value !== null && value < -SAME,
  same: (value) => value !== null && Math.abs(value) <= SAME,
};

const isChosen = (question, wanted) => {
  if (wanted.kind !== "" && question.a !== Number(wanted.kind)) return false;
  const answers = question.s.filter((one) => wanted.system === null || one.n === wanted.system);
  if (wanted.error === "none" && answers.some((one) => one.l.length)) return false;
  if (wanted.error !== "" && wanted.error !== "none"
    && !answers.some((one) => one.l.includes(Number(wanted.error)))) return false;
  if (wanted.change !== "" && !CHANGES[wanted.change](change(question, wanted.system))) return false;
  return wanted.text === "" || searched(question).includes(wanted.text);
};

const lowest = (question, system) => {
  const numbers = system === null ? question.s.map((answer) => answer.n) : [system];
  return average(numbers.map((n) => score(question, n))) ?? 2;
};
const ORDERS = {
  worst: (system) => (question) => lowest(question, system),
  change: (system) => (question) => -Math.abs(change(question, system) ?? 0),
};

const choose = (questions, wanted) => {
  const chosen = questions.filter((question) => isChosen(question, wanted));
  const order = ORDERS[wanted.order]?.(wanted.system);
  if (!order) return chosen;
  const keyed = chosen.map((question) => [order(question), question]);
  return keyed.sort((a, b) => a[0] - b[0]).map(([, question]) => question);
};
