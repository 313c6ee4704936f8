// What makes the page alive: pictures, theme, copying, printing.
const KINDS = { plot, bars, cells };
const NARROW = 520;

// The plots on a plot's horizontal and on its vertical axis, itself among them: as Picture has it.
function alike(picture, panel) {
  const on = (axis) => picture.panels.filter((one) => one.kind === "plot"
    && one[`${axis}_label`] === panel[`${axis}_label`] && one[`${axis}_scale`] === panel[`${axis}_scale`]);
  return [picture.shared ? on("x") : [panel], picture.columns > 1 ? on("y") : [panel]];
}

function show(place, picture, name) {
  const room = Math.max(place.clientWidth || 680, 260);
  const beside = picture.columns > 1 && room >= 2 * NARROW * 0.75 ? Math.min(picture.columns, Math.floor(room / (NARROW * 0.75))) : 1;
  const width = Math.floor((room - 24 * (beside - 1)) / beside);
  const drawn = picture.panels.map((panel) => {
    const said = panel.title ? `${name}: ${panel.title}` : name;
    const title = panel.title ? [html("p", { class: "panel-title" }, ...whole(panel.title))] : [];
    // A map too wide for its column has the whole row.
    const across = beside > 1 && panel.kind === "cells" && narrowest(panel) > width;
    return html("div", { class: across ? "panel across" : "panel" }, ...title,
      ...KINDS[panel.kind](panel, across ? room : width, said, alike(picture, panel)));
  });
  const note = picture.note ? [html("p", { class: "key" }, ...whole(picture.note))] : [];
  place.replaceChildren(...note, html("div", { class: `panels beside-${beside}` }, ...drawn));
}

// Tables have their own width.
const prose = document.querySelectorAll("h1, h2, p:not(:has(*)), dd, pre");
for (const one of prose) one.replaceChildren(...whole(one.textContent));

const figuresOf = [...document.querySelectorAll("figure[data-picture]")];
function pictures() {
  for (const figure of figuresOf) show(figure, data.pictures[figure.dataset.picture], figure.dataset.name);
}
pictures();
const redraw = data.explorer ? explore(data.explorer) : () => {};

let wait = 0, last = document.body.clientWidth;
addEventListener("resize", () => {
  clearTimeout(wait);
  wait = setTimeout(() => {
    if (document.body.clientWidth === last) return;
    last = document.body.clientWidth;
    pictures();
    redraw();
  }, 120);
});

const closed = [...document.querySelectorAll("details")];
let before = [];
addEventListener("beforeprint", () => {
  before = closed.map((one) => one.open);
  for (const one of closed) one.open = true;
});
addEventListener("afterprint", () => closed.forEach((one, i) => { one.open = before[i]; }));

const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

for (const place of document.querySelectorAll(".copied")) {
  const button = html("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    const text = place.querySelector("pre");
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch { // no clipboard here: select it, so that the reader's own keys copy it
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
  });
  place.prepend(button);
}
