// Package loadgen generates the load of a plan: the operations of YCSB, on connections
// to a database, in a closed loop or at a rate.
//
// Hazards that its code has to know:
//
//   - Timers of the Go runtime are late by up to a millisecond where nothing else
//     happens. Threads sleep on timers of the kernel, which wake them through the
//     same poller as answers do.
//   - Whoever waits for an answer begins nothing else. In an open loop the latency
//     of what had to wait counts from its intended time, so that a server that
//     stalls shows as long as it does.
//   - A connection on which an attempt got no answer may get it later, before that of
//     the next. It is closed, and another one is made.
package loadgen
