// Series over time or rounds, drawn by uPlot from what Go computed: figure.go
// says what the fields of a figure are.
import uPlot from 'uplot';
import styles from 'uplot/dist/uPlot.min.css';
import {exact, quantity} from './format.js';
import {margin} from './plot.js';

const grounds = {window: 0.13, tolerance: 0.22, warmup: 0.3, interval: 0.25};
const dashes = {average: [], mean: [], fit: [6, 4]};

const label = 14; // pixels for the name of the x axis

let styled = false;

// draw puts the figure into the frame, with the curve of that number in front,
// and gives its marks for the reader.
export function draw(figure, frame, width, front) {
  if (!styled) {
    document.head.append(Object.assign(document.createElement('style'), {textContent: styles}));
    styled = true;
  }
  const style = getComputedStyle(frame);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const bands = (figure.bands ?? []).filter((b) => (b.curve ?? 0) === front);
  const axis = (a) => ({
    stroke: colour('soft'), font: '11px system-ui, sans-serif', grid: {stroke: colour('grid'), width: 1}, ticks: {show: false},
    splits: () => a.ticks.map((t) => t.at), values: () => a.ticks.map((t) => t.label),
  });
  // The one in front is drawn last.
  const order = figure.curves.map((_, i) => i).filter((i) => i !== front).concat(front);
  const plot = new uPlot({
    width, height: figure.height + figure.bottom + margin.top, padding: [margin.top, margin.right, 0, 0],
    scales: {x: {time: false, range: () => [figure.x.low, figure.x.high]}, y: {range: () => [figure.y.low, figure.y.high]}},
    axes: [
      {...axis(figure.x), size: figure.bottom - label, gap: 3, label: figure.x.label, labelSize: label, labelGap: 0, labelFont: '11px system-ui, sans-serif'},
      {...axis(figure.y), size: margin.left, gap: 4},
    ],
    cursor: {show: false}, select: {show: false}, legend: {show: false},
    series: [{}, ...order.map((i) => ({
      stroke: i === front ? colour('c0') : colour('faint'), width: i === front ? 1.6 : 1,
      points: {show: i === front && figure.xs.length <= 40, size: 5, fill: colour('c0')},
    }))],
    hooks: {drawClear: [(u) => ground(u, bands, colour)], draw: [(u) => across(u, bands, colour)]},
  }, [figure.xs, ...order.map((i) => padded(figure.curves[i].y, figure.xs.length))], frame);
  return marks(plot, figure, bands, front);
}

// padded gives a curve that ends early no values at the rest of the places.
function padded(values, length) {
  return length > values.length ? values.concat(Array(length - values.length).fill(null)) : values;
}

// corners gives a band in pixels: of the canvas, or of the page.
function corners(u, band, canvas) {
  const [x0, x1] = band.x ?? [u.scales.x.min, u.scales.x.max];
  const [y0, y1] = band.y ?? [u.scales.y.min, u.scales.y.max];
  return [[x0, y0], [x1, y1]].map(([x, y]) => [u.valToPos(x, 'x', canvas), u.valToPos(y, 'y', canvas)]);
}

function ground(u, bands, colour) {
  for (const band of bands) {
    if (!(band.class in grounds)) continue;
    const [[x0, y0], [x1, y1]] = corners(u, band, true);
    u.ctx.save();
    u.ctx.globalAlpha = grounds[band.class];
    u.ctx.fillStyle = colour(band.class === 'tolerance' || band.class === 'interval' ? 'c1' : 'soft');
    u.ctx.fillRect(x0, y1, x1 - x0, y0 - y1);
    u.ctx.restore();
  }
}

function across(u, bands, colour) {
  for (const band of bands) {
    if (!(band.class in dashes)) continue;
    const [[x0, y0], [x1, y1]] = corners(u, band, true);
    u.ctx.save();
    u.ctx.strokeStyle = colour(band.class === 'fit' ? 'c3' : 'ink');
    u.ctx.lineWidth = 1.8 * devicePixelRatio;
    u.ctx.setLineDash(dashes[band.class].map((d) => d * devicePixelRatio));
    u.ctx.beginPath();
    u.ctx.moveTo(x0, y0);
    u.ctx.lineTo(x1, y1);
    u.ctx.stroke();
    u.ctx.restore();
  }
}

function marks(u, figure, bands, front) {
  // From the area of the plot to the element.
  const [dx, dy] = [u.over.offsetLeft, u.over.offsetTop];
  const curve = figure.curves[front];
  const values = curve.y.map((v, i) => v === null ? null : ({
    text: `${curve.name}, ${figure.x.label === 'round' ? `round ${figure.xs[i]}` : `${exact(figure.xs[i])} s`}: ${quantity(v, figure.unit)}${figure.each ? `, mean of ${figure.each} samples` : ''}`,
    series: 0, x: figure.xs[i],
    box: {x: u.valToPos(figure.xs[i], 'x') + dx - 3, y: u.valToPos(v, 'y') + dy - 3, width: 6, height: 6},
  })).filter(Boolean);
  const grounds = bands.filter((b) => b.text).map((b, i) => {
    const [[x0, y0], [x1, y1]] = corners(u, b, false);
    return {text: b.text, series: 1 + i, x: 0, box: {x: x0 + dx, y: Math.min(y0, y1) + dy, width: x1 - x0, height: Math.abs(y0 - y1)}};
  });
  return [...values, ...grounds];
}
