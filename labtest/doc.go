// Package labtest holds the tests that need kernels, devices and networks of
// their own: they run in the virtual machines of plimsoll lab, a suite of many
// checks in each boot, and leave the host alone. `make lab-test` makes the
// image and runs them; docs/lab.md tells how to run one.
//
//   - TestLayers: protected devices, cgroup v2, neighbours, killed runs, on one
//     machine with four drives
//   - TestStripes, TestPools: stripes and arrays, thin pools, on such machines of
//     their own
//   - TestFabric: a target and an initiator, joined by a link that is cut
//   - TestFreshKernel: tests of other packages, on a kernel that was just booted
//   - TestStorageDriversInTheLab: every driver of Docker 20.10, and who answers
//   - TestLocalVsRemoteInTheLab: a drive and its twins behind a target
//   - TestARunInTheLab, TestALabDiesWithItsOwner: plimsoll lab itself
//
// A check is a command that the host runs in a guest, or a Go test: those of
// other packages are compiled, carried in, and told here under their own names.
package labtest
