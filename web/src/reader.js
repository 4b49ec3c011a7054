// The reader shows what a mark of a figure says: by pointer, by touch, and by
// the arrow keys once the figure has the focus. A mark is {text, box, series,
// x}: box is where it is in the element, in CSS pixels.

const near = 28; // pixels between a pointer and the mark that it means
const gap = 10; // between a mark and what it says

let status; // says aloud what is shown

function say(text) {
  if (!status) {
    status = document.createElement('div');
    status.className = 'aloud';
    status.setAttribute('role', 'status');
    document.querySelector('main').append(status);
  }
  status.textContent = text;
}

// read makes an element readable. by is how marks are chosen from a pointer:
// 'x' takes the column below it, otherwise the nearest counts.
export function read(element, label, marks, {by = 'nearest'} = {}) {
  if (marks.length === 0) return;
  element.tabIndex = 0;
  if (element.localName === 'div') element.setAttribute('role', 'group');
  element.setAttribute('aria-roledescription', 'readable figure');
  element.setAttribute('aria-label', `${label}. Arrow keys read its ${marks.length} marks.`);
  const tip = part('tip'), ring = part('ring');
  element.append(ring, tip);
  let at = -1;

  function part(name) {
    const div = document.createElement('div');
    div.className = name;
    div.hidden = true;
    div.setAttribute('aria-hidden', 'true');
    return div;
  }

  function show(i, aloud) {
    at = i;
    tip.hidden = ring.hidden = i < 0;
    if (i < 0) return;
    const {text, box} = marks[i];
    tip.textContent = text;
    Object.assign(ring.style, {left: `${box.x - 3}px`, top: `${box.y - 3}px`, width: `${box.width + 6}px`, height: `${box.height + 6}px`});
    const left = box.x + box.width / 2 - tip.offsetWidth / 2;
    tip.style.left = `${Math.max(0, Math.min(left, element.clientWidth - tip.offsetWidth))}px`;
    const above = box.y - tip.offsetHeight - gap;
    tip.style.top = `${above > -tip.offsetHeight ? above : box.y + box.height + gap}px`;
    if (aloud) say(text);
  }

  function meant(event) {
    const frame = element.getBoundingClientRect();
    const px = event.clientX - frame.left, py = event.clientY - frame.top;
    let best = -1, least = Infinity;
    marks.forEach(({box}, i) => {
      const dx = Math.max(box.x - px, 0, px - box.x - box.width);
      const dy = Math.max(box.y - py, 0, py - box.y - box.height);
      const far = by === 'x' ? dx + dy / 1e3 : Math.hypot(dx, dy);
      if (far > near) return;
      // Of marks that lie on each other the smaller one is meant.
      const distance = far + Math.min(box.width * box.height, 1e6) / 1e9;
      if (distance < least) [best, least] = [i, distance];
    });
    return best;
  }

  // beside finds the mark of another series that is nearest in x.
  function beside(step) {
    const order = [...new Set(marks.map((m) => m.series))];
    const wanted = order[order.indexOf(marks[at].series) + step];
    let best = at;
    marks.forEach((m, i) => {
      if (m.series === wanted && (marks[best].series !== wanted || Math.abs(m.box.x - marks[at].box.x) < Math.abs(marks[best].box.x - marks[at].box.x))) best = i;
    });
    return best;
  }

  const keys = {
    ArrowRight: () => Math.min(at + 1, marks.length - 1),
    ArrowLeft: () => Math.max(at - 1, 0),
    ArrowDown: () => beside(1),
    ArrowUp: () => beside(-1),
    Home: () => 0,
    End: () => marks.length - 1,
    Escape: () => -1,
  };
  // Handlers are set, not added: a figure that is drawn again is read anew.
  element.onpointermove = (event) => show(meant(event));
  element.onpointerdown = element.onpointermove;
  // A finger leaves as soon as it is lifted; what it asked for stays until the
  // figure loses the focus.
  element.onpointerleave = (event) => { if (event.pointerType !== 'touch') show(-1); };
  element.onblur = () => show(-1);
  element.onfocus = () => { if (at < 0 && element.matches(':focus-visible')) show(0, true); };
  element.onkeydown = (event) => {
    const to = keys[event.key];
    if (!to || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    show(at < 0 && event.key !== 'Escape' && event.key !== 'End' ? 0 : to(), true);
  };
}
