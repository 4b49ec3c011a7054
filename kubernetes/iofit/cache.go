package iofit

import "sync"

// cache keeps what was made for keys, and makes it once, also where several ask at the same time. It holds at most
// twice so many: when so many are new, those that nobody asked for since are forgotten.
type cache[K comparable, V any] struct {
	most int

	mu         sync.RWMutex
	young, old map[K]func() V
}

// get returns what is kept for a key, or what is made for it.
func (c *cache[K, V]) get(key K, made func() V) V {
	c.mu.RLock()
	f, is := c.young[key]
	c.mu.RUnlock()
	if !is {
		f = c.keep(key, made)
	}
	return f()
}

func (c *cache[K, V]) keep(key K, made func() V) func() V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, is := c.young[key]; is {
		return f
	}
	f, is := c.old[key]
	if !is {
		f = sync.OnceValue(made)
	}
	if c.young == nil || len(c.young) >= c.most {
		c.old, c.young = c.young, map[K]func() V{}
	}
	c.young[key] = f
	return f
}

// size returns how much is kept.
func (c *cache[K, V]) size() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.young) + len(c.old)
}
