package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"plimsoll/internal/stack/line"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/units"
)

const defaultChunk = "512KiB" // mdadm's own

// raid0 is an md array over all sources.
var raid0 = &layer{
	Def: line.Def{
		Name:    "raid0",
		Summary: "one md array, striped over all devices",
		Below:   line.Blocks,
		Gives:   line.Block,
		Options: []line.OptionDef{
			{Key: "chunk", Value: line.Chunk, Summary: "bytes that lie on one device in a row", Default: defaultChunk},
		},
	},
	plan: func(line.Node) []string { return []string{"make an md array (RAID0) of these devices"} },
	writes: func(s *dryRun, n line.Node) {
		chunk, _ := sizeOption(n, "chunk", defaultChunk)
		s.makes(someArray + ", a new array")
		s.starts(arrayArgv("plimsoll-"+someUUID, "U-U-U-U", chunk, s.blocks)...)
		s.block = someArray
	},
	check: func(_ context.Context, e *Env, n line.Node, _ int64) error {
		return e.checkRequirements(n.Name, []string{"mdadm"}, "mdadm", "md-mod", "raid0")
	},
	up: upRAID0,
}

func arrayArgv(name, id string, chunk int64, devices []string) []string {
	return append([]string{
		"mdadm",
		"--create",
		"/dev/md/" + name,
		"--run",
		"--quiet",
		"--metadata=1.2",
		"--level=0",
		"--homehost=none",
		"--name=" + name,
		"--uuid=" + id,
		"--chunk=" + strconv.FormatInt(chunk>>10, 10) + "K",
		"--raid-devices=" + strconv.Itoa(len(devices)),
	}, devices...)
}

func upRAID0(ctx context.Context, b *build, n line.Node) error {
	chunk, err := sizeOption(n, "chunk", defaultChunk)
	if err != nil {
		return err
	}
	id := uuid.NewString()
	// Longer names than 32 characters are cut off (md(4)): the UUID tells runs
	// apart, the name tells people whose it is.
	change := &arrayChange{Name: "plimsoll-" + id[:8], UUID: id}
	for _, d := range b.base.blocks {
		change.Members = append(change.Members, member{Device: d, UUID: id})
	}
	hex := strings.ReplaceAll(id, "-", "")
	argv := arrayArgv(
		change.Name,
		strings.Join([]string{hex[:8], hex[8:16], hex[16:24], hex[24:]}, ":"),
		chunk,
		b.base.blocks,
	)
	if err := b.do(ctx, change, func(mark string) error { return command(ctx, mark, argv...) }); err != nil {
		return err
	}
	name := arrayOn(ctx, b.base.blocks[0], id)
	if name == "" {
		return fmt.Errorf("mdadm made no array of %s", strings.Join(b.base.blocks, ", "))
	}
	for file, want := range map[string]string{
		"level": "raid0", "chunk_size": strconv.FormatInt(chunk, 10), "raid_disks": strconv.Itoa(len(b.base.blocks)),
	} {
		got, err := os.ReadFile(filepath.Join("/sys/block", name, "md", file))
		if err != nil || strings.TrimSpace(string(got)) != want {
			return fmt.Errorf(
				"array %s: the kernel says %s %q instead of %s: %w",
				name,
				file,
				strings.TrimSpace(string(got)),
				want,
				err,
			)
		}
	}
	b.base.block = "/dev/" + name
	b.base.sizeBytes, err = deviceSize(b.base.block)
	if err != nil {
		return err
	}
	b.fact("stripe", fmt.Sprintf("%s over %s", units.FormatSize(chunk), strings.Join(b.base.blocks, ", ")))
	return nil
}

func init() { journal.Register("array", func() journal.Change { return new(arrayChange) }) }

// arrayChange is an md array. It is known by its UUID, on its members and in the
// kernel, never by a number.
type arrayChange struct {
	Name    string   // below /dev/md
	UUID    string   // 8-4-4-4-12 hexadecimal digits
	Members []member // each with the UUID of the array
}

// What implements Change.
func (c *arrayChange) What() string {
	return fmt.Sprintf("make md array %s of %s", c.Name, devicesOf(c.Members))
}

// Prepare implements Change.
func (c *arrayChange) Prepare() error {
	learn(c.Members)
	return nil
}

// Check implements Change.
func (c *arrayChange) Check(s journal.Scope) error {
	return errors.Join(s.Matches("name of a run's array", c.Name, ownName), s.UUID(c.UUID), checkMembers(s, c.Members))
}

// arrayOn returns the kernel's name of the array with that UUID, running or not,
// that a member belongs to, and "" for none.
func arrayOn(ctx context.Context, member, uuid string) string {
	for _, holder := range holders(member) {
		if strings.HasPrefix(holder, "md") && arrayUUID(ctx, holder) == uuid {
			return holder
		}
	}
	return ""
}

// arrayUUID reads the UUID from the kernel. It asks mdadm for an array that is not running, and before Linux 6.1.
func arrayUUID(ctx context.Context, name string) string {
	if b, err := os.ReadFile(filepath.Join("/sys/block", name, "md/uuid")); err == nil {
		if id := strings.ToLower(strings.TrimSpace(string(b))); strings.Trim(id, "0-") != "" {
			return id
		}
	}
	out, err := exec.CommandContext(ctx, "mdadm", "--detail", "--export", "/dev/"+name).Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "MD_UUID="); ok {
			hex := strings.ReplaceAll(strings.ToLower(id), ":", "")
			if len(hex) == 32 {
				return strings.Join([]string{hex[:8], hex[8:12], hex[12:16], hex[16:20], hex[20:]}, "-")
			}
		}
	}
	return ""
}

// Undo stops the array, whatever the kernel calls it by now, and takes the
// members' signatures away. udev puts an array together again when it comes
// late to the news of a member, also when it was stopped meanwhile.
func (c *arrayChange) Undo(ctx context.Context, mark string) error {
	if err := journal.EndMarked(ctx, mark); err != nil {
		return err
	}
	err := journal.Retry(ctx, func(ctx context.Context) error {
		for _, m := range c.Members {
			if device := m.find(ctx); device != "" {
				if err := c.stop(ctx, device); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := wipe(ctx, c.Members, func(device string) error { return c.stop(ctx, device) }); err != nil {
		return err
	}
	// Without udev, mdadm makes the link itself and leaves it.
	link := filepath.Join("/dev/md", c.Name)
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Dir(link)) // not empty: there are other arrays
	return nil
}

func (c *arrayChange) stop(ctx context.Context, member string) error {
	name := arrayOn(ctx, member, c.UUID)
	if name == "" {
		return nil
	}
	if users := holders("/dev/" + name); len(users) > 0 {
		return fmt.Errorf(
			"stop array %s: %s uses it, which this run did not make: take that apart and clean again",
			name,
			strings.Join(users, ", "),
		)
	}
	if out, err := exec.CommandContext(ctx, "mdadm", "--stop", "/dev/"+name).CombinedOutput(); err != nil {
		return fmt.Errorf("mdadm --stop /dev/%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
