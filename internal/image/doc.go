// Package image stores the images of databases by digest: pulled from a registry, read from a file of docker save, or
// built here from Debian packages.
//
// Each image is a directory of the store with an OCI layout and image.json, which holds its name and origin. It is
// made under another name and renamed when complete, so that every image in the store is complete.
package image
