"use strict";
// Shows keys, time and rates of the cell under the pointer.
const page = JSON.parse(document.getElementById("values").textContent);
const tip = document.getElementById("tip");
const names = {
  requests: "requests", reads: "reads", writes: "writes", rows_scanned: "rows read", bytes: "bytes",
  throttled: "refused", p50_us: "p50", p99_us: "p99",
};

function number(value) {
  return value > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
}

function latency(us) {
  if (us < 1e3) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${(us / 1e3).toPrecision(3)} ms`;
  return `${(us / 1e6).toPrecision(3)} s`;
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; value >= 1023.95 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

function text(metric, value) {
  if (value === null || value === undefined) return "–";
  if (metric.endsWith("_us")) return latency(value);
  const rate = value / page.step;
  return (metric === "bytes" ? bytes(rate) : number(rate)) + "/s";
}

function clock(column) {
  return new Date(Date.parse(page.from) + column * page.step * 1000).toISOString().slice(11, 19);
}

function add(parent, tag, content) {
  const element = document.createElement(tag);
  element.textContent = content;
  parent.append(element);
  return element;
}

function show(event) {
  const cells = event.target.closest(".cells");
  if (!cells) return hide();
  const box = cells.getBoundingClientRect();
  const at = Math.floor((event.clientX - box.left) / box.width * page.columns);
  const column = Math.min(Math.max(at, 0), page.columns - 1);
  const row = page.maps[cells.dataset.map][cells.dataset.row];
  tip.replaceChildren();
  add(tip, "b", row.name);
  if (row.before) add(tip, "small", `before ${row.before}`);
  add(tip, "small", `${clock(column)} to ${clock(column + 1)} UTC`);
  const table = add(tip, "table", "");
  page.metrics.forEach((metric, index) => {
    const line = add(table, "tr", "");
    add(line, "td", names[metric] || metric);
    add(line, "td", text(metric, row.values[index][column]));
  });
  tip.hidden = false;
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const below = box.bottom + 10;
  const top = below + tip.offsetHeight > innerHeight ? box.top - tip.offsetHeight - 10 : below;
  tip.style.left = `${Math.max(left, 8)}px`;
  tip.style.top = `${Math.max(top, 8)}px`;
}

function hide() {
  tip.hidden = true;
}

addEventListener("pointermove", show);
addEventListener("pointerdown", show);
addEventListener("scroll", hide, { passive: true });
