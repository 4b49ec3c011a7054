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
// Memory is bounded by the requests in flight and by the cells of the account,
// both of which have a limit that is named when it is reached.
package follow
