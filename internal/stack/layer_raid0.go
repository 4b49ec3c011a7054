package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"plimsoll/internal/journal"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
)

const defaultChunk = "512KiB" // mdadm's own

// raid0 is an md array over all sources.
var raid0 = &layer{
	Def: line.Def{
		Name: "raid0", Summary: "one md array, striped over all devices", Below: line.Blocks, Gives: line.Block,
		Options: []line.OptionDef{{Key: "chunk", Value: line.Chunk, Summary: "bytes that lie on one device in a row", Default: defaultChunk}},
	},
	plan: func(line.Node) []string { return []string{"make an md array (RAID0) of these devices"} },
	writes: func(s *sketch, n line.Node) {
		chunk, _ := sizeOption(n, "chunk", defaultChunk)
		s.makes(someArray + ", a new array")
		s.starts(arrayArgv("plimsoll-"+someUUID, "U-U-U-U", chunk, s.blocks)...)
		s.block = someArray
	},
	check: func(_ context.Context, e *Env, n line.Node, _ int64) error {
		return e.needs(n.Name, []string{"mdadm"}, "mdadm", "md-mod", "raid0")
	},
	up: upRAID0,
}

func arrayArgv(name, id string, chunk int64, devices []string) []string {
	return append([]string{
		"mdadm", "--create", "/dev/md/" + name, "--run", "--quiet", "--metadata=1.2", "--level=0", "--homehost=none",
		"--name=" + name, "--uuid=" + id, "--chunk=" + strconv.FormatInt(chunk>>10, 10) + "K", "--raid-devices=" + strconv.Itoa(len(devices)),
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
	change := &journal.Array{Name: "plimsoll-" + id[:8], UUID: id}
	for _, d := range b.blocks {
		change.Members = append(change.Members, journal.Member{Device: d, UUID: id})
	}
	hex := strings.ReplaceAll(id, "-", "")
	argv := arrayArgv(change.Name, strings.Join([]string{hex[:8], hex[8:16], hex[16:24], hex[24:]}, ":"), chunk, b.blocks)
	if err := b.do(ctx, change, func(mark string) error { return command(ctx, mark, argv...) }); err != nil {
		return err
	}
	name := journal.ArrayOn(ctx, b.blocks[0], id)
	if name == "" {
		return fmt.Errorf("mdadm made no array of %s", strings.Join(b.blocks, ", "))
	}
	for file, want := range map[string]string{
		"level": "raid0", "chunk_size": strconv.FormatInt(chunk, 10), "raid_disks": strconv.Itoa(len(b.blocks)),
	} {
		got, err := os.ReadFile(filepath.Join("/sys/block", name, "md", file))
		if err != nil || strings.TrimSpace(string(got)) != want {
			return fmt.Errorf("array %s: the kernel says %s %q instead of %s: %w", name, file, strings.TrimSpace(string(got)), want, err)
		}
	}
	b.block = "/dev/" + name
	if b.Target.SizeBytes, err = deviceSize(b.block); err != nil {
		return err
	}
	b.fact("stripe", fmt.Sprintf("%s over %s", units.FormatSize(chunk), strings.Join(b.blocks, ", ")))
	return nil
}
