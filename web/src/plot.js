// Bars, lines, percentiles and ratios, drawn by Observable Plot from what Go
// computed: figure.go says what the fields of a figure are.
import * as Plot from '@observablehq/plot';
import {exact, percentile, quantity} from './format.js';

export const margin = {top: 8, right: 12, left: 56};
const symbols = ['circle', 'square', 'triangle', 'times', 'plus', 'triangle2', 'hexagon', 'asterisk'];
const dashes = ['none', '6 3', '2 3', '9 3 2 3', '1 4'];
export const colour = (slot) => `var(--c${slot % 7})`;
const dash = (slot) => dashes[slot % dashes.length];
const fills = {device: 'var(--device)', unknown: 'var(--unknown)', memory: 'url(#hatch)', slat: 'var(--c1)', clat: 'var(--device)', residue: 'none'};
const strokes = {memory: 'var(--memory)', residue: 'var(--ink)'};
// The parts of a latency, in the colours that the style sheet gives them.
for (const part of ['0', '1', '2', '3', '4', '5', '6', 'device']) {
  fills[`part-${part}`] = part === 'device' ? 'var(--device)' : `var(--c${part})`;
  strokes[`part-${part}`] = 'var(--paper)';
}

// layers are the marks of Plot, of which some can be read.
class Layers {
  constructor() {
    this.marks = [];
    this.readable = [];
  }

  add(...marks) {
    this.marks.push(...marks);
  }

  // read adds marks that stand for the data, and can be read.
  read(data, make) {
    if (data.length === 0) return;
    const name = `layer-${this.readable.length}`;
    this.readable.push({name, data});
    this.marks.push(make(data, {className: name, ariaHidden: 'true'}));
  }
}

// draw gives the figure as SVG, and its marks for the reader once it is in the
// page.
export function draw(figure, width, hidden) {
  const layers = new Layers();
  const parts = {bars, lines, curves, forest}[figure.kind](figure, layers, width, (slot) => !hidden.has(slot));
  const svg = Plot.plot({
    width,
    height: figure.height + figure.bottom + margin.top,
    marginTop: margin.top, marginRight: margin.right, marginLeft: margin.left, marginBottom: figure.bottom,
    style: {fontSize: '11px', color: 'var(--soft)', background: 'none', overflow: 'visible'},
    x: {type: figure.x.log ? 'log' : 'linear', domain: [figure.x.low, figure.x.high], axis: null, clamp: true},
    y: {type: figure.y.log ? 'log' : 'linear', domain: [figure.y.low, figure.y.high], axis: null, clamp: true},
    ...parts.options,
    marks: layers.marks,
  });
  // The figure is named as a whole; the parts that Plot names are no elements
  // that may have a name.
  for (const part of svg.querySelectorAll('[aria-label]')) {
    part.dataset.part = part.getAttribute('aria-label');
    part.removeAttribute('aria-label');
  }
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', figure.title);
  return {element: svg, marks: (frame) => [...elements(svg, layers, frame), ...(parts.marks?.(svg) ?? [])].sort(parts.order ?? inOrder)};
}

// inOrder sorts marks by series and, within one, from left to right.
const inOrder = (a, b) => a.series - b.series || a.box.x - b.box.x;
const leftToRight = (a, b) => a.x - b.x || a.box.y - b.box.y;

// elements finds the elements that Plot drew for each datum of the layers.
function elements(svg, layers, frame) {
  const origin = frame.getBoundingClientRect();
  return layers.readable.flatMap(({name, data}) => [...svg.querySelectorAll(`.${name} > *`)].map((element) => {
    const datum = data[element.__data__], r = element.getBoundingClientRect();
    return {text: datum.text, series: datum.s, x: datum.x, box: {x: r.left - origin.left, y: r.top - origin.top, width: r.width, height: r.height}};
  }));
}

// The axes are texts: on a logarithmic scale, Plot's own leave labels out.
const quiet = {fill: 'currentColor', ariaHidden: 'true'};
const below = (axis) => Plot.text(axis.ticks, {x: 'at', text: 'label', frameAnchor: 'bottom', lineAnchor: 'top', dy: 5, ...quiet});
const beside = (axis) => Plot.text(axis.ticks, {y: 'at', text: 'label', frameAnchor: 'left', textAnchor: 'end', dx: -6, ...quiet});
const grid = {stroke: 'var(--grid)', strokeOpacity: 1};

function axes(figure, layers) {
  const {x, y} = figure;
  layers.add(Plot.gridY(y.ticks.map((t) => t.at), grid), beside(y));
  if (x.ticks) layers.add(Plot.gridX(x.ticks.map((t) => t.at), grid), below(x));
  if (x.label) layers.add(Plot.text([x.label], {frameAnchor: 'bottom-right', lineAnchor: 'top', dy: 22, ...quiet}));
}

const whisker = (halo) => ({stroke: halo ? 'var(--paper)' : 'var(--ink)', strokeWidth: halo ? 4 : 1.4, strokeOpacity: halo ? 0.65 : 1});

// published draws what papers printed: a rhomb, open where it is only a limit,
// and the tolerance.
function published(layers, marks, channels, rule) {
  const known = marks.filter((m) => m.class === 'published' || m.class === 'bound');
  layers.add(rule(known.filter((m) => m.high > m.low), {stroke: 'var(--c3)', strokeWidth: 2}));
  for (const [name, fill] of [['published', 'var(--c3)'], ['bound', 'var(--paper)']]) {
    layers.read(known.filter((m) => m.class === name), (data, options) => Plot.dot(data, {...channels, symbol: 'diamond', r: 6, fill, stroke: name === 'bound' ? 'var(--c3)' : 'var(--paper)', strokeWidth: 1.3, ...options}));
  }
}

function bars(figure, layers, width) {
  axes(figure, layers);
  const own = figure.marks.filter((m) => !['published', 'bound'].includes(m.class));
  // The residue lies over the parts, whichever figure has it first.
  for (const name of [...new Set(own.map((m) => m.class))].sort((a, b) => (a === 'residue') - (b === 'residue'))) {
    layers.read(own.filter((m) => m.class === name), (data, options) => Plot.rect(data, {
      x1: (m) => m.x + 0.15, x2: (m) => m.x + 0.85, y1: (m) => m.from ?? 0, y2: 'y',
      fill: fills[name] ?? 'var(--device)', stroke: strokes[name] ?? 'none', strokeDasharray: name === 'residue' ? '3 2' : 'none', ...options,
    }));
  }
  const between = own.filter((m) => m.high > m.low);
  for (const halo of [true, false]) layers.add(Plot.ruleX(between, {x: (m) => m.x + 0.5, y1: 'low', y2: 'high', ...whisker(halo)}));
  published(layers, figure.marks, {x: (m) => m.x + 0.5, y: 'y'}, (data, options) => Plot.ruleX(data, {x: (m) => m.x + 0.5, y1: 'low', y2: 'high', ...options}));
  // Where bars are narrower than a line of text is high, some names give way.
  const each = Math.ceil((12 * figure.x.names.length) / (width - margin.left - margin.right));
  layers.add(Plot.text(figure.x.names, {
    x: (_, i) => i + 0.5, y: figure.y.low, text: (d) => d, filter: (_, i) => i % each === 0, rotate: -50, textAnchor: 'end', dx: -2, dy: 10, ...quiet,
  }));
  return {order: leftToRight};
}

function lines(figure, layers, _width, shown) {
  axes(figure, layers);
  const places = (figure.bands ?? []).filter((b) => b.x);
  layers.add(Plot.ruleX(places.map((b) => Math.sqrt(b.x[0] * b.x[1])), {stroke: 'var(--c3)', strokeWidth: 2, strokeDasharray: '2 3'}));
  const own = figure.marks.filter((m) => shown(m.s));
  const slots = [...new Set(own.map((m) => m.s))];
  for (const s of slots) {
    const data = own.filter((m) => m.s === s), known = data.filter((m) => m.high > m.low);
    layers.add(
      Plot.line(data, {x: 'x', y: 'y', stroke: colour(s), strokeDasharray: dash(s), strokeWidth: 1.8}),
      Plot.ruleX(known, {x: 'x', y1: 'low', y2: 'high', stroke: colour(s), strokeWidth: 1.4, strokeOpacity: 0.75}),
    );
    layers.read(data, (d, options) => Plot.dot(d, {x: 'x', y: 'y', symbol: symbols[s % symbols.length], r: 4, stroke: colour(s), fill: colour(s), strokeWidth: 1.6, ...options}));
  }
  return {
    marks: (svg) => places.map((b) => {
      const at = svg.scale('x').apply(Math.sqrt(b.x[0] * b.x[1]));
      return {text: b.text, series: 1e6, x: at, box: {x: at - 1, y: margin.top, width: 2, height: figure.height}};
    }),
  };
}

function curves(figure, layers, _width, shown) {
  axes(figure, layers);
  const place = figure.x.label === 'percentile' ? percentile : (x) => `${exact(x)} s`;
  const own = figure.curves.filter((c) => shown(c.s));
  for (const c of own) {
    layers.add(Plot.line(c.y, {x: (_, i) => figure.xs[i], y: (v) => v, stroke: colour(c.s), strokeDasharray: dash(c.s), strokeWidth: 1.8}));
  }
  return {
    marks(svg) {
      const x = svg.scale('x'), y = svg.scale('y');
      return own.flatMap((c) => c.y.map((v, i) => ({
        text: `${c.name}, ${place(figure.xs[i])}: ${quantity(v, figure.unit)}`, series: c.s, x: figure.xs[i],
        box: {x: x.apply(figure.xs[i]) - 3, y: y.apply(v) - 3, width: 6, height: 6},
      })));
    },
  };
}

// forest has a row for each ratio. Narrow ones have the names above the marks.
function forest(figure, layers, width) {
  const wide = width >= 640, rows = figure.y.names;
  const left = wide ? Math.min(width * 0.34, 340) : 12;
  const here = (m) => m.y + (wide ? 0.62 : 0.74), printed = (m) => m.y + (wide ? 0.26 : 0.5);
  layers.add(
    Plot.gridX(figure.x.ticks.map((t) => t.at), grid),
    Plot.ruleX([1], {stroke: 'var(--ink)', strokeDasharray: '4 3'}),
    below(figure.x),
    Plot.ruleY(rows.map((_, i) => i), {stroke: 'var(--rule)', insetLeft: -left}),
    Plot.text(rows, {
      x: figure.x.low, y: (_, i) => i + (wide ? 0.5 : 0.2), text: (d) => d, fill: 'var(--ink)', fontSize: wide ? 12.5 : 11, ariaHidden: 'true',
      textAnchor: 'start', dx: 4 - left, lineWidth: (left - 16) / 12.5 * (wide ? 1 : 0) || Infinity,
    }),
  );
  const own = figure.marks.filter((m) => m.class === 'device' || m.class === 'unsure');
  layers.add(Plot.ruleY(own, {y: here, x1: 'low', x2: 'high', stroke: (m) => (m.class === 'unsure' ? 'var(--unknown)' : 'var(--device)'), strokeWidth: 3}));
  for (const [name, fill, stroke] of [['device', 'var(--device-deep)', 'var(--paper)'], ['unsure', 'var(--paper)', 'var(--soft)']]) {
    layers.read(own.filter((m) => m.class === name), (data, options) => Plot.dot(data, {x: 'x', y: here, r: 4.5, fill, stroke, strokeWidth: 1.5, ...options}));
  }
  published(layers, figure.marks, {x: 'x', y: printed}, (data, options) => Plot.ruleY(data, {y: printed, x1: 'low', x2: 'high', ...options}));
  const notes = figure.notes ?? [];
  if (wide) {
    for (const [i, note] of notes.entries()) {
      layers.add(Plot.text([note], {x: figure.x.high, y: i + 0.5, text: (d) => d, dx: 14, textAnchor: 'start', fill: 'var(--ink)', lineWidth: 20, fontSize: 12, ariaHidden: 'true'}));
    }
  }
  return {
    order: (a, b) => a.series - b.series || a.box.y - b.box.y,
    options: {
      marginLeft: left, marginRight: wide ? 270 : 16,
      x: {type: 'log', domain: [figure.x.low, figure.x.high], axis: null, clamp: true},
      y: {domain: [figure.y.high, 0], axis: null},
    },
  };
}
