package blktrace

import (
	"regexp"
	"strconv"
)

// NameMatches reports whether a device of this number may have this kernel name. blktrace names a capture after its
// device by default, while records have the number alone.
func NameMatches(name string, device uint32) bool {
	major, minor := device>>20, device&0xfffff
	if extendedName.MatchString(name) {
		return major == 259 // numbered as they come
	}
	if m := numberedName.FindStringSubmatch(name); m != nil {
		n, _ := strconv.ParseUint(m[2], 10, 32) // digits, few enough
		return minor == uint32(n) && numberedMajor(m[1], major)
	}
	m := letteredName.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	partition, _ := strconv.ParseUint("0"+m[3], 10, 32)
	disk, part := letters(m[2]), uint32(partition)
	const minors = 16 // of a disk, its own included
	switch {
	case part >= minors:
		return false
	case m[1] == "sd": // 16 majors of 16 disks each, and then the same again
		return major == scsiMajors[disk>>4&15] && minor == disk&15*minors|disk&^0xff|part
	default:
		return isDynamicMajor(major) && minor == disk*minors+part
	}
}

var (
	extendedName = regexp.MustCompile(`^nvme[0-9]+(c[0-9]+)?n[0-9]+(p[0-9]+)?$`)
	numberedName = regexp.MustCompile(`^(loop|md|dm-|zram)([0-9]{1,6})$`)
	letteredName = regexp.MustCompile(`^(sd|vd|xvd)([a-z]{1,3})([0-9]{0,2})$`)
	scsiMajors   = [16]uint32{8, 65, 66, 67, 68, 69, 70, 71, 128, 129, 130, 131, 132, 133, 134, 135}
)

func numberedMajor(kind string, major uint32) bool {
	switch kind {
	case "loop":
		return major == 7
	case "md":
		return major == 9
	}
	return isDynamicMajor(major)
}

// isDynamicMajor reports whether the kernel assigns a major number to drivers dynamically, or to Xen's disks.
func isDynamicMajor(major uint32) bool { return major == 202 || major >= 234 && major <= 254 }

// letters is the number of a disk: a is 0, z 25, aa 26.
func letters(name string) (n uint32) {
	for _, c := range []byte(name) {
		n = 26*n + uint32(c-'a') + 1
	}
	return n - 1
}
