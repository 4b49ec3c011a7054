package iofit

import "sync"

// cache keeps values by keys, and makes each once, also if several goroutines ask at the same time. It holds at most
// twice limit: when limit values are new, older ones that were not asked for since are dropped.
type cache[K comparable, V any] struct {
	limit int

	mu         sync.RWMutex // guards young and old; what is made for a key is made without it
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
	if c.young == nil || len(c.young) >= c.limit {
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
