// Package iotrace tells where block requests spent their time. A trace, be it
// a blktrace capture that is analysed or what a recorder summed up in the
// kernel, becomes an Account: distributions of the time between the events of
// a request, by device, operation, size and owner.
//
// The package and the folders beside it are in the order in which data flows:
//
//	capture/    records: eBPF, or tracefs. Touches the kernel
//	blktrace/   reads and writes the capture format. Pure
//	follow/     follows each request through its events. Pure
//	.           what all of them give: Account. Pure
//	breakdown/  joins an account with what the application saw. Pure
package iotrace
