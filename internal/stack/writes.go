package stack

import (
	"path/filepath"
	"slices"

	"plimsoll/internal/stack/container"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
)

// Writes lists the paths and devices that bringing a stack up writes to, and the programs that it starts. Names that
// are not known before are placeholders: /dev/loopN, a UUID.
type Writes struct {
	Devices  []string   // that are there before and are overwritten, as the line names them
	Paths    []string   // that are made, or set
	Programs [][]string // that are started for it, with their arguments
}

// Places holds the parts of paths.
type Places struct {
	State string // state directory
	Run   string // id of the run
	Own   bool   // loop devices stand on files of their own, and not on regions
}

// Writes returns the writes of a stack of that name. It touches nothing.
func (at Places) Writes(name string, l line.Line) (Writes, error) {
	parts, err := resolve(l)
	if err != nil {
		return Writes{}, err
	}
	s := &dryRun{Places: at, name: name, work: journal.WorkDir(at.State, at.Run)}
	sources := len(l.Sources())
	for i, p := range parts {
		if p.writes != nil {
			p.writes(s, p.node)
		}
		if i < sources {
			s.blocks = append(s.blocks, s.block)
		}
	}
	return s.Writes, nil
}

// dryRun collects the writes of bringing a stack up.
type dryRun struct {
	Places
	Writes
	name, work string
	block      string   // device that the next layer stands on
	blocks     []string // of the sources
	dir        string   // where its file system is mounted
	root       string   // data-root of the engine
}

// Devices that only making them names.
const (
	someLoop   = "/dev/loopN"
	someDevice = "/dev/DEVICE" // that a serial number or the like finds
	someRemote = "/dev/nvmeXnY"
	someArray  = "/dev/mdN"
	someUUID   = "UUID"
)

func (s *dryRun) overwrites(device string) { s.Devices = append(s.Devices, device) }

func (s *dryRun) makes(path string) {
	if !slices.Contains(s.Paths, path) {
		s.Paths = append(s.Paths, path)
	}
}

func (s *dryRun) starts(argv ...string) { s.Programs = append(s.Programs, argv) }

// mounts notes a mount in the run's work directory.
func (s *dryRun) mounts(source, fstype, options string) {
	s.dir = filepath.Join(s.work, s.name)
	s.makes(s.dir)
	s.starts(mountArgv(source, fstype, options, s.dir)...)
}

// engine notes a private Docker engine.
func (s *dryRun) engine(driver, root string) {
	s.makes(root)
	exec := filepath.Join(journal.RunDir, s.Run+"-…")
	s.makes(exec)
	for _, dir := range container.SharedDirs() {
		s.makes(dir + ", unless it is there")
	}
	s.starts(container.Command(container.Config{Driver: driver, DataRoot: root}, exec, "plimsoll-"+s.Run+"-…")...)
}

// regionsFile is the file that all loop devices of a run in a directory stand on.
func regionsFile(parent, run string) string {
	return filepath.Join(parent, "plimsoll-"+run+"-regions", "regions.img")
}

// loopFile is the file that a loop device of one stack stands on.
func loopFile(parent, run, name string) string {
	return filepath.Join(parent, "plimsoll-"+run+"-"+name+".img")
}

// scratchIn returns the path of a stack's directory within a user's directory.
func scratchIn(dir, run, name string) string { return filepath.Join(dir, ".plimsoll-"+run+"-"+name) }

// engineRoot is the data-root of an engine that keeps it on the stack.
func engineRoot(dir string) string { return filepath.Join(dir, "docker") }

// volumeRoot is the data-root of an engine for data volumes.
func volumeRoot(work, number, driver string) string {
	return filepath.Join(work, "engine-"+number+"-"+driver)
}
