package scheduler

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// What a scheduler's or an extender's /metrics has besides its own.
var (
	modelled = metrics.NewGauge(&metrics.GaugeOpts{Subsystem: "plimsoll", Name: "models", StabilityLevel: metrics.ALPHA,
		Help: "Kinds of nodes that have a model."})
	measured = metrics.NewGaugeVec(&metrics.GaugeOpts{Subsystem: "plimsoll", Name: "model_measured_timestamp_seconds",
		StabilityLevel: metrics.ALPHA, Help: "When the last run of a kind's model was measured, where that is known."},
		[]string{"kind"})
	unreadable = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Subsystem:      "plimsoll",
		Name:           "model_unreadable",
		StabilityLevel: metrics.ALPHA,
		Help:           "1 for a ConfigMap with an unreadable model: its last readable version is used. * is all ConfigMaps.",
	},
		[]string{"configmap"})
	judged = metrics.NewCounterVec(&metrics.CounterOpts{Subsystem: "plimsoll", Name: "nodes_judged_total",
		StabilityLevel: metrics.ALPHA,
		Help:           "Nodes that were judged for a pod: fits, unknown, or the limit that would break."},
		[]string{"result"})
	placedPods = metrics.NewCounterVec(&metrics.CounterOpts{Subsystem: "plimsoll", Name: "pods_placed_total",
		StabilityLevel: metrics.ALPHA,
		Help:           "Pods with a class that were placed, by whether a model predicted what they do."},
		[]string{"predicted"})
	promised = metrics.NewCounterVec(&metrics.CounterOpts{Subsystem: "plimsoll", Name: "predicted_gain_total",
		StabilityLevel: metrics.ALPHA, Help: "Operations a second that pods were predicted to add to their nodes, by class."},
		[]string{"class"})
)

func init() {
	legacyregistry.MustRegister(modelled, measured, unreadable, judged, placedPods, promised)
}
