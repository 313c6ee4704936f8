// Curves, bands, marks and rules on two axes.
const MARKERS = [
  (x, y) => shape("circle", { cx: x, cy: y, r: 3.5 }),
  (x, y) => shape("rect", { x: x - 3.2, y: y - 3.2, width: 6.4, height: 6.4 }),
  (x, y) => shape("path", { d: `M${x} ${y - 4.4}L${x + 4} ${y + 3}H${x - 4}Z` }),
  (x, y) => shape("path", { d: `M${x} ${y - 4.6}L${x + 4.6} ${y}L${x} ${y + 4.6}L${x - 4.6} ${y}Z` }),
];
const FEW = 24; // points of a line that get markers

// All that an axis holds: values across and values upright.
function held(panel) {
  const xs = [], ys = [];
  for (const curve of panel.curves) for (const [x, y] of curve.points) { xs.push(x); ys.push(y); }
  for (const band of panel.bands) for (const [x, low, high] of band.points) { xs.push(x); ys.push(low, high); }
  for (const mark of panel.marks) { xs.push(mark.x); ys.push(mark.y); }
  for (const rule of panel.rules) (rule.axis === "x" ? xs : ys).push(rule.at);
  return [xs, ys];
}

function plot(panel, width, name, alike) {
  const height = Math.round(Math.min(320, Math.max(190, width * 0.5)) * Math.max(panel.tall, 0.55));
  const box = { left: 58, right: width - 14, top: 24, bottom: height - 42 };
  const [xs, ys] = [0, 1].map((axis) => alike[axis].flatMap((one) => held(one)[axis]));
  const level = united(panel.x_label, xs), upright = united(panel.y_label, ys);
  const across = axis(xs, panel.x_scale, box.left, box.right, level);
  const names = above(panel.rules.filter((rule) => rule.axis === "x"), across, 0, width);
  box.top += ROW * rowsOf(names);
  box.bottom += ROW * rowsOf(names);
  const up = axis(ys, panel.y_scale, box.bottom, box.top, upright);
  const drawing = canvas(width, box.bottom + 42, name);
  frame(drawing, [level.label, upright.label], box, across, up);
  const look = looks();
  const entries = [];
  panel.bands.forEach((band) => bandOf(drawing, band, look, across, up, entries));
  standing(drawing, names, across, box.top, box.bottom);
  const levels = panel.rules.filter((rule) => rule.axis === "y");
  levels.forEach((rule) => levelOf(drawing, rule, box, up));
  panel.curves.forEach((curve) => curveOf(drawing, curve, look, box, across, up, entries));
  const signed = clear(panel.marks.map((mark) => [across.place(mark.x), up.place(mark.y)]), box);
  panel.marks.forEach((mark, i) => markOf(drawing, mark, panel, signed[i], entries));
  nameLevels(drawing, levels, filled(panel, names, across, up), box, up, entries);
  return [drawing, ...(entries.length ? [legend(entries)] : [])];
}

function frame(drawing, labels, box, across, up) {
  for (const [y, text] of up.ticks) {
    drawing.append(shape("line", { x1: box.left, x2: box.right, y1: y, y2: y, class: "grid" }));
    drawing.append(words(box.left - 6, y + 4, text, "end"));
  }
  for (const [x, text] of apart(across.ticks)) {
    drawing.append(shape("line", { x1: x, x2: x, y1: box.bottom, y2: box.bottom + 4, class: "axis" }));
    drawing.append(words(x, box.bottom + 17, text, "middle"));
  }
  drawing.append(shape("path", { d: `M${box.left} ${box.top}V${box.bottom}H${box.right}`, class: "axis" }));
  drawing.append(words(box.right, box.bottom + 34, labels[0], "end", { class: "label" }));
  drawing.append(words(4, 12, labels[1], "start", { class: "label" }));
}

function bandOf(drawing, band, look, across, up, entries) {
  if (!band.points.length) return;
  const inks = look(band.name) % SERIES;
  const there = band.points.map(([x, , high]) => `${across.place(x)} ${up.place(high)}`);
  const back = band.points.map(([x, low]) => `${across.place(x)} ${up.place(low)}`).reverse();
  drawing.append(shape("path", { d: `M${[...there, ...back].join("L")}Z`, class: `band s${inks}` }));
  if (band.name) entries.push([[shape("rect", { width: 24, height: 12, y: 1, class: `band s${inks}` })], band.name]);
}

function levelOf(drawing, rule, box, up) {
  const y = up.place(rule.at);
  drawing.append(shape("line", { x1: box.left, x2: box.right, y1: y, y2: y, class: "rule" }));
}

// Places that are taken, each [x, y]: along every curve, at every mark, along upright lines.
const NEAR = 4; // pixels from one place of a curve to the next
function filled(panel, names, across, up) {
  const taken = panel.marks.map((mark) => [across.place(mark.x), up.place(mark.y), 9]);
  for (const curve of panel.curves) {
    const places = curve.points.map(([x, y]) => [across.place(x), up.place(y)]);
    const joined = curve.style !== "points", wideAt = curve.style === "points" || places.length <= FEW ? 5 : 2;
    places.forEach(([x, y], i) => {
      const [toX, toY] = (joined && places[i + 1]) || [x, y];
      const steps = Math.ceil(Math.hypot(toX - x, toY - y) / NEAR) || 1;
      for (let n = 0; n <= steps; n += 1) taken.push([x + ((toX - x) * n) / steps, y + ((toY - y) * n) / steps, n ? 2 : wideAt]);
    });
  }
  return { taken, upright: names.map(([rule]) => across.place(rule.at)) };
}

// The name of a level line stands where nothing else is drawn; where there is no such place, in the
// legend.
function nameLevels(drawing, rules, { taken, upright }, box, up, entries) {
  const given = [], levels = rules.map((rule) => up.place(rule.at));
  for (const rule of rules) {
    const y = up.place(rule.at), size = wide(rule.name) + 6;
    const free = ([from, top, to, bottom]) => top >= box.top && bottom <= box.bottom
      && !taken.some(([x, at, round]) => x > from - round && x < to + round && at > top - round && at < bottom + round)
      && !upright.some((x) => x > from - 2 && x < to + 2)
      && !levels.some((at) => at > top && at < bottom)
      && !given.some((one) => from < one[2] && to > one[0] && top < one[3] && bottom > one[1]);
    let found = null;
    for (let to = box.right - 2; to - size >= box.left + 2 && !found; to -= 12)
      found = [[to - size, y - 16, to, y - 2], [to - size, y + 2, to, y + 16]].find(free);
    if (found) {
      given.push(found);
      drawing.append(words(found[2] - 3, found[3] - 3, rule.name, "end", { class: "halo" }));
    } else {
      entries.push([[shape("line", { x1: 1, x2: 25, y1: 7, y2: 7, class: "rule" })], rule.name]);
    }
  }
}

function curveOf(drawing, curve, look, box, across, up, entries) {
  const number = look(curve.name || curve.sign), ink = `s${number % SERIES}`;
  const places = curve.points
    .map(([x, y]) => [across.place(x), up.place(y)])
    .filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
  const marker = MARKERS[number % MARKERS.length];
  const path = `M${places.map((place) => place.join(" ")).join("L")}`;
  const dash = curve.style === "dashed" ? "6 4" : DASHES[number % DASHES.length];
  const stroke = { class: `line ${ink}`, "stroke-dasharray": dash };
  const swatch = [];
  if (curve.fill && places.length)
    drawing.append(shape("path", { d: `${path}L${places.at(-1)[0]} ${box.bottom}L${places[0][0]} ${box.bottom}Z`, class: `band ${ink}` }));
  if (curve.style !== "points" && places.length) {
    drawing.append(shape("path", { d: path, ...stroke }));
    swatch.push(shape("line", { x1: 1, x2: 25, y1: 7, y2: 7, ...stroke }));
  }
  if (curve.style === "points" || places.length <= FEW) {
    for (const [x, y] of places) drawing.append(put(marker(x, y), { class: `dot ${ink}` }));
    swatch.push(put(marker(13, 7), { class: `dot ${ink}` }));
  }
  if (curve.name) entries.push([swatch, curve.name]);
}

// Where signs stand: at their points or, where another one stands there, beside it. Each is
// [[x, y] of the point, [x, y] of the sign].
const SIGN = 8; // pixels from the middle of a sign to its edge
function clear(points, box) {
  const taken = [];
  return points.map(([x, y]) => {
    const tried = [[x, y]];
    for (const far of [2.5, 3.5, 5]) for (let turn = 0; turn < 8; turn += 1)
      tried.push([x + far * SIGN * Math.cos((turn * Math.PI) / 4), y + far * SIGN * Math.sin((turn * Math.PI) / 4)]);
    const free = ([cx, cy], i) => taken.every(([ox, oy]) => Math.hypot(cx - ox, cy - oy) >= 2 * SIGN + 1)
      && (i === 0 || (cx > box.left + SIGN && cx < box.right - SIGN && cy > box.top + SIGN && cy < box.bottom - SIGN));
    const found = tried.find(free) || [x, y];
    taken.push(found);
    return [[x, y], found];
  });
}

function markOf(drawing, mark, panel, [[x, y], at], entries) {
  const sign = (cx, cy) => [
    shape("circle", { cx, cy, r: SIGN, class: "mark" }),
    words(cx, cy + 4, mark.sign, "middle", { class: "sign" }),
  ];
  if (at[0] !== x || at[1] !== y) drawing.append(
    shape("line", { x1: x, y1: y, x2: at[0], y2: at[1], class: "axis" }),
    shape("circle", { cx: x, cy: y, r: 2.5, class: "mark" }));
  drawing.append(...sign(...at));
  entries.push([sign(13, 7), `${mark.name}: ${told(mark.x, panel.x_label)}, ${told(mark.y, panel.y_label)}`]);
}
