package fio

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// toUTF8 returns a text in UTF-8, without a byte order mark: PowerShell redirects a program's output as UTF-16.
func toUTF8(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return text[3:]
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, 0, len(text)/2)
	for at := 2; at+1 < len(text); at += 2 {
		units = append(units, order.Uint16(text[at:]))
	}
	return []byte(string(utf16.Decode(units)))
}

// stamp is a time as log collectors put it before each line.
const stamp = `(?:(?:\d{4}[-/]\d\d[-/]\d\d[T ]|[A-Z][a-z]{2} [ \d]\d |[IWEF]\d{4} )?` +
	`\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\d{10}\.\d+)`

var stampRE = regexp.MustCompile(stamp)

// versionKey is in the second line of a document of fio's. A log collector puts its prefix before it.
const versionKey = `"fio version"`

// prefixesOf returns what stands before the versions of documents, each once, as regular expressions.
func prefixesOf(text []byte) (all []string) {
	for rest := text; ; {
		index := bytes.Index(rest, []byte(versionKey))
		if index < 0 {
			return all
		}
		prefix := bytes.TrimRight(rest[bytes.LastIndexByte(rest[:index], '\n')+1:index], " \t")
		rest = rest[index+len(versionKey):]
		if len(bytes.TrimSpace(prefix)) == 0 || bytes.ContainsAny(prefix[len(prefix)-1:], "{,") { // of JSON on one line
			continue
		}
		parts := stampRE.Split(string(prefix), -1)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		p := "^" + strings.Join(parts, stamp)
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
}

// foreignTexts returns the texts that a file holds: itself, or what each source of a log collector printed, without
// the prefixes. A prefix is the same in all lines of a source, but for times.
func foreignTexts(text []byte) []foreignFile {
	text = toUTF8(text)
	prefixes := prefixesOf(text)
	if len(prefixes) == 0 {
		return []foreignFile{{text: text}}
	}
	// The longer first: "fio-1" begins "fio-10", too.
	slices.SortStableFunc(prefixes, func(a, b string) int { return len(b) - len(a) })
	files := make([]foreignFile, len(prefixes))
	known := make([]*regexp.Regexp, len(prefixes))
	for i, p := range prefixes {
		known[i] = regexp.MustCompile(p)
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		for i := range files {
			if prefix := known[i].FindIndex(line); prefix != nil {
				files[i].text = append(files[i].text, line[prefix[1]:]...)
				files[i].lines = append(files[i].lines, number)
				break
			}
		}
	}
	return files
}
