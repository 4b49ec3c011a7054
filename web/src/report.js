// Makes the report's figures readable mark by mark. Each is drawn in the place
// of its still picture, which stays where that fails, on paper, and for
// readers without JavaScript.
import * as plot from './plot.js';
import * as series from './series.js';
import {read} from './reader.js';

const figures = JSON.parse(document.getElementById('figure-data').textContent);
const hidden = new Map(); // of each section, the slots that its reader left out
const views = figures.map(view).filter(Boolean);

function view(figure) {
  const element = document.getElementById(figure.id);
  if (!element) return null;
  const live = document.createElement('div');
  live.className = 'live';
  element.append(live);
  const section = element.closest('section');
  if (!hidden.has(section)) hidden.set(section, new Set());
  return {figure, element, live, section, width: 0, front: 0, failed: false};
}

// width is that of a figure, and 0 as long as it is folded away.
function width(v) {
  return v.element.checkVisibility?.() === false ? 0 : v.element.clientWidth;
}

function draw(v) {
  const wide = width(v);
  if (v.failed || wide === 0) return;
  v.width = wide;
  try {
    v.live.replaceChildren();
    v.element.classList.add('is-live');
    if (v.figure.kind === 'series') {
      const marks = series.draw(v.figure, v.live, wide, v.front);
      read(v.live, named(v.figure), marks, {by: 'x'});
      trials(v);
    } else {
      const {element, marks} = plot.draw(v.figure, wide, hidden.get(v.section));
      v.live.append(element);
      read(v.live, named(v.figure), marks(v.live));
    }
  } catch (error) {
    v.failed = true;
    v.element.classList.remove('is-live');
    v.live.remove();
    console.error(`${v.figure.title} stays a still picture:`, error);
  }
}

// named tells figures of one workload apart.
const named = (figure) => [figure.title, figure.note].filter(Boolean).join(', ');

// trials gives a figure of several trials a button for each.
function trials(v) {
  if (v.figure.curves.length < 2 || v.buttons) return;
  v.buttons = document.createElement('div');
  v.buttons.className = 'trials';
  v.buttons.setAttribute('role', 'group');
  v.buttons.setAttribute('aria-label', `Trial in front: ${v.figure.title}`);
  v.figure.curves.forEach((curve, i) => {
    const button = toggle(curve.name, i === v.front, () => {
      v.front = i;
      for (const [j, b] of [...v.buttons.children].entries()) b.setAttribute('aria-pressed', j === i);
      draw(v);
    });
    v.buttons.append(button);
  });
  v.element.append(v.buttons);
}

function toggle(text, pressed, onclick) {
  const button = document.createElement('button');
  button.type = 'button';
  button.setAttribute('aria-pressed', pressed);
  button.append(text);
  button.onclick = onclick;
  return button;
}

// legends makes the lines of a legend buttons that leave a series out.
function legends() {
  for (const item of document.querySelectorAll('li.series')) {
    const section = item.closest('section'), slot = Number(item.dataset.slot);
    const button = toggle('', true, () => {
      const left = hidden.get(section);
      if (!left.delete(slot)) left.add(slot);
      button.setAttribute('aria-pressed', !left.has(slot));
      for (const v of views) if (v.section === section && v.width > 0) draw(v);
    });
    button.append(...item.childNodes);
    item.append(button);
  }
}

// rows makes the charts readable that Go draws row by row, by their titles.
function rows() {
  for (const chart of document.querySelectorAll('.chart > .rows')) {
    const marks = [];
    for (const title of chart.querySelectorAll('svg title')) {
      const owner = title.parentNode;
      const text = title.textContent;
      if (owner.getAttribute('role') === 'img') owner.setAttribute('aria-label', text);
      // A lane of the timeline is read by its cells.
      if (!(owner.getAttribute('role') === 'img' && owner.querySelector('g > title'))) marks.push({text, owner, series: 0, x: 0});
    }
    const frame = chart.parentNode;
    const place = () => {
      const origin = frame.getBoundingClientRect();
      for (const m of marks) {
        const r = m.owner.getBoundingClientRect();
        m.box = {x: r.left - origin.left, y: r.top - origin.top, width: r.width, height: r.height};
      }
    };
    place();
    for (const title of chart.querySelectorAll('svg title')) title.remove();
    read(frame, frame.getAttribute('aria-label') ?? frame.querySelector('figcaption b')?.textContent ?? 'Trials', marks);
    new ResizeObserver(place).observe(frame);
  }
}

// What is in sight is drawn at once, the rest while nothing else is to do.
const queue = [];
let waiting = false;

function work(deadline) {
  waiting = false;
  do {
    if (queue.length > 0) draw(queue.shift());
  } while (queue.length > 0 && deadline.timeRemaining() > 4);
  if (queue.length > 0) return schedule();
  document.documentElement.dataset.figures = 'live';
  document.documentElement.dataset.drawn ??= performance.now(); // for make bench-report
}

function schedule() {
  if (waiting) return;
  waiting = true;
  document.documentElement.dataset.figures = 'drawing';
  const idle = window.requestIdleCallback ?? ((f) => setTimeout(() => f({timeRemaining: () => 20}), 1));
  idle(work, {timeout: 200});
}

function enqueue(v) {
  if (!queue.includes(v)) queue.push(v);
  schedule();
}

legends();
for (const v of views) {
  const {top, bottom} = v.element.getBoundingClientRect();
  if (bottom > 0 && top < innerHeight) draw(v);
}
// again draws what has another width than it was drawn for.
function again(some) {
  for (const v of some) {
    const wide = width(v);
    if (wide > 0 && wide !== v.width) enqueue(v);
  }
}
again(views);
const sizes = new ResizeObserver((entries) => again(views.filter((v) => entries.some((e) => e.target === v.element))));
for (const v of views) sizes.observe(v.element);
for (const details of document.querySelectorAll('details')) {
  details.addEventListener('toggle', () => again(views.filter((v) => details.contains(v.element))));
}
schedule();

// A canvas does not follow the colours of the page by itself.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const v of views) if (v.figure.kind === 'series' && v.width > 0) enqueue(v);
});

rows();
