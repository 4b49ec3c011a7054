package ycsb

// DecodeWith is the decoder with other databases than those that there are.
var DecodeWith = decode
