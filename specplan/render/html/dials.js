// The reader's own point: dials, what they read, and pictures of it.
function explore(explorer) {
  const dials = new Map(explorer.dials.map((dial) => [dial.name, dial]));
  const readings = new Map(explorer.readings.map((reading) => [reading.name, reading]));
  const at = {};
  const index = (reading, places) =>
    reading.over.reduce((flat, name) => flat * dials.get(name).places.length + places[name], 0);
  const value = (name, places) => { const one = readings.get(name); return one.values[index(one, places)]; };
  const text = (name, places) => { const one = readings.get(name); return one.texts[index(one, places)]; };
  // "best" is the k that is best there.
  const settled = (places) => dials.get("k").places[places.k] !== "best" ? places
    : { ...places, k: dials.get("k").places.indexOf(String(value("best_k", places))) };
  const here = () => settled(at);

  function figures() {
    const list = document.getElementById("figures"), places = here();
    list.replaceChildren(...[["k", "k", dials.get("k").places[places.k]],
      ...explorer.readings.map((one) => [one.name, one.title, text(one.name, places)])]
      .map(([name, title, shown]) => html("div", { "data-reading": name }, html("dt", {}, title), html("dd", {}, shown))));
  }

  // On paper there are no dials to say it.
  function point() {
    const places = here(), at = (name) => dials.get(name).places[places[name]];
    document.getElementById("point").textContent = `At batch ${at("batch")}, context ${at("context")}, ` +
      `acceptance ${at("alpha")}, k = ${at("k")}`;
  }

  // To those who hear the page: the few figures that a turn is about, once it has come to rest.
  let later = 0;
  function tell() {
    clearTimeout(later);
    later = setTimeout(() => {
      const places = here();
      document.getElementById("told").textContent = `Speedup ${text("speedup", places)}, ` +
        `TPOT ${text("tpot_s", places)}, best k ${text("best_k", places)}`;
    }, 400);
  }

  function overK() {
    const points = [];
    dials.get("k").places.forEach((place, k) => {
      if (place !== "best") points.push([+place, value("speedup", { ...at, k })]);
    });
    const places = here(), k = +dials.get("k").places[places.k];
    return {
      kind: "plot", title: "Speedup by k", x_label: "k, draft tokens per round", y_label: "speedup over plain decoding",
      curves: [{ name: "", sign: "k", points, style: "line", fill: false }], bands: [],
      marks: [{ sign: "k", name: "here", x: k, y: value("speedup", places) }],
      rules: [{ name: "plain decoding", axis: "y", at: 1 }], x_scale: "linear", y_scale: "linear", tall: 1,
    };
  }

  // A map of one reading, with what its cells say.
  function map(title, down, across, reading, said = (places) => text(reading, places)) {
    const rows = dials.get(down), columns = dials.get(across);
    const table = (of) => rows.places.map((_, r) => columns.places.map((__, c) =>
      of(settled({ ...at, [down]: r, [across]: c }))));
    return {
      kind: "cells", title, x_label: columns.title, y_label: rows.title, label: "speedup",
      x: columns.places, y: rows.places, middle: 1, at: [at[down], at[across]],
      values: table((places) => value(reading, places)), texts: table(said),
    };
  }

  function round() {
    const places = here(), tokens = value("tokens_per_round", places);
    const plain = tokens * value("plain_step_s", places);
    const piece = (name, size, shown) => ({ name, size, text: shown });
    const bar = (name, shown, ...pieces) => ({ name, text: shown, pieces });
    const steps = `${text("tokens_per_round", places)} steps of ${text("plain_step_s", places)}`;
    return {
      kind: "bars", title: "A round, and plain decoding of as many tokens", label: "time, s", rules: [],
      bars: [
        bar("plain decoding", steps, piece("plain steps", plain, steps.replace("steps ", ""))),
        bar("a round", text("round_s", places), piece("drafting", value("draft_s", places), text("draft_s", places)),
          piece("verification", value("verify_s", places), text("verify_s", places))),
      ],
    };
  }

  function draw() {
    for (const [name, dial] of dials) {
      const input = document.getElementById(`dial-${name}`), place = dial.places[at[name]];
      input.value = at[name];
      input.setAttribute("aria-valuetext", place);
      document.getElementById(`shown-${name}`).textContent = place;
    }
    figures();
    point();
    const k = dials.get("k").places[at.k];
    show(document.getElementById("turned"), { columns: 2, panels: [
      overK(), round(),
      map(`Speedup at ${k === "best" ? "the best k" : `k = ${k}`}`, "alpha", "batch", "speedup"),
      map("Best k and its speedup", "context", "batch", "best_speedup",
        (places) => `${text("best_k", places)} ${text("best_speedup", places)}`),
    ] }, "Your own point");
  }

  function turn(places) {
    for (const [name, dial] of dials) {
      const wanted = places[name] ?? dial.at;
      at[name] = Number.isInteger(wanted) && wanted >= 0 && wanted < dial.places.length ? wanted : dial.at;
    }
    draw();
  }
  function linked() {
    const found = /^#at=(\d+),(\d+),(\d+),(\d+)$/.exec(location.hash);
    turn(found ? Object.fromEntries([...dials.keys()].map((name, i) => [name, +found[i + 1]])) : {});
  }
  document.querySelector("form.dials").addEventListener("submit", (event) => event.preventDefault());
  for (const name of dials.keys()) {
    document.getElementById(`dial-${name}`).addEventListener("input", (event) => {
      turn({ ...at, [name]: +event.target.value });
      tell();
      try { history.replaceState(null, "", `#at=${[...dials.keys()].map((one) => at[one]).join(",")}`); } catch { /* a file may not be renamed */ }
    });
  }
  document.getElementById("reset").addEventListener("click", () => { turn({}); tell(); });
  for (const id of ["dials", "to-dials"]) document.getElementById(id).hidden = false;
  addEventListener("hashchange", () => { if (location.hash.startsWith("#at=")) linked(); });
  linked();
  return draw;
}
