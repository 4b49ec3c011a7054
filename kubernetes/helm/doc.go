// Package helm has the test of the chart, which is kubernetes/manifests, by Helm's own engine.
package helm
