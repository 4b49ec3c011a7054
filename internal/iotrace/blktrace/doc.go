// Package blktrace reads and writes the capture format of the Linux block
// tracer: what the blktrace program stores as NAME.blktrace.CPU, one file a
// CPU, what `blkparse -d` merges into one stream, and what the ftrace tracer
// "blk" gives in binary. It is pure: it opens no file.
//
// A capture is records without a header: 48 bytes (version 7) or 64 (version
// 8, of Linux 6.19) in the byte order of the host that recorded, each followed
// by data of the action's own, the PDU. Reader takes both versions and both
// orders, and goes on behind what is damaged. Merge gives several files as one
// in the order of time. Writer writes version 7, which blkparse and btt read.
// Reader takes the text that blkparse prints by default, too.
//
// The format has no event for a request's submission to an NVMe device. Ours
// is driver's data, which blkparse passes on and btt skips: see Submit.
package blktrace
