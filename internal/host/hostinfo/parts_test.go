package hostinfo

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/internal/host/hostfs"
)

// A SCSI disk keeps its serial in a page of vital product data: a header of
// four bytes with the length, then the text.
func TestSerialOfSCSI(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"padded", "\x00\x80\x00\x0c  WD-WX12345", "WD-WX12345"},
		{"longer than said", "\x00\x80\x00\x04ABCDEFG", "ABCD"},
		{"shorter than said", "\x00\x80\x00\xffAB", "AB"},
		{"cut off", "\x00\x80", ""},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := t.TempDir()
			if err := os.Mkdir(filepath.Join(disk, "device"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(disk, "device/vpd_pg80"), []byte(c.page), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := serial(disk); got != c.want {
				t.Errorf("serial %q, want %q", got, c.want)
			}
		})
	}
}

func TestNaturalOrder(t *testing.T) {
	want := []string{"dm-0", "nvme0n1", "nvme0n1p1", "nvme0n1p10", "nvme2n1", "nvme10n1", "sda", "sda1", "sdb"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, naturally)
	if !slices.Equal(got, want) {
		t.Errorf("sorted to %v, want %v", got, want)
	}
}

func TestModuleNames(t *testing.T) {
	got := moduleNames("kernel/drivers/md/dm-mod.ko.zst: " +
		"kernel/x/y.ko.zst\nkernel/fs/xfs/xfs.ko:\nkernel/drivers/md/md-mod.ko\n")
	for _, name := range []string{"dm_mod", "xfs", "md_mod"} {
		if !got[name] {
			t.Errorf("%s is not in %v", name, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("%v has more than three modules", got)
	}
}

// A machine of plimsoll lab is known by its firmware, and no other QEMU is one.
func TestLab(t *testing.T) {
	for product, want := range map[string]bool{LabProduct: true, "Standard PC (Q35 + ICH9, 2009)": false, "": false} {
		sys := t.TempDir()
		if err := os.MkdirAll(filepath.Join(sys, "class/dmi/id"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sys, "class/dmi/id/product_name"), []byte(product+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := (&Host{Roots: hostfs.Roots{Sys: sys}}).Lab(); got != want {
			t.Errorf("%q: %v", product, got)
		}
	}
	if (&Host{Roots: hostfs.Roots{Sys: t.TempDir()}}).Lab() {
		t.Error("a host without firmware is a lab")
	}
}
