package labtest

import (
	"cmp"
	"os"
	"testing"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/testkit/hosttest"
)

// attachVariable says for how long programs are attached and detached under load,
// "2m" for instance; it goes to TestAttachingUnderLoad of internal/iotrace/capture.
const attachVariable = "PLIMSOLL_TEST_ATTACH"

// TestFreshKernel runs, right after boot, tests of what a kernel has until it is
// first used: a trace buffer that is not there yet, loop devices that nobody made
// a file system on, modules that are not loaded, state directories that do not
// exist. On a host that has run the tests before they cannot fail for these.
func TestFreshKernel(t *testing.T) {
	hosttest.Soak(t)
	g := start(t, lab.Machine{Name: lab.Server, CPUs: 2, Memory: 2 << 30})[0]
	attach := cmp.Or(os.Getenv(attachVariable), "2m")
	long, err := time.ParseDuration(attach)
	if err != nil {
		t.Fatalf("%s: %v", attachVariable, err)
	}
	for _, tests := range []goTests{
		// First: it is the tracer's first use.
		{Package: "cmd/plimsoll", Run: "^TestARecordingLeavesTheTracerAsItWas$"},
		{Package: "internal/testkit/hosttest", Run: "^Test"},
		{Package: "internal/state/journal", Run: "^Test(ASettingIsTakenBackOnlyWhereItIsOurs|UndoTouchesOnlyItsOwn)$"},
		{Package: "internal/cli/kinds", Run: "^TestCleanIsKilledAtEveryStep$"},
		{Package: "internal/host/blockdev", Run: "^TestChainAndCountersOfALoopDevice$"},
		{Package: "internal/host/hostinfo", Run: "^Test(DoctorAgreesWithThisMachine|LoopDevice)$"},
		{Package: "internal/stack",
			Run: "^Test(UndoTouchesOnlyDevicesOfItsOwn|ManyLoopDevicesAtOnce|" +
				"ASchedulerIsSetForAsLongAsTheStackIsUp)$"},
		{Package: "internal/iotrace/capture",
			Run: "^Test(TracefsGivesAnAccount|AccountHoldsWhatTheDeviceCounted|EachGroupIsChargedWithItsOwn)$"},
	} {
		t.Run(tests.Package, func(t *testing.T) { g.runs(t, tests) })
	}
	t.Run("attached under load", func(t *testing.T) {
		g.runs(t, goTests{Package: "internal/iotrace/capture", Run: "^TestAttachingUnderLoad$",
			Env: []string{attachVariable + "=" + attach}, For: long})
	})
}
