//go:build !race

package soak

// raced reports whether tests run under the race detector.
const raced = false
