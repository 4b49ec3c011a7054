// Package breakdown joins what a recorder saw of requests with what the
// application saw of its I/Os: the mean latency of an I/O in parts that follow
// each other, and what is left of it, the residue, with its sign. It is pure.
//
// Two things are counted on either side: the application counts I/Os, and the
// kernel requests. The parts are about the I/O:
//
//   - Every request is a path from its system call to its completion and back
//     to the application. So the mean of requests, and not their sum, is what
//     an I/O takes in a part, also where an I/O was split into several requests
//     that are under way at the same time, or several I/Os became one request.
//   - I/Os without a request (a cache answered) took no time in the block layer
//     and below. The parts are of all I/Os, so that means of requests count for
//     the share of I/Os that had one.
//
// At depth 1, the residue is about 1 µs of 70 µs. Its causes, by their sign:
//
//   - + the end of the system call, and reading fio's clock: 0.3 to 0.8 µs with an asynchronous engine; on a busy
//     host some µs more.
//   - ± an event that the kernel did not show leaves an I/O out of a mean.
//   - − fio ends its slat after X, while the device works: 0.1 to 0.2 µs count twice.
//   - − a woken thread, such as a loop device's worker, takes the processor as the call returns. The mean of X2W
//     less its least is subtracted; without that, parts were 20% above the total.
//
// docs/explanation/latency-parts.md says how each part is measured and what none of them has.
package breakdown
