"use strict";
// Shapes and scales. Text reaches the page as text only: nothing here reads markup.
const NS = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  for (const child of children || []) node.append(child);
  return node;
}
const html = (name, attributes, ...children) => put(document.createElement(name), attributes, children);
const shape = (name, attributes, ...children) => put(document.createElementNS(NS, name), attributes, children);
const words = (x, y, text, anchor, more) =>
  shape("text", { x, y, "text-anchor": anchor || "start", ...more }, text);
// As wide as the page draws it: the font is that of `svg` in the page's style.
const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
const wide = (text) => pen.measureText(text).width;

// Names such as llama-3.1-8b and figures with their unit are not broken at the end of a line.
const WHOLE = /(\d\S* (?:%|[a-zA-Z]{1,3}\b)\S*|\bk = \S+|\S*-\w\S*|-> \S+)/;
function whole(text) {
  return text.split(WHOLE).map((part, i) => i % 2 ? html("span", { class: "whole" }, part) : part);
}

function canvas(width, height, name) {
  return shape("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name,
  });
}

const SERIES = 6;
const DASHES = ["", "7 4", "2 3", "10 3 2 3", "14 4", "4 2 1 2"];
// Each name has one look in a whole figure.
function looks() {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, known.size);
    return known.get(name);
  };
}

function prefixed(value, digits = 4, kilo = 1e4) {
  const size = Math.abs(value);
  if (value !== 0 && size < 1e-3) return value.toExponential(0);
  for (const [sign, unit] of [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (size >= (sign === "k" ? kilo : unit)) return `${+(value / unit).toPrecision(3)} ${sign}`;
  }
  return String(+value.toPrecision(digits));
}

// A label's unit in a size that suits the values: times in ms or us, bytes in GiB, shares in percent.
function united(label, values) {
  const share = /^(.*), 1$/.exec(label);
  if (share) return { label: `${share[1]}, %`, size: 0.01 };
  const most = Math.max(0, ...values.filter(Number.isFinite).map(Math.abs));
  const sizes = { s: [[1, "s"], [1e-3, "ms"], [1e-6, "us"]], bytes: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"]] };
  const found = /^(.*[, ])(s|bytes)$/.exec(label);
  if (!found || most === 0) return { label, size: 1, whole: counted(label) };
  const [size, unit] = sizes[found[2]].find(([one]) => most >= one) || [1, found[2]];
  return { label: found[1] + unit, size };
}

// Of what is counted there is nothing between two whole numbers.
const counted = (label) => data.counted.includes(label.slice(label.lastIndexOf(", ") + 1).trim());

// A value with the quantity and the unit that its axis names; a speedup as answers print it.
function told(value, label) {
  if (/^speedup( over|$)/.test(label)) return `${value.toFixed(2)}x`;
  const { label: named, size, whole: integer } = united(label, [value]);
  const shown = integer && Number.isInteger(value) ? value.toLocaleString("en-US") : prefixed(value / size, 3, 1e3);
  const comma = named.indexOf(", ");
  return comma < 0 ? `${shown} ${named}` : `${named.slice(0, comma)} ${shown} ${named.slice(comma + 2)}`;
}

// Places for the names of upright lines above an area, in rows counted from it: beside its line,
// over no other line and no other name where that can be. Each is [rule, x, anchor, row].
function above(rules, across, left, right) {
  const taken = [], sides = [["start", 0, 1], ["end", -1, 0]];
  return [...rules].sort((a, b) => a.at - b.at).map((rule) => {
    const x = across.place(rule.at), size = wide(rule.name) + 8;
    const places = sides.map(([anchor, from, to]) => ({ anchor, from: x + from * size, to: x + to * size }))
      .filter((one) => one.from >= left && one.to <= right);
    if (!places.length) places.push({ anchor: "start", from: Math.max(left, right - size), to: right });
    const over = (one) => rules.filter((other) => {
      const at = across.place(other.at);
      return other !== rule && at > one.from && at < one.to;
    }).length;
    const best = places.sort((a, b) => over(a) - over(b))[0];
    let row = 0;
    while (taken.some((one) => one.row === row && best.from < one.to && best.to > one.from)) row += 1;
    taken.push({ ...best, row });
    return [rule, best.anchor === "end" ? best.to - 4 : best.from + 4, best.anchor, row];
  });
}
const ROW = 14;
const rowsOf = (places) => Math.max(0, ...places.map(([, , , row]) => row + 1));
// Draws them: each line up to its name, which stands clear of the area below `top`.
function standing(drawing, places, across, top, bottom) {
  for (const [rule, x, anchor, row] of places) {
    const at = across.place(rule.at), y = top - 5 - ROW * row;
    drawing.append(shape("line", { x1: at, x2: at, y1: y - 9, y2: bottom, class: "rule" }));
    drawing.append(words(x, y, rule.name, anchor, { class: "halo" }));
  }
}

// Of ticks as many as have room beside one another: all, or every second, third and so on.
function apart(ticks) {
  const ends = ticks.map(([x, text]) => [x - wide(text) / 2, x + wide(text) / 2]);
  for (let step = 1; step < ticks.length; step += 1) {
    const kept = ends.filter((_, i) => i % step === 0);
    if (kept.every(([from], i) => i === 0 || from - kept[i - 1][1] >= 6)) return ticks.filter((_, i) => i % step === 0);
  }
  return ticks.slice(0, 1);
}

// An axis from value to pixel, with its ticks.
function axis(values, scale, from, to, { size, whole: integers } = {}) {
  const log = scale === "log";
  const along = log ? Math.log10 : (value) => value;
  const known = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  let low = Math.min(...known), high = Math.max(...known);
  if (!known.length) { low = 1; high = 10; }
  if (log) { low /= 1.15; high *= 1.15; } else {
    low = Math.min(low, 0);
    high = high > low ? high + 0.05 * (high - low) : low + 1;
  }
  const a = along(low), b = along(high);
  const place = (value) => from + ((along(value) - a) / (b - a)) * (to - from);
  const most = Math.max(2, Math.floor(Math.abs(to - from) / 70));
  const unit = size || 1, ticks = (log ? decades : steps)(low / unit, high / unit, most, integers);
  return { place, ticks: ticks.map((tick) => [place(tick * unit), prefixed(tick)]) };
}

function steps(low, high, most, integers) {
  const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
  const round = [1, 2, 5, 10].map((part) => part * power).find((one) => one >= raw) || 10 * power;
  const step = integers ? Math.max(round, 1) : round;
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-9); n += 1) found.push(n * step);
  return found;
}

function decades(low, high, most, integers) {
  const ends = integers ? [...new Set([Math.ceil(low), Math.floor(high)])].filter((one) => one >= low && one <= high)
    : [low, high].map((one) => +one.toPrecision(2));
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  for (const parts of [[1, 2, 5], [1, 3], [1]]) {
    for (let stride = 1; stride < 40; stride += 1) {
      const found = [];
      for (let power = first; power <= last; power += stride)
        for (const part of stride > 1 ? [1] : parts) found.push(part * 10 ** power);
      const inside = found.filter((one) => one >= low && one <= high && (!integers || Number.isInteger(one)));
      if (inside.length <= most + 1 && (inside.length > 1 || parts.length > 1)) {
        if (inside.length > 1) return inside;
        return ends;
      }
      if (parts.length > 1) break;
    }
  }
  return ends;
}

function legend(entries) {
  const list = html("ul", { class: "legend" });
  for (const [swatch, text] of entries) {
    const icon = shape("svg", { width: 26, height: 14, "aria-hidden": "true" }, ...swatch);
    list.append(html("li", {}, icon, html("span", {}, ...whole(text))));
  }
  return list;
}
