/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A distribution of times, and how one is added: as struct dist of shared.h, for one place alone. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

struct times {
	u64 count, sum, max;
	u64 notmin; /* the complement of the least: nothing needs to be set up */
	u64 squares_low, squares_high;
	u32 bins[BINS];
};

/* The bin of a time: see BINS. */
INLINE u64 place_of(u64 ns)
{
	u64 v = ns, octave, shift;

	if (ns < 1 << FIRST_OCTAVE)
		return ns >> (FIRST_OCTAVE - STEP_BITS);
	octave = (v > 0xffffffff) << 5; v >>= octave;
	shift = (v > 0xffff) << 4; v >>= shift; octave |= shift;
	shift = (v > 0xff) << 3; v >>= shift; octave |= shift;
	shift = (v > 0xf) << 2; v >>= shift; octave |= shift;
	shift = (v > 0x3) << 1; v >>= shift; octave |= shift;
	octave |= v >> 1;
	if (octave > LAST_OCTAVE)
		return BINS - 1;
	return ((octave - FIRST_OCTAVE + 1) << STEP_BITS) | ((ns >> (octave - STEP_BITS)) & ((1 << STEP_BITS) - 1));
}

INLINE void add_time(struct times *t, u64 ns)
{
	u64 low = ns & 0xffffffff, high = ns >> 32, cross = low * high, place = place_of(ns), square;

	t->count += 1;
	t->sum += ns;
	if (ns > t->max)
		t->max = ns;
	if (~ns > t->notmin)
		t->notmin = ~ns;
	square = low * low + (cross << 33); /* may wrap around once */
	t->squares_high += high * high + (cross >> 31) + (square < low * low);
	t->squares_low += square;
	t->squares_high += t->squares_low < square;
	SAME(place);
	if (place < BINS)
		t->bins[place] += 1;
}

#endif
