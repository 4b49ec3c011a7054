package blktrace

import "testing"

func TestNamesAndNumbersBelongTogether(t *testing.T) {
	for _, c := range []struct {
		name         string
		major, minor uint32
		want         bool
	}{
		{"sda", 8, 0, true}, {"sda", 8, 16, false}, {"sda", 7, 0, false}, {"sdb", 8, 16, true}, {"sdb3", 8, 19, true},
		{"sdb16", 8, 32, false},
		{"sdp", 8, 240, true}, {"sdq", 65, 0, true}, {"sdz", 65, 144, true}, {"sdaa", 65, 160, true},
		{"sdiv", 135, 240, true}, {"sdiw", 8, 256, true},
		{"vda", 254, 0, true}, {"vdb1", 252, 17, true}, {"vda", 8, 0, false}, {"xvda", 202, 0, true},
		{"loop0", 7, 0, true}, {"loop3", 7, 2, false}, {"loop", 7, 0, false}, {"md127", 9, 127, true},
		{"dm-3", 253, 3, true}, {"dm-3", 259, 3, false}, {"zram0", 251, 0, true},
		{"nvme0n1", 259, 5, true}, {"nvme0c1n1", 259, 2, true}, {"nvme0n1p2", 259, 2, true}, {"nvme0n1", 8, 0, false},
		{"trace", 8, 0, false}, {"", 8, 0, false}, {"nvme-big", 259, 0, false}, {"sda-idle", 8, 0, false},
	} {
		if got := NameMatches(c.name, DeviceNumber(c.major, c.minor)); got != c.want {
			t.Errorf("%d:%d may be %q: %v", c.major, c.minor, c.name, got)
		}
	}
}
