// Package image keeps the images that databases run from, by their digests: pulled
// from a registry, read from a file that docker save wrote, or made here of Debian's
// packages.
//
// Each image is a directory of the store: an OCI layout, and image.json, which says
// what it is called and where it came from. It is made under another name and renamed
// when it is whole, so that an image which is there is a whole one.
package image
