// A map: rows from the top, coloured by value, with the border where a middle is crossed.
const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
function mixed(first, last, share) {
  const a = parts(first), b = parts(last);
  return `#${a.map((part, i) => Math.round(part + share * (b[i] - part)).toString(16).padStart(2, "0")).join("")}`;
}

function painter(panel) {
  const known = panel.values.flat().filter((value) => value !== null);
  const log = panel.middle !== null && Math.min(...known) > 0;
  const along = log ? Math.log : (value) => value;
  if (panel.middle === null) {
    const low = Math.min(...known), high = Math.max(...known);
    return (value) => mixed(data.map.middle, data.map.gain, high > low ? (value - low) / (high - low) : 0.5);
  }
  const centre = along(panel.middle);
  const reach = Math.max(...known.map((value) => Math.abs(along(value) - centre))) || 1;
  return (value) => {
    const share = (along(value) - centre) / reach;
    return mixed(data.map.middle, share >= 0 ? data.map.gain : data.map.loss, Math.abs(share));
  };
}

function inkOn(colour) {
  const linear = parts(colour).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) ? "#000000" : "#ffffff";
}

// What its rows' names and its columns take at least.
function leastOf(panel) {
  const longest = Math.max(0, ...panel.texts.flat().map(wide), ...panel.x.map(wide));
  return [12 + Math.max(0, ...panel.y.map(wide)), longest + 5];
}

function narrowest(panel) {
  const [side, size] = leastOf(panel);
  return side + size * panel.x.length + 8;
}

function cells(panel, width, name) {
  const [side, least] = leastOf(panel), top = 20;
  const size = Math.max((width - side - 8) / panel.x.length, least), row = 26;
  const full = side + size * panel.x.length + 8, height = top + row * panel.y.length + 8;
  const drawing = canvas(full, height, name);
  const paint = painter(panel);
  panel.x.forEach((text, c) => drawing.append(words(side + size * (c + 0.5), top - 6, text, "middle")));
  panel.y.forEach((text, r) => drawing.append(words(side - 6, top + row * (r + 0.5) + 4, text, "end")));
  panel.values.forEach((values, r) => values.forEach((value, c) => {
    const colour = value === null ? "none" : paint(value);
    const x = side + size * c, y = top + row * r;
    drawing.append(shape("rect", { x, y, width: size, height: row, fill: colour, class: "cell" }));
    drawing.append(words(x + size / 2, y + row / 2 + 4, panel.texts[r][c], "middle",
      value === null ? {} : { fill: inkOn(colour), class: "figure" }));
  }));
  const edge = panel.middle === null ? "" : border(panel, side, top, size, row);
  if (edge) drawing.append(shape("path", { d: edge, class: "border" }));
  if (panel.at) drawing.append(shape("rect", {
    x: side + size * panel.at[1] + 1.5, y: top + row * panel.at[0] + 1.5,
    width: size - 3, height: row - 3, class: "here",
  }));
  const axes = html("p", { class: "axes" }, `${panel.y_label} (down), ${panel.x_label} (across)`);
  const scroll = html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${name}, map` }, drawing);
  return [axes, scroll, html("p", { class: "key" }, keyOf(panel, edge))];
}

function keyOf(panel, edge) {
  const said = [panel.label];
  if (panel.middle !== null) said.push(`orange is below ${prefixed(panel.middle)}, blue above`);
  if (edge) said.push("the thick line is the border");
  if (panel.at) said.push("the frame is the point itself");
  return said.join("; ");
}

function border(panel, left, top, size, row) {
  const below = (r, c) => {
    const value = (panel.values[r] || [])[c];
    return value === undefined || value === null ? null : value < panel.middle;
  };
  let path = "";
  panel.values.forEach((values, r) => values.forEach((_, c) => {
    const here = below(r, c), right = below(r, c + 1), under = below(r + 1, c);
    const x = left + size * c, y = top + row * r;
    if (here !== null && right !== null && here !== right) path += `M${x + size} ${y}v${row}`;
    if (here !== null && under !== null && here !== under) path += `M${x} ${y + row}h${size}`;
  }));
  return path;
}
