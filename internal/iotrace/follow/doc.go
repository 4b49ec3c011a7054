// Package follow follows every request of a blktrace capture through its
// events, and sums up the time between them in an iotrace.Account. It is pure:
// it opens no file. docs/contributing/trace-format.md says what is accepted, and how each
// interval is defined.
//
// Records pass three stages: they are decoded and merged by time, followed, and
// summed up. One thread takes them through all three while they are in the
// processor's first cache. With several, the stages run side by side and pass
// batches on, in order, so that the result is the same.
//
// Special cases:
//
//   - Split (X): each part has the Q of the whole bio, and its own G, D, C. dm completes the whole bio at once.
//   - Remap (A): the bio counts at its last device, for the process that queued it. If it has no Q there (NVMe
//     multipath, md), the remap is its Q.
//   - Requeue (R): all time until the last D is time in the queue.
//   - Flush: one flush at sector 0 serves all waiting bios; bios that only flush have its D and their own C. A flush
//     for a write with data has no owner.
//   - Same sectors twice at once: the oldest first: the mean is right, least and most may be exchanged.
//   - Devices without requests (dm, md, an NVMe multipath head): Q and C. Linux completes at the head only the first
//     of the bios that a path merges. Devices below count the same I/O again.
//
// Memory is bounded by the requests in flight and by the cells of the account,
// both of which have a limit that is named when it is reached.
package follow
