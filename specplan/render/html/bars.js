// Lying bars of pieces end to end, on one scale from 0.
function bars(panel, width, name) {
  const tall = 46;
  const totals = panel.bars.map((bar) => bar.pieces.reduce((sum, piece) => sum + piece.size, 0));
  const box = { left: 6, right: width - 10 };
  const ends = [...totals, ...panel.rules.map((rule) => rule.at)], level = united(panel.label, ends);
  const across = axis(ends, "linear", box.left, box.right, level);
  const names = above(panel.rules, across, 0, width), top = 6 + ROW * rowsOf(names);
  const height = top + tall * panel.bars.length + 40;
  box.bottom = height - 38;
  const drawing = canvas(width, height, name);
  for (const [x, text] of apart(across.ticks)) {
    drawing.append(shape("line", { x1: x, x2: x, y1: top, y2: box.bottom, class: "grid" }));
    drawing.append(words(x, box.bottom + 15, text, x < 20 ? "start" : "middle"));
  }
  drawing.append(words(box.right, box.bottom + 32, level.label, "end", { class: "label" }));
  const look = looks(), known = new Map();
  panel.bars.forEach((bar, row) => {
    const y = top + row * tall;
    const said = bar.text ? `${bar.name}: ${bar.text}` : bar.name;
    drawing.append(words(box.left, y + 13, said, "start", { class: "halo" }));
    let from = 0;
    for (const piece of bar.pieces) {
      const number = look(piece.name), again = number >= SERIES ? " again" : "";
      const ink = `s${number % SERIES}${again}`, x = across.place(from);
      const long = across.place(from + piece.size) - x;
      drawing.append(shape("rect", { x, y: y + 18, width: Math.max(long, 0), height: 20, class: `piece ${ink}` }));
      if (long > wide(piece.text) + 8)
        drawing.append(words(x + long / 2, y + 32, piece.text, "middle", { class: `inside${again}` }));
      const told = known.get(piece.name) || { ink, texts: [] };
      told.texts.push(piece.text);
      known.set(piece.name, told);
      from += piece.size;
    }
  });
  standing(drawing, names, across, top, box.bottom);
  const entries = [...known].map(([piece, { ink, texts }]) => [
    [shape("rect", { width: 24, height: 12, y: 1, class: `piece ${ink}` })],
    `${piece}: ${[...new Set(texts)].join(", ")}`,
  ]);
  return [drawing, legend(entries)];
}
