// Numbers as people read them, like html_units.go does for what Go writes.

// exact gives a value with its thousands apart and at most three digits
// behind the point: what is stored, without what nobody measured.
export function exact(value) {
  return value.toLocaleString('en-US', {maximumFractionDigits: 3});
}

// latency gives nanoseconds in the unit that reads best, and exactly.
export function latency(ns) {
  const [size, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns']].find(([size]) => ns >= size) ?? [1, 'ns'];
  const short = `${(ns / size).toPrecision(3).replace(/e\+?\d+$/, '')} ${unit}`;
  return size === 1 ? `${exact(ns)} ns` : `${short} (${exact(ns)} ns)`;
}

// quantity gives a value in the unit of a figure's curves.
export function quantity(value, unit) {
  return unit === 'ns' ? latency(value) : `${exact(value)} ${unit}`;
}

// percentile gives the place on the axis of a latency curve, which is the
// power of ten of the share that waits longer, as a percentile.
export function percentile(place) {
  const percent = 100 * (1 - 10 ** -place);
  const digits = place < 1 ? 0 : place < 2 ? 1 : place < 3 ? 2 : 3;
  return `p${Number(percent.toFixed(digits))}`;
}
