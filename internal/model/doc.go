// Package model says what hosts would carry that nobody measured, from a few runs that
// somebody did.
//
// A class of instances is a workload on a stack. What an operation of it needs is fitted
// to what was measured: device reads, which grow as an instance's share of the memory
// shrinks (Miss), processor time, which reads cost more of (Line), and device writes,
// which are fewer where commits wait for each other (Writes). What so many instances then
// do together follows from that and from what the host has, as in a network of queues:
// each client is either busy with its own operation or waits for a resource that the
// others keep busy too,
//
//	clients / rate = think + latency + sum over resources of demand * wait(utilization)
//
// with wait(u) = u^e / (1 - u), which is nothing below saturation and without bound at it
// (Sakasegawa's approximation of M/M/c, An approximation formula L_q = a * rho^b / (1 -
// rho), Ann. Inst. Stat. Math. 29, 1977; e is fitted). So the rate is the soft minimum of
// the bounds, the latency is theirs by Little's law, and several classes share what binds
// by their clients: with one e for all, this is Kelly's proportional fairness (Charging
// and rate control for elastic traffic, 1997).
//
// Every number has an interval of 90%: fits to setups drawn anew tell how far the
// parameters are known, and points that were left out of a fit tell what the form itself
// gets wrong.
//
// The package is pure.
package model
