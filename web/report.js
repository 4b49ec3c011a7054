// The script of report.html. Everything is there without it: Go drew every
// figure. It lets a figure be read mark by mark, by pointer, by touch and by
// the arrow keys, and sets the series that is read apart from the others,
// which go grey, in all figures that have it. On a phone it lays tables out as
// cards.
'use strict';
(() => {
  const near = 28; // pixels between a pointer and the mark that it means
  const gap = 10; // between a mark and what it says

  // ---- Highlighting: everything with the same data-s is one series.

  const frames = [...document.querySelectorAll('.frame, .chart')];
  const holders = new Map(frames.map((frame) => [frame, [...frame.querySelectorAll('[data-s]')]]));
  let lit = [];

  function highlight(name, own) {
    for (const element of lit) element.classList.remove('lit', 'on');
    lit = [];
    if (!name) return;
    // The trials of a series are those of one figure only.
    const alone = own.closest('.fig.series');
    for (const [frame, elements] of holders) {
      if (alone && frame !== own) continue;
      const members = elements.filter((e) => e.dataset.s === name);
      if (members.length === 0) continue;
      for (const e of members) e.classList.add('on');
      frame.classList.add('lit');
      lit.push(frame, ...members);
    }
  }

  // ---- Reading: marks are the titles that Go wrote, and the points of lines.

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

  // A mark is {text, name, rank, box()}: box gives where it is in the window.
  function marksOf(frame) {
    const marks = [];
    for (const title of frame.querySelectorAll('svg title')) {
      const owner = title.parentNode;
      const whole = owner.getAttribute('role') === 'img';
      const text = title.textContent;
      if (whole) owner.setAttribute('aria-label', text); // the browser would show the title as well
      title.remove();
      // A picture is read by its marks; only where it has none it is one itself.
      if (whole && owner.querySelector('title, [data-read]')) continue;
      if (whole && owner.classList.contains('area')) continue;
      if (whole && frame.matches('.forest-rows')) continue;
      const series = owner.closest('[data-s]');
      marks.push({text, name: series?.dataset.s, rank: rank(series), box: () => owner.getBoundingClientRect()});
    }
    for (const line of frame.querySelectorAll('[data-read]')) {
      const series = line.closest('[data-s]'), name = series.dataset.s;
      const places = line.getAttribute('d').match(/[ML][^ML]+/g) ?? [];
      line.dataset.read.split('\n').forEach((text, i) => {
        const [x, y] = places[i].slice(1).split(' ').map(Number);
        marks.push({text: name ? `${name}, ${text}` : text, name, rank: rank(series), box: () => {
          const area = line.closest('.area').getBoundingClientRect(); // an svg in it is as wide as its line
          return new DOMRect(area.x + area.width * x / 100 - 3, area.y + area.height * y / 100 - 3, 6, 6);
        }});
      });
    }
    // Lines are read one by one: first that of the verdict, then the baseline.
    const order = new Map();
    if (frame.closest('.fig.lines, .fig.curves, .fig.series')) {
      for (const m of marks) if (!order.has(m.name)) order.set(m.name, order.size);
    }
    const place = (m) => order.get(m.name) ?? 0;
    return marks.sort((a, b) => a.rank - b.rank || place(a) - place(b)); // what is equal stays in its order
  }

  function rank(series) {
    if (!series) return 9; // a ground behind the lines
    if (!series.classList.contains('one')) return 0;
    return series.matches('.pick, .front') ? 0 : series.matches('.base') ? 1 : 2;
  }

  function readable(frame) {
    const label = frame.dataset.label ?? frame.querySelector('figcaption b')?.textContent ?? 'Trials';
    const tip = part('tip'), ring = part('ring');
    let marks, at = -1;
    frame.tabIndex = 0;
    if (!frame.hasAttribute('role')) frame.setAttribute('role', frame.localName === 'figure' ? 'figure' : 'group');
    frame.setAttribute('aria-roledescription', 'readable figure');
    frame.setAttribute('aria-label', `${label}. Arrow keys read its marks.`);

    function part(name) {
      const div = document.createElement('div');
      div.className = name;
      div.hidden = true;
      div.setAttribute('aria-hidden', 'true');
      frame.after(div);
      return div;
    }

    function ready() {
      marks ??= marksOf(frame);
      return marks.length > 0;
    }

    function show(i, aloud) {
      at = i;
      tip.hidden = ring.hidden = i < 0;
      highlight(i < 0 ? '' : marks[i].name, frame);
      pointAt(frame, i < 0 ? undefined : marks[i].box());
      if (i < 0) return;
      let box = marks[i].box();
      const scroller = frame.getBoundingClientRect();
      if (aloud && (box.left < scroller.left || box.right > scroller.right)) { // a wide figure on a phone
        frame.scrollLeft += box.left - scroller.left - scroller.width / 2;
        box = marks[i].box();
      }
      const origin = tip.offsetParent.getBoundingClientRect();
      const x = box.x - origin.x, y = box.y - origin.y;
      tip.textContent = marks[i].text;
      Object.assign(ring.style, {
        left: `${x - 3}px`, top: `${y - 3}px`, width: `${box.width + 6}px`, height: `${box.height + 6}px`,
      });
      const left = x + box.width / 2 - tip.offsetWidth / 2;
      tip.style.left = `${Math.max(0, Math.min(left, tip.offsetParent.clientWidth - tip.offsetWidth))}px`;
      const above = y - tip.offsetHeight - gap;
      tip.style.top = `${above > -tip.offsetHeight ? above : y + box.height + gap}px`;
      if (aloud) say(marks[i].text);
    }

    function meant(event) {
      let best = -1, least = Infinity;
      marks.forEach((mark, i) => {
        const box = mark.box();
        const dx = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
        const dy = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
        const far = Math.hypot(dx, dy);
        // Of marks that lie on each other the smaller one is meant.
        const distance = far + Math.min(box.width * box.height, 1e6) / 1e9;
        if (far <= near && distance < least) [best, least] = [i, distance];
      });
      return best;
    }

    // away gives the first mark of the next series that has one, from mark i.
    function away(i, step) {
      for (let j = i + step; j >= 0 && j < marks.length; j += step) {
        if (marks[j].name === marks[i].name) continue;
        while (step < 0 && j > 0 && marks[j - 1].name === marks[j].name) j--;
        return j;
      }
      return i;
    }

    // A finger reads where it touches, and what it read stays when it is lifted.
    frame.addEventListener('pointermove', (e) => {
      if (e.pointerType !== 'touch' && ready()) show(nameAt(e) ?? meant(e), false);
    });
    frame.addEventListener('pointerdown', (e) => {
      if (e.pointerType === 'touch' && ready()) show(nameAt(e) ?? meant(e), true);
    });
    frame.addEventListener('pointerleave', (e) => {
      if (e.pointerType !== 'touch' && ready()) show(document.activeElement === frame ? at : -1, false);
    });
    frame.addEventListener('focus', () => frame.matches(':focus-visible') && ready() && show(Math.max(at, 0), true));
    frame.addEventListener('blur', () => ready() && show(-1, false));
    frame.addEventListener('keydown', (e) => {
      if (!ready() || e.ctrlKey || e.altKey || e.metaKey) return;
      const from = Math.max(at, 0);
      const to = {
        ArrowRight: () => Math.min(at + 1, marks.length - 1), ArrowLeft: () => Math.max(from - 1, 0),
        ArrowDown: () => away(from, 1), ArrowUp: () => away(from, -1),
        Home: () => 0, End: () => marks.length - 1, Escape: () => -1,
      }[e.key];
      if (!to) return;
      e.preventDefault();
      show(to(), true);
    });

    // The name at the end of a line means its last point.
    function nameAt(event) {
      const name = event.target.closest?.('.label.end')?.closest('[data-s]')?.dataset.s;
      const i = name === undefined ? -1 : marks.findLastIndex((m) => m.name === name);
      return i < 0 ? undefined : i;
    }
  }

  for (const frame of frames) readable(frame);

  // ---- The cursor: figures of one trial share their time, and what is read in
  // one of them is marked in the others. A figure with one line says its value.

  function pointAt(frame, box) {
    const own = frame.querySelector('.area');
    for (const other of frame.closest('[data-cursor]')?.querySelectorAll('.frame') ?? []) {
      const area = other.querySelector('.area');
      let cursor = other.parentNode.querySelector('.cursor');
      if (!cursor) {
        cursor = document.createElement('div');
        cursor.className = 'cursor';
        cursor.setAttribute('aria-hidden', 'true');
        cursor.append(document.createElement('span'));
        other.after(cursor);
      }
      cursor.hidden = !box;
      if (!box) continue;
      const from = own.getBoundingClientRect(), to = area.getBoundingClientRect();
      const share = (box.x + box.width / 2 - from.x) / from.width;
      const origin = cursor.offsetParent.getBoundingClientRect();
      Object.assign(cursor.style, {
        left: `${to.x - origin.x + share * to.width}px`, top: `${to.y - origin.y}px`, height: `${to.height}px`,
      });
      const lines = other.querySelectorAll('[data-read]');
      cursor.firstChild.textContent = other !== frame && lines.length === 1 ? valueAt(lines[0], share) : '';
    }
  }

  // valueAt gives the value of a line that is nearest to a share of the way along x.
  function valueAt(line, share) {
    const places = line.getAttribute('d').match(/[ML][^ML]+/g) ?? [];
    let best = '', least = Infinity;
    line.dataset.read.split('\n').forEach((text, i) => {
      const far = Math.abs(Number(places[i].slice(1).split(' ')[0]) / 100 - share);
      if (far < least) [best, least] = [text.slice(text.indexOf(': ') + 2), far];
    });
    return best;
  }

  // ---- On a phone a row of a table is a card (report.css): each value needs
  // the name of its column, and rows must stay rows for screen readers.

  for (const table of document.querySelectorAll('.scroll > table')) {
    const heads = [...table.querySelectorAll('thead th')], rows = [...table.querySelectorAll('tbody tr')];
    const isLine = (row) => row.cells.length === 1 && row.cells[0].colSpan === heads.length; // of words, across all columns
    if (!rows.every((row) => row.cells.length === heads.length || isLine(row))) continue; // it is scrolled
    table.classList.add('cards');
    const roles = {TABLE: 'table', THEAD: 'rowgroup', TBODY: 'rowgroup', TR: 'row', TD: 'cell'};
    for (const e of [table, ...table.querySelectorAll('thead, tbody, tr, td, th')]) {
      e.setAttribute('role', roles[e.tagName] ?? (e.scope === 'row' ? 'rowheader' : 'columnheader'));
    }
    for (const row of rows.filter((row) => !isLine(row))) [...row.cells].forEach((cell, i) => cell.dataset.label = heads[i].textContent);
  }
})();
