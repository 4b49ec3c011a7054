package stack

import (
	"slices"
	"strings"
	"testing"
)

// What the kernel has anyway is found, and only that; each is an option that a stack may have.
func TestWithoutDefaults(t *testing.T) {
	for text, want := range map[string]struct {
		plain   string
		options string
	}{
		"loop > ext4":                                        {"loop > ext4", ""},
		"loop > ext4(mount=dioread_nolock)":                  {"loop > ext4", "dioread_nolock"},
		"loop > ext4(mount=dioread_lock)":                    {"loop > ext4(mount=dioread_lock)", ""},
		`loop > ext4(mount="dioread_nolock,data=journal")`:   {`loop > ext4(mount="dioread_nolock,data=journal")`, ""},
		`loop > ext4(mount="noatime,data=ordered,commit=5")`: {"loop > ext4(mount=noatime)", "data=ordered commit=5"},
		"loop > ext4(mount=commit=30)":                       {"loop > ext4(mount=commit=30)", ""},
		`loop > xfs(mount="relatime,inode64") > volume`:      {"loop > xfs > volume", "relatime inode64"},
		"loop > btrfs(mount=commit=30)":                      {"loop > btrfs", "commit=30"},
		"loop > xfs(mount=rw)":                               {"loop > xfs", ""},
	} {
		plain, pointless := WithoutDefaults(parse(t, text))
		var options []string
		for _, p := range pointless {
			options = append(options, p.Option)
		}
		if plain.String() != want.plain || strings.Join(options, " ") != want.options {
			t.Errorf("%s: %s without %q, want %s without %s", text, plain, options, want.plain, want.options)
		}
	}
	for _, known := range FileSystems() {
		name := known.Name
		if known.External {
			continue // zfs has properties, and no mount options
		}
		own, _ := defaultsOf(name)
		for _, d := range slices.Concat(own, vfsDefaults) {
			for _, option := range []string{d.Option, d.Against, d.Unless} {
				if option == "" {
					continue
				}
				if problems := Catalog().Check(parse(t, "loop > "+name+`(mount="`+option+`")`)); len(problems) > 0 {
					t.Errorf("%s of %s: %v", option, name, problems)
				}
			}
		}
	}
}
