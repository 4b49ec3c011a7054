// Package labtest holds the tests that need kernels, devices and networks of
// their own: they run in the virtual machines of plimsoll lab, a suite of many
// checks in each boot, and leave the host alone. `make lab-test` makes the
// image and runs the first three; docs/how-to/try-in-a-vm.md says how to run one.
//
//   - TestOneBoot: what breaks most of all below, on two machines that are booted once
//   - TestClientServerAndTarget: the load comes from a machine of its own, by ssh
//   - TestARunInTheLab, TestALabDiesWithItsOwner: plimsoll lab itself
//
// make soak runs the others, too:
//
//   - TestLayers: protected devices, cgroup v2, neighbours, killed runs, on one
//     machine with four drives
//   - TestStripes, TestPools: stripes and arrays, thin pools, on such machines of
//     their own
//   - TestFabric: a target and an initiator, joined by a link that is cut
//   - TestFreshKernel: tests of other packages, on a kernel that was just booted
//   - TestStorageDriversInTheLab: every driver of Docker 20.10, and who answers
//   - TestLocalVsRemoteInTheLab, TestServersOnARemoteDriveInTheLab: a drive and its twins
//     behind a target
//   - TestTwoInitiators: a target that two hosts use, as figures 8c and 8d of MSST'17
//   - TestMoveDrive: a service moves with its drive between two hosts of a target
//   - TestPapersOnTwoDrives: experiments that compare drives, on a drive for each stack
//   - TestAPackageIsInstalled: the package of a release
//
// A check is a command that the host runs in a guest, or a Go test: those of
// other packages are compiled, carried in, and told here under their own names.
package labtest
