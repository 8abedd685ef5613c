// Elements are made one by one and text is set as text: nothing in the data is ever markup.
const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};

// Text from outside, on its own so that its direction does not turn what is beside it.
const said = (text) => make("bdi", {}, text);

// As papers print it: .43, 1.00; halves away from zero, as in the tables.
const number = (value) => {
  if (value === null) return "–";
  const hundredths = Math.sign(value) * Math.round(100 * Math.abs(value) + 1e-6);
  return (hundredths / 100).toFixed(2).replace(/^(-?)0\./, "$1.");
};

const average = (values) => {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};
